// Sharing: export to a descriptor and import from one.

#include <mutex>
#include <optional>

#include "sim/call_record.h"
#include "sim/errors.h"
#include "sim/simulated_vmm.h"

namespace twinmmu {

absl::StatusOr<ShareableHandle> SimulatedVmm::ExportShareableHandle(AllocationHandle handle,
                                                                    HandleType type,
                                                                    uint64_t flags) {
  static constexpr char kCall[] = "cuMemExportToShareableHandle";
  CallRecord call(mmu_, Call::kExport, AddressRange(), handle.value());
  if (flags != 0) return InvalidValue(kCall, "flags ", flags, " are not 0");
  const std::unique_lock lock(mmu_.mutex);
  const AllocationRecord* allocation = FindUsable(handle);
  if (allocation == nullptr) return RefuseHandle(call, handle);
  const HandleType requested = allocation->properties.requested_handle_types;
  const bool exportable = type == HandleType::kPosixFileDescriptor || type == HandleType::kFabric;
  if (!exportable) {
    return InvalidValue(kCall, "handle type ", ToString(type), " cannot be exported");
  }
  if ((requested & type) != type) {
    return call.Refuse({DiagnosticKind::kExportOfUnrequestedType, std::nullopt, handle},
                       words::TypeNotRequested(type, requested));
  }
  const uint32_t number = PhysicalMemory::NumberOf(handle);
  if (type == HandleType::kFabric) {
    if (allocation->references == 0) WarnOfReleasedHandle(call, handle);
    call.Done(AddressRange(), handle.value());
    return ShareableHandle{type, -1, mmu_.memory.ExportFabric(number)};
  }
  const absl::StatusOr<int> descriptor = mmu_.memory.Export(number, call.number());
  if (!descriptor.ok()) {
    return Fail(DriverCode::kOperatingSystem, kCall, descriptor.status().message());
  }
  if (allocation->references == 0) WarnOfReleasedHandle(call, handle);
  call.Done(AddressRange(), handle.value());
  return ShareableHandle::FileDescriptor(*descriptor);
}

absl::StatusOr<AllocationHandle> SimulatedVmm::ImportShareableHandle(
    const ShareableHandle& shareable) {
  static constexpr char kCall[] = "cuMemImportFromShareableHandle";
  CallRecord call(mmu_, Call::kImport, AddressRange());
  const Quirks& quirks = mmu_.profile.quirks;
  // The driver takes the descriptor as a pointer, and this one for a null pointer.
  if (shareable.type != HandleType::kFabric && shareable.file_descriptor == 0) {
    return InvalidValue(kCall, "descriptor is 0");
  }
  switch (shareable.type) {
    case HandleType::kPosixFileDescriptor:
      break;
    case HandleType::kWin32:
    case HandleType::kWin32Kmt:
      return Fail(DriverCode::kNotSupported, kCall, "handle type ", ToString(shareable.type),
                  " exists only on Windows");
    case HandleType::kFabric: {
      const std::unique_lock lock(mmu_.mutex);
      const std::optional<AllocationHandle> handle =
          mmu_.memory.ImportFabric(shareable.fabric, call.number());
      if (handle.has_value()) {
        call.Done(AddressRange(), handle->value());
        return *handle;
      }
      // What the reference driver says of a handle that it does not know.
      return Fail(DriverCode::kNotSupported, kCall, "the fabric handle names no memory");
    }
    default:
      return InvalidValue(kCall, "there is no handle type ", ToString(shareable.type));
  }
  const absl::StatusOr<FileIdentity> identity = IdentifyFile(shareable.file_descriptor);
  if (identity.status().code() == absl::StatusCode::kResourceExhausted) {
    return Fail(DriverCode::kOutOfMemory, kCall, identity.status().message());
  }
  const std::unique_lock lock(mmu_.mutex);
  std::optional<AllocationHandle> handle;
  if (identity.ok()) handle = mmu_.memory.Import(*identity, call.number());
  if (!handle.has_value()) {
    const DriverCode code = quirks.import_of_foreign_descriptor_is_unknown
                                ? DriverCode::kUnknown
                                : DriverCode::kInvalidValue;
    return call.RefuseWith(code, {DiagnosticKind::kImportOfForeignDescriptor},
                           words::ForeignDescriptor(shareable.file_descriptor));
  }
  call.Done(AddressRange(), handle->value());
  return *handle;
}

}  // namespace twinmmu
