// SharingMachine: a simulated machine with the steps of one who exports or imports memory. Unlike a
// MachineTest it can be made after a fork, and there can be several.

#ifndef TWINMMU_SIM_TESTING_SHARING_MACHINE_H_
#define TWINMMU_SIM_TESTING_SHARING_MACHINE_H_

#include <unistd.h>

#include <array>
#include <memory>

#include "sim/testing/test_machine.h"

namespace twinmmu {

class SharingMachine {
 public:
  static constexpr Bytes kSize = 2 * kGranule;

  explicit SharingMachine(const Profile& profile = Profile::ReferenceH200(2))
      : simulator_(*Simulator::Create(profile)) {}

  Simulator& simulator() { return *simulator_; }
  Vmm& vmm() { return **simulator_->vmm(); }
  Bytes free() { return vmm().GetMemoryInfo(kDevice0)->free; }

  AllocationHandle Create(HandleType type = HandleType::kPosixFileDescriptor) {
    AllocationProperties properties;
    properties.requested_handle_types = type;
    const auto handle = vmm().Create(kSize, properties);
    EXPECT_THAT(handle, IsOk());
    return handle.value_or(AllocationHandle());
  }
  int Export(AllocationHandle handle) {
    const auto shared = vmm().ExportShareableHandle(handle, HandleType::kPosixFileDescriptor);
    EXPECT_THAT(shared, IsOk());
    return shared.ok() ? shared->file_descriptor : -1;
  }
  absl::StatusOr<AllocationHandle> Import(int descriptor) {
    return vmm().ImportShareableHandle(ShareableHandle::FileDescriptor(descriptor));
  }
  // The same, and the descriptor is closed.
  AllocationHandle Take(int descriptor) {
    const auto handle = Import(descriptor);
    close(descriptor);
    EXPECT_THAT(handle, IsOk());
    return handle.value_or(AllocationHandle());
  }

  // Maps all of it, readable and writable.
  AddressRange Map(AllocationHandle handle) {
    const AddressRange range = *vmm().AddressReserve(kSize);
    EXPECT_THAT(vmm().Map(range, handle), IsOk());
    EXPECT_THAT(vmm().SetAccess(range, std::array{For(kDevice0, Access::kReadWrite)}), IsOk());
    return range;
  }
  // Unmaps it, and lets go of the last reference.
  void Drop(const AddressRange& range, AllocationHandle handle) {
    EXPECT_THAT(vmm().Unmap(range), IsOk());
    EXPECT_THAT(vmm().Release(handle), IsOk());
  }
  // The last word of a range.
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

 private:
  Executor& executor() { return **simulator_->executor(); }

  std::unique_ptr<Simulator> simulator_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_TESTING_SHARING_MACHINE_H_
