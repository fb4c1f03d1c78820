#include "sim/calls/vmm/guarded_vmm.h"

namespace twinmmu {

absl::StatusOr<int> GuardedVmm::GetDriverVersion() {
  return vmm_.GetDriverVersion();  // answers in a child made by fork as well
}

absl::StatusOr<int> GuardedVmm::GetDeviceCount() {
  return Call("cuDeviceGetCount", [&] { return vmm_.GetDeviceCount(); });
}

absl::StatusOr<std::string> GuardedVmm::GetDeviceName(DeviceOrdinal device) {
  return Call("cuDeviceGetName", [&] { return vmm_.GetDeviceName(device); });
}

absl::StatusOr<int> GuardedVmm::GetDeviceAttribute(DeviceAttribute attribute,
                                                   DeviceOrdinal device) {
  return Call("cuDeviceGetAttribute", [&] { return vmm_.GetDeviceAttribute(attribute, device); });
}

absl::StatusOr<bool> GuardedVmm::CanAccessPeer(DeviceOrdinal device, DeviceOrdinal peer) {
  return Call("cuDeviceCanAccessPeer", [&] { return vmm_.CanAccessPeer(device, peer); });
}

absl::StatusOr<MemoryInfo> GuardedVmm::GetMemoryInfo(DeviceOrdinal device) {
  return Call("cuMemGetInfo", [&] { return vmm_.GetMemoryInfo(device); });
}

absl::StatusOr<AddressRange> GuardedVmm::AddressReserve(Bytes size, const ReserveOptions& options) {
  return VmmCall("cuMemAddressReserve", [&] { return vmm_.AddressReserve(size, options); });
}

absl::Status GuardedVmm::AddressFree(const AddressRange& range) {
  return VmmCall("cuMemAddressFree", [&] { return vmm_.AddressFree(range); });
}

absl::StatusOr<Bytes> GuardedVmm::GetAllocationGranularity(const AllocationProperties& properties,
                                                           Granularity option) {
  return VmmCall("cuMemGetAllocationGranularity",
                 [&] { return vmm_.GetAllocationGranularity(properties, option); });
}

absl::StatusOr<AllocationHandle> GuardedVmm::Create(Bytes size,
                                                    const AllocationProperties& properties,
                                                    uint64_t flags) {
  return VmmCall("cuMemCreate", [&] { return vmm_.Create(size, properties, flags); });
}

absl::Status GuardedVmm::Release(AllocationHandle handle) {
  return VmmCall("cuMemRelease", [&] { return vmm_.Release(handle); });
}

absl::StatusOr<AllocationHandle> GuardedVmm::RetainAllocationHandle(DeviceAddress address) {
  return VmmCall("cuMemRetainAllocationHandle",
                 [&] { return vmm_.RetainAllocationHandle(address); });
}

absl::StatusOr<AllocationProperties> GuardedVmm::GetAllocationProperties(AllocationHandle handle) {
  return VmmCall("cuMemGetAllocationPropertiesFromHandle",
                 [&] { return vmm_.GetAllocationProperties(handle); });
}

absl::Status GuardedVmm::Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                             uint64_t flags) {
  return VmmCall("cuMemMap", [&] { return vmm_.Map(range, handle, offset, flags); });
}

absl::Status GuardedVmm::Unmap(const AddressRange& range) {
  return VmmCall("cuMemUnmap", [&] { return vmm_.Unmap(range); });
}

absl::Status GuardedVmm::SetAccess(const AddressRange& range,
                                   absl::Span<const AccessGrant> grants) {
  return VmmCall("cuMemSetAccess", [&] { return vmm_.SetAccess(range, grants); });
}

absl::StatusOr<Access> GuardedVmm::GetAccess(const Location& location, DeviceAddress address) {
  return VmmCall("cuMemGetAccess", [&] { return vmm_.GetAccess(location, address); });
}

absl::StatusOr<ShareableHandle> GuardedVmm::ExportShareableHandle(AllocationHandle handle,
                                                                  HandleType type, uint64_t flags) {
  return VmmCall("cuMemExportToShareableHandle",
                 [&] { return vmm_.ExportShareableHandle(handle, type, flags); });
}

absl::StatusOr<AllocationHandle> GuardedVmm::ImportShareableHandle(
    const ShareableHandle& shareable) {
  return VmmCall("cuMemImportFromShareableHandle",
                 [&] { return vmm_.ImportShareableHandle(shareable); });
}

absl::StatusOr<uint64_t> GuardedVmm::GetPointerAttribute(DeviceOrdinal device,
                                                         PointerAttribute attribute,
                                                         DeviceAddress address) {
  return Call("cuPointerGetAttribute",
              [&] { return vmm_.GetPointerAttribute(device, attribute, address); });
}

absl::StatusOr<AddressRange> GuardedVmm::GetAddressRange(DeviceOrdinal device,
                                                         DeviceAddress address) {
  return Call("cuMemGetAddressRange", [&] { return vmm_.GetAddressRange(device, address); });
}

absl::StatusOr<int> GuardedVmm::GetHandleForAddressRange(DeviceOrdinal device,
                                                         const AddressRange& range,
                                                         RangeHandleType type, uint64_t flags) {
  return Call("cuMemGetHandleForAddressRange",
              [&] { return vmm_.GetHandleForAddressRange(device, range, type, flags); });
}

}  // namespace twinmmu
