// FaultInjectingVmm: passes every call on, but those that a FaultPlan makes fail, and gives a
// device less memory than it has.
//
//   FaultPlan faults;
//   FaultInjectingVmm vmm(real_vmm, &faults);
//   faults.FailNth(1, DriverCode::kNotSupported, {DriverCall::kSetAccess});
//   vmm.SetMemoryBudget(DeviceOrdinal(0), MiB(64));
//   MyAllocator allocator(&vmm);
//
// A call that fails on purpose is not made: it has changed nothing. docs/testing.md has whole
// examples, api/testing/fault_injecting_executor.h does the same for copies, streams and kernels.

#ifndef TWINMMU_API_TESTING_FAULT_INJECTING_VMM_H_
#define TWINMMU_API_TESTING_FAULT_INJECTING_VMM_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/testing/fault_plan.h"
#include "api/testing/forwarding.h"
#include "api/testing/memory_tracker.h"
#include "api/vmm.h"

namespace twinmmu {

// Thread safety: as in api/vmm.h. Calls that create, map, share or give up memory reach the target
// one at a time, all others as they come.
class FaultInjectingVmm : public ForwardingVmm {
 public:
  // Both must outlive this object.
  FaultInjectingVmm(Vmm* target, FaultPlan* faults) : ForwardingVmm(target), faults_(*faults) {}

  // From now on the device has no more than `total` bytes. Create of more than is left of them is
  // ResourceExhausted (OUT_OF_MEMORY, from ErrorOrigin::kInjected), whatever its other arguments,
  // and GetMemoryInfo gives the lesser of budget and target, free and total each.
  //
  // What was created through this object counts, also before the budget was set, as long as a
  // handle, a mapping or an exported file descriptor refers to it, as on the driver. Memory that
  // was imported counts once, and only if it was created and exported here. A copy of a descriptor
  // (dup, fork, another process) is not seen: memory that only such a copy keeps does not count.
  // What is in use may exceed a budget that is set late: then nothing is free.
  void SetMemoryBudget(DeviceOrdinal device, Bytes total);
  void ClearMemoryBudget(DeviceOrdinal device);

  using Vmm::AddressReserve;
  using Vmm::Create;
  using Vmm::ExportShareableHandle;
  using Vmm::Map;

  absl::StatusOr<int> GetDriverVersion() override;
  absl::StatusOr<int> GetDeviceCount() override;
  absl::StatusOr<std::string> GetDeviceName(DeviceOrdinal device) override;
  absl::StatusOr<int> GetDeviceAttribute(DeviceAttribute attribute, DeviceOrdinal device) override;
  absl::StatusOr<bool> CanAccessPeer(DeviceOrdinal device, DeviceOrdinal peer) override;
  absl::StatusOr<MemoryInfo> GetMemoryInfo(DeviceOrdinal device) override;
  absl::StatusOr<AddressRange> AddressReserve(Bytes size, const ReserveOptions& options) override;
  absl::Status AddressFree(const AddressRange& range) override;
  absl::StatusOr<Bytes> GetAllocationGranularity(const AllocationProperties& properties,
                                                 Granularity option) override;
  absl::StatusOr<AllocationHandle> Create(Bytes size, const AllocationProperties& properties,
                                          uint64_t flags) override;
  absl::Status Release(AllocationHandle handle) override;
  absl::StatusOr<AllocationHandle> RetainAllocationHandle(DeviceAddress address) override;
  absl::StatusOr<AllocationProperties> GetAllocationProperties(AllocationHandle handle) override;
  absl::Status Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                   uint64_t flags) override;
  absl::Status Unmap(const AddressRange& range) override;
  absl::Status SetAccess(const AddressRange& range, absl::Span<const AccessGrant> grants) override;
  absl::StatusOr<Access> GetAccess(const Location& location, DeviceAddress address) override;
  absl::StatusOr<ShareableHandle> ExportShareableHandle(AllocationHandle handle, HandleType type,
                                                        uint64_t flags) override;
  absl::StatusOr<AllocationHandle> ImportShareableHandle(const ShareableHandle& shareable) override;
  absl::StatusOr<uint64_t> GetPointerAttribute(DeviceOrdinal device, PointerAttribute attribute,
                                               DeviceAddress address) override;
  absl::StatusOr<AddressRange> GetAddressRange(DeviceOrdinal device,
                                               DeviceAddress address) override;
  absl::StatusOr<int> GetHandleForAddressRange(DeviceOrdinal device, const AddressRange& range,
                                               RangeHandleType type, uint64_t flags) override;

 private:
  // What the plan says, or else what `call` gives.
  template <typename F>
  auto Call(DriverCall kind, const F& call) -> decltype(call());

  // Mutex held.
  absl::Status CheckBudget(Bytes size, const AllocationProperties& properties);

  FaultPlan& faults_;
  // Held also while calls that change `memory_` run, so that it learns of them in their order.
  std::mutex mutex_;
  MemoryTracker memory_;
  std::map<DeviceOrdinal, Bytes> budgets_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_FAULT_INJECTING_VMM_H_
