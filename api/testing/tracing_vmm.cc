#include "api/testing/tracing_vmm.h"

#include "absl/strings/str_cat.h"
#include "api/testing/trace_text.h"

namespace twinmmu {
namespace {

using trace_text::Arguments;
using trace_text::Flags;
using trace_text::Offset;
using trace_text::Text;

std::string Options(const ReserveOptions& options) {
  std::string text;
  if (options.alignment != Bytes(0)) {
    absl::StrAppend(&text, ", alignment ", ToString(options.alignment));
  }
  if (options.hint != DeviceAddress()) absl::StrAppend(&text, ", hint ", ToString(options.hint));
  return text + Flags(options.flags);
}

}  // namespace

absl::StatusOr<int> TracingVmm::GetDriverVersion() {
  return Trace(DriverCall::kGetDriverVersion, "",
               [&] { return ForwardingVmm::GetDriverVersion(); });
}

absl::StatusOr<int> TracingVmm::GetDeviceCount() {
  return Trace(DriverCall::kGetDeviceCount, "", [&] { return ForwardingVmm::GetDeviceCount(); });
}

absl::StatusOr<std::string> TracingVmm::GetDeviceName(DeviceOrdinal device) {
  return Trace(DriverCall::kGetDeviceName, Arguments(device),
               [&] { return ForwardingVmm::GetDeviceName(device); });
}

absl::StatusOr<int> TracingVmm::GetDeviceAttribute(DeviceAttribute attribute,
                                                   DeviceOrdinal device) {
  return Trace(DriverCall::kGetDeviceAttribute, Arguments(attribute, device),
               [&] { return ForwardingVmm::GetDeviceAttribute(attribute, device); });
}

absl::StatusOr<bool> TracingVmm::CanAccessPeer(DeviceOrdinal device, DeviceOrdinal peer) {
  return Trace(DriverCall::kCanAccessPeer, Arguments(device, peer),
               [&] { return ForwardingVmm::CanAccessPeer(device, peer); });
}

absl::StatusOr<MemoryInfo> TracingVmm::GetMemoryInfo(DeviceOrdinal device) {
  return Trace(DriverCall::kGetMemoryInfo, Arguments(device),
               [&] { return ForwardingVmm::GetMemoryInfo(device); });
}

absl::StatusOr<AddressRange> TracingVmm::AddressReserve(Bytes size, const ReserveOptions& options) {
  return Trace(DriverCall::kAddressReserve, Text(size) + Options(options),
               [&] { return ForwardingVmm::AddressReserve(size, options); });
}

absl::Status TracingVmm::AddressFree(const AddressRange& range) {
  return Trace(DriverCall::kAddressFree, Arguments(range),
               [&] { return ForwardingVmm::AddressFree(range); });
}

absl::StatusOr<Bytes> TracingVmm::GetAllocationGranularity(const AllocationProperties& properties,
                                                           Granularity option) {
  return Trace(DriverCall::kGetAllocationGranularity, Arguments(properties, option),
               [&] { return ForwardingVmm::GetAllocationGranularity(properties, option); });
}

absl::StatusOr<AllocationHandle> TracingVmm::Create(Bytes size,
                                                    const AllocationProperties& properties,
                                                    uint64_t flags) {
  return Trace(DriverCall::kCreate, Arguments(size, properties) + Flags(flags),
               [&] { return ForwardingVmm::Create(size, properties, flags); });
}

absl::Status TracingVmm::Release(AllocationHandle handle) {
  return Trace(DriverCall::kRelease, Arguments(handle),
               [&] { return ForwardingVmm::Release(handle); });
}

absl::StatusOr<AllocationHandle> TracingVmm::RetainAllocationHandle(DeviceAddress address) {
  return Trace(DriverCall::kRetainAllocationHandle, Arguments(address),
               [&] { return ForwardingVmm::RetainAllocationHandle(address); });
}

absl::StatusOr<AllocationProperties> TracingVmm::GetAllocationProperties(AllocationHandle handle) {
  return Trace(DriverCall::kGetAllocationProperties, Arguments(handle),
               [&] { return ForwardingVmm::GetAllocationProperties(handle); });
}

absl::Status TracingVmm::Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                             uint64_t flags) {
  return Trace(DriverCall::kMap, Arguments(range, handle) + Offset(offset) + Flags(flags),
               [&] { return ForwardingVmm::Map(range, handle, offset, flags); });
}

absl::Status TracingVmm::Unmap(const AddressRange& range) {
  return Trace(DriverCall::kUnmap, Arguments(range), [&] { return ForwardingVmm::Unmap(range); });
}

absl::Status TracingVmm::SetAccess(const AddressRange& range,
                                   absl::Span<const AccessGrant> grants) {
  return Trace(DriverCall::kSetAccess, Arguments(range, grants),
               [&] { return ForwardingVmm::SetAccess(range, grants); });
}

absl::StatusOr<Access> TracingVmm::GetAccess(const Location& location, DeviceAddress address) {
  return Trace(DriverCall::kGetAccess, Arguments(location, address),
               [&] { return ForwardingVmm::GetAccess(location, address); });
}

absl::StatusOr<ShareableHandle> TracingVmm::ExportShareableHandle(AllocationHandle handle,
                                                                  HandleType type, uint64_t flags) {
  return Trace(DriverCall::kExportShareableHandle, Arguments(handle, type) + Flags(flags),
               [&] { return ForwardingVmm::ExportShareableHandle(handle, type, flags); });
}

absl::StatusOr<AllocationHandle> TracingVmm::ImportShareableHandle(
    const ShareableHandle& shareable) {
  return Trace(DriverCall::kImportShareableHandle, Arguments(shareable),
               [&] { return ForwardingVmm::ImportShareableHandle(shareable); });
}

absl::StatusOr<uint64_t> TracingVmm::GetPointerAttribute(DeviceOrdinal device,
                                                         PointerAttribute attribute,
                                                         DeviceAddress address) {
  return Trace(DriverCall::kGetPointerAttribute, Arguments(device, attribute, address),
               [&] { return ForwardingVmm::GetPointerAttribute(device, attribute, address); });
}

absl::StatusOr<AddressRange> TracingVmm::GetAddressRange(DeviceOrdinal device,
                                                         DeviceAddress address) {
  return Trace(DriverCall::kGetAddressRange, Arguments(device, address),
               [&] { return ForwardingVmm::GetAddressRange(device, address); });
}

absl::StatusOr<int> TracingVmm::GetHandleForAddressRange(DeviceOrdinal device,
                                                         const AddressRange& range,
                                                         RangeHandleType type, uint64_t flags) {
  return Trace(DriverCall::kGetHandleForAddressRange,
               Arguments(device, range, static_cast<int>(type)) + Flags(flags),
               [&] { return ForwardingVmm::GetHandleForAddressRange(device, range, type, flags); });
}

}  // namespace twinmmu
