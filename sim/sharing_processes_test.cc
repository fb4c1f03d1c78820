// Exported memory in two processes, each with a simulator of its own.

#include <unistd.h>

#include <utility>

#include "sim/test_machine.h"
#include "sim/two_processes.h"

namespace twinmmu {
namespace {

constexpr auto kPosix = HandleType::kPosixFileDescriptor;

// A machine with the steps of an exporter or an importer.
class Machine {
 public:
  explicit Machine(const Profile& profile = Profile::ReferenceH200(2))
      : simulator_(*Simulator::Create(profile)) {}

  Vmm& vmm() { return **simulator_->vmm(); }
  Bytes free() { return vmm().GetMemoryInfo(kDevice0)->free; }
  AllocationHandle Create(const AllocationProperties& properties = Shareable()) {
    const auto handle = vmm().Create(kSize, properties);
    EXPECT_THAT(handle, IsOk());
    return *handle;
  }
  int Export(AllocationHandle handle) {
    const auto shared = vmm().ExportShareableHandle(handle, kPosix);
    EXPECT_THAT(shared, IsOk());
    return shared->file_descriptor;
  }
  absl::StatusOr<AllocationHandle> Import(int descriptor) {
    return vmm().ImportShareableHandle(ShareableHandle::FileDescriptor(descriptor));
  }
  // Maps all of it, readable and writable.
  AddressRange Map(AllocationHandle handle) {
    const AddressRange range = *vmm().AddressReserve(kSize);
    EXPECT_THAT(vmm().Map(range, handle), IsOk());
    EXPECT_THAT(vmm().SetAccess(range, std::array{For(kDevice0, Access::kReadWrite)}), IsOk());
    return range;
  }
  void Write(const AddressRange& range, uint32_t value) {
    EXPECT_THAT(executor().CopyHostToDevice(kDevice0, range.end() - Bytes(4), &value, Bytes(4)),
                IsOk());
  }
  uint32_t Read(const AddressRange& range) {
    uint32_t value = 0;
    EXPECT_THAT(executor().CopyDeviceToHost(kDevice0, &value, range.end() - Bytes(4), Bytes(4)),
                IsOk());
    return value;
  }

  static constexpr Bytes kSize = 2 * kGranule;

 private:
  Executor& executor() { return **simulator_->executor(); }

  std::unique_ptr<Simulator> simulator_;
};

// What one process writes, the other one reads, both ways.
TEST(SharingProcessesTest, SeeEachOthersData) {
  OtherProcess importer([](Line& line) {
    Machine machine;
    int descriptor = -1;
    uint32_t value = 0;
    ASSERT_TRUE(line.Receive(&value, &descriptor));
    const auto handle = machine.Import(descriptor);
    close(descriptor);
    ASSERT_THAT(handle, IsOk());
    const AddressRange range = machine.Map(*handle);
    EXPECT_EQ(machine.Read(range), value);
    machine.Write(range, 2);
    EXPECT_TRUE(line.Send(uint32_t{2}));
  });
  Machine machine;
  const AllocationHandle handle = machine.Create();
  const AddressRange range = machine.Map(handle);
  machine.Write(range, 1);
  const int descriptor = machine.Export(handle);
  ASSERT_TRUE(importer.line().Send(uint32_t{1}, descriptor));
  close(descriptor);
  uint32_t value = 0;
  ASSERT_TRUE(importer.line().Receive(&value));
  EXPECT_EQ(machine.Read(range), value);
  EXPECT_TRUE(importer.Succeeds());
}

}  // namespace
}  // namespace twinmmu
