// FaultInjectingVmm, FaultInjectingExecutor, FaultInjectingMulticast, FaultInjectingSparseArrays:
// forward every call, except those that a FaultPlan makes fail. The first can also give a device
// less memory than it has.
//
//   FaultPlan faults;
//   FaultInjectingVmm vmm(real_vmm, &faults);
//   FaultInjectingExecutor executor(real_executor, &faults);
//   faults.FailNth(1, DriverCode::kNotSupported, {DriverCall::kSetAccess});
//   vmm.SetMemoryBudget(DeviceOrdinal(0), MiB(64));
//   MyAllocator allocator(&vmm, &executor);
//
// A call that fails on purpose is not made: it changes nothing, makes no other call fail, and loses
// no work of its stream. A plan shared by several of them counts the calls of all together.
// docs/guide/testing.md has whole examples.

#ifndef TWINMMU_API_TESTING_FAULT_INJECTING_H_
#define TWINMMU_API_TESTING_FAULT_INJECTING_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/call_macros.h"
#include "api/testing/fault_plan.h"
#include "api/testing/forwarding.h"
#include "api/testing/memory_tracker.h"

namespace twinmmu {

// A FaultInjectingVmm without its plan. Thread safety: as in api/vmm.h. Calls that create, map,
// share or give up memory reach the target one at a time, all others concurrently.
class MemoryBudgetVmm : public ForwardingVmm {
 public:
  // `target` must outlive this object.
  explicit MemoryBudgetVmm(Vmm* target) : ForwardingVmm(target) {}

  // Limits the device to `total` bytes from now on. Create of more than is left of them is
  // ResourceExhausted (OUT_OF_MEMORY, from ErrorOrigin::kInjected), whatever its other arguments,
  // and GetMemoryInfo returns the lesser of budget and target for both free and total.
  //
  // Memory created through this object counts, even before the budget was set, as long as a handle,
  // a mapping or an exported file descriptor refers to it, as on the driver. Imported memory counts
  // once, and only if it was created and exported here. Copies of a descriptor (dup, fork, another
  // process) are not seen: memory that only such a copy keeps does not count. If more is already in
  // use when the budget is set, nothing is free.
  void SetMemoryBudget(DeviceOrdinal device, Bytes total);
  void ClearMemoryBudget(DeviceOrdinal device);

  TWINMMU_VMM_CALLS(TWINMMU_SHORT_FORMS, ForwardingVmm)
  absl::StatusOr<MemoryInfo> GetMemoryInfo(DeviceOrdinal device) override;
  absl::StatusOr<AllocationHandle> Create(Bytes size, const AllocationProperties& properties,
                                          uint64_t flags) override;
  absl::Status Release(AllocationHandle handle) override;
  absl::StatusOr<AllocationHandle> RetainAllocationHandle(DeviceAddress address) override;
  absl::Status Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                   uint64_t flags) override;
  absl::Status Unmap(const AddressRange& range) override;
  absl::StatusOr<ShareableHandle> ExportShareableHandle(AllocationHandle handle, HandleType type,
                                                        uint64_t flags) override;
  absl::StatusOr<AllocationHandle> ImportShareableHandle(const ShareableHandle& shareable) override;

 private:
  // Mutex held.
  absl::Status CheckBudget(Bytes size, const AllocationProperties& properties);

  // Also held during calls that change `memory_`, so that they are recorded in order.
  std::mutex mutex_;
  MemoryTracker memory_;
  std::map<DeviceOrdinal, Bytes> budgets_;
};

// Target and plan must outlive each of these. Thread safety: as in api/vmm.h.
class FaultInjectingVmm : public MemoryBudgetVmm {
 public:
  FaultInjectingVmm(Vmm* target, FaultPlan* faults) : MemoryBudgetVmm(target), faults_(*faults) {}

  TWINMMU_VMM_CALLS(TWINMMU_SHORT_FORMS, Vmm)
  TWINMMU_VMM_CALLS(TWINMMU_OVERRIDE, )

 private:
  FaultPlan& faults_;
};

class FaultInjectingExecutor : public ForwardingExecutor {
 public:
  FaultInjectingExecutor(Executor* target, FaultPlan* faults)
      : ForwardingExecutor(target), faults_(*faults) {}

  TWINMMU_EXECUTOR_CALLS(TWINMMU_OVERRIDE, )

 private:
  FaultPlan& faults_;
};

class FaultInjectingMulticast : public ForwardingMulticast {
 public:
  FaultInjectingMulticast(Multicast* target, FaultPlan* faults)
      : ForwardingMulticast(target), faults_(*faults) {}

  TWINMMU_MULTICAST_CALLS(TWINMMU_SHORT_FORMS, Multicast)
  TWINMMU_MULTICAST_CALLS(TWINMMU_OVERRIDE, )

 private:
  FaultPlan& faults_;
};

class FaultInjectingSparseArrays : public ForwardingSparseArrays {
 public:
  FaultInjectingSparseArrays(SparseArrays* target, FaultPlan* faults)
      : ForwardingSparseArrays(target), faults_(*faults) {}

  TWINMMU_SPARSE_ARRAYS_CALLS(TWINMMU_OVERRIDE, )

 private:
  FaultPlan& faults_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_FAULT_INJECTING_H_
