#include "api/testing/fault_injecting.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "api/driver_call.h"

namespace twinmmu {

void MemoryBudgetVmm::SetMemoryBudget(DeviceOrdinal device, Bytes total) {
  const std::lock_guard lock(mutex_);
  budgets_[device] = total;
}

void MemoryBudgetVmm::ClearMemoryBudget(DeviceOrdinal device) {
  const std::lock_guard lock(mutex_);
  budgets_.erase(device);
}

absl::Status MemoryBudgetVmm::CheckBudget(Bytes size, const AllocationProperties& properties) {
  if (properties.location.type != LocationType::kDevice) return absl::OkStatus();
  const DeviceOrdinal device(properties.location.id);
  const auto budget = budgets_.find(device);
  if (budget == budgets_.end()) return absl::OkStatus();
  const Bytes in_use = memory_.InUse(device);
  if (in_use <= budget->second && size <= budget->second - in_use) return absl::OkStatus();
  return MakeDriverStatus(
      {DriverCode::kOutOfMemory, ErrorOrigin::kInjected,
       std::string(DriverCallName(DriverCall::kCreate))},
      absl::StrCat(DriverCallName(DriverCall::kCreate), " failed: size ", ToString(size),
                   " is more than is left of the budget of ", ToString(device), ": ",
                   ToString(in_use), " of ", ToString(budget->second), " are in use"));
}

absl::StatusOr<MemoryInfo> MemoryBudgetVmm::GetMemoryInfo(DeviceOrdinal device) {
  absl::StatusOr<MemoryInfo> info = ForwardingVmm::GetMemoryInfo(device);
  const std::lock_guard lock(mutex_);
  const auto budget = budgets_.find(device);
  if (!info.ok() || budget == budgets_.end()) return info;
  const Bytes in_use = std::min(memory_.InUse(device), budget->second);
  info->free = std::min(info->free, budget->second - in_use);
  info->total = std::min(info->total, budget->second);
  return info;
}

absl::StatusOr<AllocationHandle> MemoryBudgetVmm::Create(Bytes size,
                                                         const AllocationProperties& properties,
                                                         uint64_t flags) {
  const std::lock_guard lock(mutex_);
  absl::Status fits = CheckBudget(size, properties);
  if (!fits.ok()) return fits;
  const absl::StatusOr<AllocationHandle> handle = ForwardingVmm::Create(size, properties, flags);
  if (handle.ok() && properties.location.type == LocationType::kDevice) {
    memory_.Created(*handle, DeviceOrdinal(properties.location.id), size);
  }
  return handle;
}

absl::Status MemoryBudgetVmm::Release(AllocationHandle handle) {
  const std::lock_guard lock(mutex_);
  const absl::Status status = ForwardingVmm::Release(handle);
  if (status.ok()) memory_.Released(handle);
  return status;
}

absl::StatusOr<AllocationHandle> MemoryBudgetVmm::RetainAllocationHandle(DeviceAddress address) {
  const std::lock_guard lock(mutex_);
  const absl::StatusOr<AllocationHandle> handle = ForwardingVmm::RetainAllocationHandle(address);
  if (handle.ok()) memory_.Retained(*handle, address);
  return handle;
}

absl::Status MemoryBudgetVmm::Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                                  uint64_t flags) {
  const std::lock_guard lock(mutex_);
  const absl::Status status = ForwardingVmm::Map(range, handle, offset, flags);
  if (status.ok()) memory_.Mapped(range, handle);
  return status;
}

absl::Status MemoryBudgetVmm::Unmap(const AddressRange& range) {
  const std::lock_guard lock(mutex_);
  const absl::Status status = ForwardingVmm::Unmap(range);
  if (status.ok()) memory_.Unmapped(range);
  return status;
}

absl::StatusOr<ShareableHandle> MemoryBudgetVmm::ExportShareableHandle(AllocationHandle handle,
                                                                       HandleType type,
                                                                       uint64_t flags) {
  const std::lock_guard lock(mutex_);
  const absl::StatusOr<ShareableHandle> exported =
      ForwardingVmm::ExportShareableHandle(handle, type, flags);
  if (exported.ok()) memory_.Exported(handle, *exported);
  return exported;
}

absl::StatusOr<AllocationHandle> MemoryBudgetVmm::ImportShareableHandle(
    const ShareableHandle& shareable) {
  const std::lock_guard lock(mutex_);
  const absl::StatusOr<AllocationHandle> handle = ForwardingVmm::ImportShareableHandle(shareable);
  if (handle.ok()) memory_.Imported(*handle, shareable);
  return handle;
}

// --- What the plan says of a call, or else what it gives -----------------------------------------

#define TWINMMU_FAIL_OR_CALL(Class, Target, id, result, method, ...) \
  result Class::method(TWINMMU_PARAMETERS(__VA_ARGS__)) {            \
    absl::Status injected = faults_.Ask(DriverCall::k##id);          \
    if (!injected.ok()) return injected;                             \
    return Target::method(TWINMMU_ARGUMENTS(__VA_ARGS__));           \
  }
#define TWINMMU_OF_VMM(context, ...) \
  TWINMMU_FAIL_OR_CALL(FaultInjectingVmm, MemoryBudgetVmm, __VA_ARGS__)
#define TWINMMU_OF_OTHERS(interface, ...) \
  TWINMMU_FAIL_OR_CALL(FaultInjecting##interface, Forwarding##interface, __VA_ARGS__)

TWINMMU_VMM_CALLS(TWINMMU_OF_VMM, )
TWINMMU_EXECUTOR_CALLS(TWINMMU_OF_OTHERS, Executor)
TWINMMU_MULTICAST_CALLS(TWINMMU_OF_OTHERS, Multicast)
TWINMMU_SPARSE_ARRAYS_CALLS(TWINMMU_OF_OTHERS, SparseArrays)

}  // namespace twinmmu
