#include "api/testing/fault_injecting_vmm.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace twinmmu {

template <typename F>
auto FaultInjectingVmm::Call(DriverCall kind, const F& call) -> decltype(call()) {
  absl::Status injected = faults_.Ask(kind);
  if (!injected.ok()) return injected;
  return call();
}

void FaultInjectingVmm::SetMemoryBudget(DeviceOrdinal device, Bytes total) {
  const std::lock_guard lock(mutex_);
  budgets_[device] = total;
}

void FaultInjectingVmm::ClearMemoryBudget(DeviceOrdinal device) {
  const std::lock_guard lock(mutex_);
  budgets_.erase(device);
}

absl::Status FaultInjectingVmm::CheckBudget(Bytes size, const AllocationProperties& properties) {
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

absl::StatusOr<int> FaultInjectingVmm::GetDriverVersion() {
  return Call(DriverCall::kGetDriverVersion, [&] { return ForwardingVmm::GetDriverVersion(); });
}

absl::StatusOr<int> FaultInjectingVmm::GetDeviceCount() {
  return Call(DriverCall::kGetDeviceCount, [&] { return ForwardingVmm::GetDeviceCount(); });
}

absl::StatusOr<std::string> FaultInjectingVmm::GetDeviceName(DeviceOrdinal device) {
  return Call(DriverCall::kGetDeviceName, [&] { return ForwardingVmm::GetDeviceName(device); });
}

absl::StatusOr<int> FaultInjectingVmm::GetDeviceAttribute(DeviceAttribute attribute,
                                                          DeviceOrdinal device) {
  return Call(DriverCall::kGetDeviceAttribute,
              [&] { return ForwardingVmm::GetDeviceAttribute(attribute, device); });
}

absl::StatusOr<bool> FaultInjectingVmm::CanAccessPeer(DeviceOrdinal device, DeviceOrdinal peer) {
  return Call(DriverCall::kCanAccessPeer,
              [&] { return ForwardingVmm::CanAccessPeer(device, peer); });
}

absl::StatusOr<MemoryInfo> FaultInjectingVmm::GetMemoryInfo(DeviceOrdinal device) {
  return Call(DriverCall::kGetMemoryInfo, [&]() -> absl::StatusOr<MemoryInfo> {
    absl::StatusOr<MemoryInfo> info = ForwardingVmm::GetMemoryInfo(device);
    const std::lock_guard lock(mutex_);
    const auto budget = budgets_.find(device);
    if (!info.ok() || budget == budgets_.end()) return info;
    const Bytes in_use = std::min(memory_.InUse(device), budget->second);
    info->free = std::min(info->free, budget->second - in_use);
    info->total = std::min(info->total, budget->second);
    return info;
  });
}

absl::StatusOr<AddressRange> FaultInjectingVmm::AddressReserve(Bytes size,
                                                               const ReserveOptions& options) {
  return Call(DriverCall::kAddressReserve,
              [&] { return ForwardingVmm::AddressReserve(size, options); });
}

absl::Status FaultInjectingVmm::AddressFree(const AddressRange& range) {
  return Call(DriverCall::kAddressFree, [&] { return ForwardingVmm::AddressFree(range); });
}

absl::StatusOr<Bytes> FaultInjectingVmm::GetAllocationGranularity(
    const AllocationProperties& properties, Granularity option) {
  return Call(DriverCall::kGetAllocationGranularity,
              [&] { return ForwardingVmm::GetAllocationGranularity(properties, option); });
}

absl::StatusOr<AllocationHandle> FaultInjectingVmm::Create(Bytes size,
                                                           const AllocationProperties& properties,
                                                           uint64_t flags) {
  return Call(DriverCall::kCreate, [&]() -> absl::StatusOr<AllocationHandle> {
    const std::lock_guard lock(mutex_);
    absl::Status fits = CheckBudget(size, properties);
    if (!fits.ok()) return fits;
    const absl::StatusOr<AllocationHandle> handle = ForwardingVmm::Create(size, properties, flags);
    if (handle.ok() && properties.location.type == LocationType::kDevice) {
      memory_.Created(*handle, DeviceOrdinal(properties.location.id), size);
    }
    return handle;
  });
}

absl::Status FaultInjectingVmm::Release(AllocationHandle handle) {
  return Call(DriverCall::kRelease, [&] {
    const std::lock_guard lock(mutex_);
    const absl::Status status = ForwardingVmm::Release(handle);
    if (status.ok()) memory_.Released(handle);
    return status;
  });
}

absl::StatusOr<AllocationHandle> FaultInjectingVmm::RetainAllocationHandle(DeviceAddress address) {
  return Call(DriverCall::kRetainAllocationHandle, [&] {
    const std::lock_guard lock(mutex_);
    const absl::StatusOr<AllocationHandle> handle = ForwardingVmm::RetainAllocationHandle(address);
    if (handle.ok()) memory_.Retained(*handle, address);
    return handle;
  });
}

absl::StatusOr<AllocationProperties> FaultInjectingVmm::GetAllocationProperties(
    AllocationHandle handle) {
  return Call(DriverCall::kGetAllocationProperties,
              [&] { return ForwardingVmm::GetAllocationProperties(handle); });
}

absl::Status FaultInjectingVmm::Map(const AddressRange& range, AllocationHandle handle,
                                    Bytes offset, uint64_t flags) {
  return Call(DriverCall::kMap, [&] {
    const std::lock_guard lock(mutex_);
    const absl::Status status = ForwardingVmm::Map(range, handle, offset, flags);
    if (status.ok()) memory_.Mapped(range, handle);
    return status;
  });
}

absl::Status FaultInjectingVmm::Unmap(const AddressRange& range) {
  return Call(DriverCall::kUnmap, [&] {
    const std::lock_guard lock(mutex_);
    const absl::Status status = ForwardingVmm::Unmap(range);
    if (status.ok()) memory_.Unmapped(range);
    return status;
  });
}

absl::Status FaultInjectingVmm::SetAccess(const AddressRange& range,
                                          absl::Span<const AccessGrant> grants) {
  return Call(DriverCall::kSetAccess, [&] { return ForwardingVmm::SetAccess(range, grants); });
}

absl::StatusOr<Access> FaultInjectingVmm::GetAccess(const Location& location,
                                                    DeviceAddress address) {
  return Call(DriverCall::kGetAccess, [&] { return ForwardingVmm::GetAccess(location, address); });
}

absl::StatusOr<ShareableHandle> FaultInjectingVmm::ExportShareableHandle(AllocationHandle handle,
                                                                         HandleType type,
                                                                         uint64_t flags) {
  return Call(DriverCall::kExportShareableHandle, [&] {
    const std::lock_guard lock(mutex_);
    const absl::StatusOr<ShareableHandle> exported =
        ForwardingVmm::ExportShareableHandle(handle, type, flags);
    if (exported.ok()) memory_.Exported(handle, *exported);
    return exported;
  });
}

absl::StatusOr<AllocationHandle> FaultInjectingVmm::ImportShareableHandle(
    const ShareableHandle& shareable) {
  return Call(DriverCall::kImportShareableHandle, [&] {
    const std::lock_guard lock(mutex_);
    const absl::StatusOr<AllocationHandle> handle = ForwardingVmm::ImportShareableHandle(shareable);
    if (handle.ok()) memory_.Imported(*handle, shareable);
    return handle;
  });
}

absl::StatusOr<uint64_t> FaultInjectingVmm::GetPointerAttribute(DeviceOrdinal device,
                                                                PointerAttribute attribute,
                                                                DeviceAddress address) {
  return Call(DriverCall::kGetPointerAttribute,
              [&] { return ForwardingVmm::GetPointerAttribute(device, attribute, address); });
}

absl::StatusOr<AddressRange> FaultInjectingVmm::GetAddressRange(DeviceOrdinal device,
                                                                DeviceAddress address) {
  return Call(DriverCall::kGetAddressRange,
              [&] { return ForwardingVmm::GetAddressRange(device, address); });
}

absl::StatusOr<int> FaultInjectingVmm::GetHandleForAddressRange(DeviceOrdinal device,
                                                                const AddressRange& range,
                                                                RangeHandleType type,
                                                                uint64_t flags) {
  return Call(DriverCall::kGetHandleForAddressRange,
              [&] { return ForwardingVmm::GetHandleForAddressRange(device, range, type, flags); });
}

}  // namespace twinmmu
