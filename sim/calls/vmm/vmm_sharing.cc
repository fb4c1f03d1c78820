// Sharing: export to a descriptor and import from one.

#include <mutex>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "api/sharing/owned_descriptor.h"
#include "sim/base/errors.h"
#include "sim/calls/vmm/simulated_vmm.h"
#include "sim/diagnostics/call_record.h"
#include "sim/host/memory_label.h"

namespace twinmmu {
namespace {

constexpr int kInvisibleFrom = 13020;  // drivers have a location for it
constexpr int kNoDevice = -2;          // CU_DEVICE_INVALID

}  // namespace

absl::StatusOr<ShareableHandle> SimulatedVmm::DoExportShareableHandle(AllocationHandle handle,
                                                                      HandleType type,
                                                                      uint64_t flags) {
  static constexpr char kCall[] = "cuMemExportToShareableHandle";
  CallRecord call(state_, Call::kExportShareableHandle, AddressRange(), handle.value());
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
    // To find out what memory can be exported as, programs try one type and then the other.
    if (requested != HandleType::kNone) {
      return InvalidValue(kCall, words::InWords(words::TypeNotRequested(type, requested)));
    }
    return call.Refuse({DiagnosticKind::kExportOfUnrequestedType, std::nullopt, handle},
                       words::TypeNotRequested(type, requested));
  }
  const uint32_t index = PhysicalMemory::IndexOf(handle);
  if (!allocation->is_multicast()) {
    PhysicalPages& pages = *allocation->pages;
    state_.aliases.SetWritten(pages.backing.data(), pages.size.value());
    WatchShared(&pages, pages.backing.file_descriptor());
  }
  if (type == HandleType::kFabric) {
    const absl::StatusOr<FabricHandle> fabric = mmu_.memory.ExportFabric(index);
    if (!fabric.ok()) {
      return Fail(DriverCode::kOperatingSystem, kCall, fabric.status().message());
    }
    if (allocation->references == 0) WarnOfReleasedHandle(call, handle);
    call.Done(AddressRange(), handle.value());
    return ShareableHandle{type, -1, *fabric};
  }
  const absl::StatusOr<int> descriptor = mmu_.memory.Export(index, call.id());
  if (!descriptor.ok()) {
    return Fail(DriverCode::kOperatingSystem, kCall, descriptor.status().message());
  }
  if (allocation->references == 0) WarnOfReleasedHandle(call, handle);
  call.Done(AddressRange(), handle.value());
  return ShareableHandle::FileDescriptor(*descriptor);
}

absl::StatusOr<AllocationHandle> SimulatedVmm::DoImportShareableHandle(
    const ShareableHandle& shareable) {
  static constexpr char kCall[] = "cuMemImportFromShareableHandle";
  CallRecord call(state_, Call::kImportShareableHandle, AddressRange());
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
      const absl::StatusOr<AllocationHandle> handle = ImportFabric(shareable.fabric, call.id());
      if (handle.ok()) {
        call.Done(AddressRange(), handle->value());
        return *handle;
      }
      // What the reference driver says of a handle that it does not know.
      const DriverCode code = absl::IsResourceExhausted(handle.status()) ? DriverCode::kOutOfMemory
                              : absl::IsFailedPrecondition(handle.status())
                                  ? DriverCode::kInvalidDevice
                                  : DriverCode::kNotSupported;
      return Fail(code, kCall, "the fabric handle names no memory: ", handle.status().message());
    }
    default:
      return InvalidValue(kCall, "there is no handle type ", ToString(shareable.type));
  }
  const int descriptor = shareable.file_descriptor;
  const std::unique_lock lock(mmu_.mutex);
  const absl::StatusOr<AllocationHandle> handle = ImportFile(descriptor, nullptr, call.id());
  if (handle.ok()) {
    call.Done(AddressRange(), handle->value());
    return *handle;
  }
  const Misuse misuse{DiagnosticKind::kImportOfForeignDescriptor};
  const DriverCode code = quirks.import_of_foreign_descriptor_is_unknown
                              ? DriverCode::kUnknown
                              : DriverCode::kInvalidValue;
  switch (handle.status().code()) {
    case absl::StatusCode::kResourceExhausted:
      return Fail(DriverCode::kOutOfMemory, kCall, handle.status().message());
    case absl::StatusCode::kFailedPrecondition:
      return Fail(DriverCode::kInvalidDevice, kCall, handle.status().message());
    case absl::StatusCode::kNotFound:  // closed: there is no more to say
      return call.RefuseWith(code, misuse, words::ForeignDescriptor(descriptor));
    default:
      return call.RefuseWith(code, misuse, words::ForeignDescriptor(descriptor), ": ",
                             handle.status().message());
  }
}

// What other processes do with the memory is told in its file. Where the host refuses, it is not.
void SimulatedVmm::WatchShared(PhysicalPages* pages, int descriptor) {
  if (!state_.others.enabled()) return;
  const auto log = pages->backing.OpenLog(descriptor, pages->size + kLogOffset);
  if (log.ok()) state_.others.Share(pages->backing.data(), pages->size.value(), *log);
}

// The same as CheckLabel, of a multicast object.
absl::Status SimulatedVmm::CheckTeamLabel(const MemoryLabel& label) const {
  const std::string difference = DifferenceOf(label.traits, SharingTraits::OfTeams(mmu_.profile));
  if (!difference.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it is a multicast object of another machine: ", difference));
  }
  AllocationProperties usual;
  usual.location = Location{LocationType::kInvalid, 0};
  usual.requested_handle_types = label.properties.requested_handle_types;
  const HandleType most = HandleType::kPosixFileDescriptor | HandleType::kFabric;
  const HandleType types = usual.requested_handle_types;
  const bool possible = label.properties == usual && types != HandleType::kNone &&
                        (types & most) == types && label.size == TeamFile::kSize &&
                        label.team_devices <= static_cast<uint32_t>(mmu_.profile.device_count()) &&
                        label.object_size != Bytes(0) &&
                        mmu_.IsMulticastGranular(label.object_size.value());
  if (possible) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("this machine has no such multicast object of ",
                                                 ToString(label.object_size), " for ",
                                                 label.team_devices, " devices"));
}

// Of memory that another simulator made and labelled so: whether this machine could have made it.
absl::Status SimulatedVmm::CheckLabel(const MemoryLabel& label) const {
  if (label.team_devices != 0) return CheckTeamLabel(label);
  const AllocationProperties& properties = label.properties;
  const Location location = properties.location.whole();
  if (location.type == LocationType::kDevice && !mmu_.HasDevice(DeviceOrdinal(location.id))) {
    return absl::InvalidArgumentError(
        absl::StrCat("it is memory of ", ToString(location), ", which is not here"));
  }
  const SharingTraits here = SharingTraits::Of(mmu_.profile, location);
  const std::string difference = DifferenceOf(label.traits, here);
  if (!difference.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("it is of another machine: ", difference));
  }
  const bool possible = properties.requested_handle_types != HandleType::kNone &&
                        CheckProperties("cuMemImportFromShareableHandle", properties).ok() &&
                        Granted(properties) == properties && label.size != Bytes(0) &&
                        mmu_.IsGranular(label.size.value()) && label.size <= here.memory;
  if (possible) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("this machine has no ", ToString(label.size),
                                                 " of such memory: ", ToString(properties)));
}

// With mmu_.mutex held. `fabric`: what it is to be; null where a descriptor was exported.
// InvalidArgument: why it is not exported memory. NotFound: it is not open. FailedPrecondition: its
// device is not visible. ResourceExhausted: the host refused.
absl::StatusOr<AllocationHandle> SimulatedVmm::ImportFile(int descriptor, const FabricName* fabric,
                                                          uint64_t call) {
  const absl::StatusOr<FileIdentity> identity = IdentifyFile(descriptor);
  if (!identity.ok()) return identity.status();
  if (const PhysicalPages* const pages = mmu_.memory.FindFile(*identity)) {
    if (!pages->exported && !pages->imported) {
      return absl::InvalidArgumentError("it is the simulator's own, which nobody exported");
    }
    // It may have come here as what another simulator has bound, of which less was asked.
    const bool asked = pages->imported && pages->location.type != LocationType::kInvisible;
    const absl::Status right = asked ? CheckLabel(pages->LabelOn(mmu_.profile)) : absl::OkStatus();
    if (!right.ok()) return right;
    return mmu_.memory.Import(*identity, call);
  }
  const absl::StatusOr<MemoryLabel> label = ReadLabel(descriptor);
  if (!label.ok()) return label.status();
  if (fabric != nullptr && label->id != fabric->id) {
    return absl::InvalidArgumentError("it was freed, and other memory is in its place");
  }
  const absl::Status right = CheckLabel(*label);
  if (!right.ok()) return right;
  const bool of_device =
      label->team_devices != 0 || label->properties.location.whole().type == LocationType::kDevice;
  const bool invisible = of_device && !mmu_.profile.exporters_visible;
  if (invisible && (mmu_.profile.driver_version < kInvisibleFrom || label->team_devices != 0)) {
    return absl::FailedPreconditionError("the device that has the memory is not visible here");
  }
  if (label->team_devices != 0) {
    return mmu_.memory.ImportTeam(descriptor, *identity, *label, call);
  }
  MemoryLabel told = *label;
  if (invisible) told.properties.location = Location{LocationType::kInvisible, kNoDevice};
  const auto handle = mmu_.memory.ImportForeign(descriptor, *identity, told, call);
  if (handle.ok()) {
    WatchShared(mmu_.memory[PhysicalMemory::IndexOf(*handle)].pages.get(), descriptor);
  }
  return handle;
}

// With mmu_.mutex held. As ImportFile; else why it names no memory.
absl::StatusOr<AllocationHandle> SimulatedVmm::ImportFabric(const FabricHandle& handle,
                                                            uint64_t call) {
  const absl::StatusOr<FabricName> name = ParseFabricHandle(handle);
  if (!name.ok()) return name.status();
  const std::optional<AllocationHandle> own = mmu_.memory.ImportFabric(*name, call);
  if (own.has_value()) return *own;
  const FabricDomain& domain = mmu_.memory.fabric();
  if (!domain.exists()) {
    return absl::NotFoundError("it was freed, or is of another machine, and here is no domain");
  }
  const absl::StatusOr<int> opened = domain.Open(*name);
  if (!opened.ok()) return opened.status();
  const OwnedDescriptor file(*opened);
  return ImportFile(file.get(), &*name, call);
}

}  // namespace twinmmu
