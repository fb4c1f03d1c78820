// TeamMachine: one of several processes that share a multicast object, each with a simulator and a
// device of its own.

#ifndef TWINMMU_SIM_TESTING_TEAM_MACHINE_H_
#define TWINMMU_SIM_TESTING_TEAM_MACHINE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "sim/testing/sharing_machine.h"
#include "sim/testing/two_processes.h"

namespace twinmmu {

// --- What the processes say to each other

inline void Await(const Line& line) {
  char byte;
  ASSERT_TRUE(line.Receive(&byte));
}
inline void Say(const Line& line) { ASSERT_TRUE(line.Send('.')); }
// The descriptor that the other process sends.
inline int Get(const Line& line) {
  char byte;
  int descriptor = -1;
  EXPECT_TRUE(line.Receive(&byte, &descriptor));
  return descriptor;
}
// Sends one, and closes it here.
inline void Give(const Line& line, int descriptor) {
  EXPECT_TRUE(line.Send('.', descriptor));
  close(descriptor);
}

// The steps are those of a program with one process for each device; each fails the test if it does
// not say what comes of it.
class TeamMachine : public SharingMachine {
 public:
  static Profile ProfileOf(int devices, uint64_t wait_ms = 0) {
    Profile profile = Profile::ReferenceH200(devices);
    profile.multicast_wait_ms = wait_ms;
    return profile;
  }
  explicit TeamMachine(int device, const Profile& profile = ProfileOf(2))
      : SharingMachine(profile), device_(device), devices_(profile.device_count()) {}

  Multicast& multicast() { return **simulator().multicast(); }
  Executor& executor() { return **simulator().executor(); }
  AllocationHandle object() const { return object_; }
  const AddressRange& own() const { return own_; }
  Bytes free() { return vmm().GetMemoryInfo(device_)->free; }

  // Makes an object for all devices; a descriptor of it.
  int CreateObject(HandleType type = HandleType::kPosixFileDescriptor) {
    const auto object = multicast().Create({static_cast<uint32_t>(devices_), kGranule, type, 0});
    EXPECT_THAT(object, IsOk());
    object_ = object.value_or(AllocationHandle());
    return type == HandleType::kPosixFileDescriptor ? Export(object_) : -1;
  }
  void TakeObject(int descriptor) { object_ = Take(descriptor); }
  void Adopt(AllocationHandle object) { object_ = object; }

  absl::Status AddDevice() { return multicast().AddDevice(object_, device_); }
  // Binds a new granule of this device.
  absl::Status Bind() {
    AllocationProperties properties = Shareable();
    properties.location = Location::Device(device_);
    const auto memory = vmm().Create(kGranule, properties);
    EXPECT_THAT(memory, IsOk());
    const absl::Status bound =
        multicast().BindMemory(object_, Bytes(0), *memory, Bytes(0), kGranule);
    if (bound.ok()) own_ = MapGranule(*memory);
    EXPECT_THAT(vmm().Release(*memory), IsOk());
    return bound;
  }
  absl::Status Unbind() { return multicast().Unbind(object_, device_, Bytes(0), kGranule); }
  void MapObject() { all_ = MapGranule(object_); }
  void UnmapObject() { EXPECT_THAT(vmm().Unmap(all_), IsOk()); }
  void ReleaseObject() { EXPECT_THAT(vmm().Release(object_), IsOk()); }
  void UnmapOwn() { EXPECT_THAT(vmm().Unmap(own_), IsOk()); }

  // A word of this device's memory.
  void Set(uint64_t index, uint32_t value) {
    EXPECT_THAT(
        executor().CopyHostToDevice(device_, own_.base + Bytes(4 * index), &value, Bytes(4)),
        IsOk());
  }
  uint32_t Get(uint64_t index) {
    uint32_t value = 0;
    EXPECT_THAT(
        executor().CopyDeviceToHost(device_, &value, own_.base + Bytes(4 * index), Bytes(4)),
        IsOk());
    return value;
  }

  // One thread does `body`; %rd1 is the address of all, %rd2 that of this device.
  absl::Status Run(const std::string& body) {
    const std::string text =
        absl::StrCat(".version 8.1\n.target sm_90\n.address_size 64\n",
                     ".visible .entry k(.param .u64 all, .param .u64 own) {\n",
                     ".reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .pred %p<2>;\n",
                     "ld.param.u64 %rd1, [all]; ld.param.u64 %rd2, [own];\n", body, "\nret;\n}\n");
    const auto module = executor().LoadModule(device_, text);
    if (!module.ok()) return module.status();
    const auto kernel = executor().GetKernel(*module, "k");
    const std::array<const void*, 2> arguments{&all_.base, &own_.base};
    const absl::Status launched =
        executor().Launch(Stream(device_), *kernel, LaunchConfig(), arguments);
    return launched.ok() ? executor().SynchronizeDevice(device_) : launched;
  }
  absl::Status StoreToAll(uint64_t index, uint32_t value) {
    return Run(
        absl::StrCat("multimem.st.relaxed.sys.global.u32 [%rd1+", 4 * index, "], ", value, ";"));
  }
  // The sum over the team, or what happened.
  absl::StatusOr<uint32_t> SumOfAll(uint64_t index) {
    constexpr uint64_t kResult = 1000;
    const absl::Status ran =
        Run(absl::StrCat("multimem.ld_reduce.relaxed.sys.global.add.u32 %r1, [%rd1+", 4 * index,
                         "]; st.global.u32 [%rd2+", 4 * kResult, "], %r1;"));
    if (!ran.ok()) return ran;
    return Get(kResult);
  }

 private:
  AddressRange MapGranule(AllocationHandle handle) {
    const AddressRange range = *vmm().AddressReserve(kGranule);
    EXPECT_THAT(vmm().Map(range, handle), IsOk());
    EXPECT_THAT(vmm().SetAccess(range, std::array{For(device_, Access::kReadWrite)}), IsOk());
    return range;
  }

  const DeviceOrdinal device_;
  const int devices_;
  AllocationHandle object_;
  AddressRange own_;
  AddressRange all_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_TESTING_TEAM_MACHINE_H_
