// Physical memory: granularity, creation, references, properties.

#include <algorithm>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <utility>

#include "sim/base/errors.h"
#include "sim/calls/vmm/simulated_vmm.h"
#include "sim/diagnostics/call_record.h"

namespace twinmmu {
namespace {

constexpr HandleType kWindows = HandleType::kWin32 | HandleType::kWin32Kmt;
constexpr HandleType kKnownHandleTypes =
    HandleType::kPosixFileDescriptor | kWindows | HandleType::kFabric;

constexpr uint16_t kKnownUsage = kUsageTilePool | kUsageHardwareDecompress;

// Since CUDA 13.4.
constexpr auto kLocalityDomains = static_cast<DeviceAttribute>(149);
constexpr auto kRdmaWithLocalizedMemory = static_cast<DeviceAttribute>(161);

// How many domains the device has, which exists. One that does not tell is all one.
int DomainsOf(const Profile& profile, int device) {
  const auto& attributes = profile.devices[static_cast<size_t>(device)].attributes;
  const auto found = attributes.find(kLocalityDomains);
  return found == attributes.end() ? 1 : found->second;
}

uint16_t KnownUsage(const Profile& profile) {
  return profile.HasLocalityDomains() ? kKnownUsage | kUsageRdmaOverPcie : kKnownUsage;
}

bool Has(HandleType set, HandleType type) { return (set & type) != HandleType::kNone; }

bool IsTilePool(const AllocationProperties& properties) {
  return (properties.usage & kUsageTilePool) != 0;
}

// A tile pool of a device that is too large for the driver: that is INVALID_VALUE. On one machine
// it was seen to make one of 2046 MiB and none of 2 GiB, on another any for which there is room;
// from 2^47 on it says OUT_OF_MEMORY as for any memory.
bool IsTooLargeATilePool(Bytes size, const AllocationProperties& properties, bool has_room) {
  return IsTilePool(properties) && properties.location.whole().type == LocationType::kDevice &&
         (size >= GiB(2) || !has_room) && size < Bytes(uint64_t{1} << 47);
}

HandleType UnknownTypes(HandleType types) {
  return static_cast<HandleType>(static_cast<uint64_t>(types) &
                                 ~static_cast<uint64_t>(kKnownHandleTypes));
}

// Whether the driver knows of this attribute of the first device.
bool Knows(const Profile& profile, DeviceAttribute attribute) {
  return profile.devices.empty() || profile.devices[0].attributes.count(attribute) != 0;
}

// Nodes came with HOST_NUMA_ID, before the capability; the host without a node with its own.
bool KnowsLocation(const Profile& profile, LocationType host) {
  return Knows(profile, host == LocationType::kHostNuma
                            ? DeviceAttribute::kHostNumaId
                            : DeviceAttribute::kHostVirtualMemoryManagementSupported);
}

// Whether memory can be created there; devices apart.
bool IsHostMemory(const Profile& profile, const Location& location) {
  const bool exists = location.type == LocationType::kHostNuma
                          ? profile.HasHostNode(location.id)
                          : location.type == LocationType::kHost && !profile.host_nodes.empty();
  return exists && KnowsLocation(profile, location.type);
}

// The capability of the device, or for the host's memory of the first one.
bool SupportedBy(const Profile& profile, const Location& location, DeviceAttribute capability) {
  if (profile.devices.empty()) return true;
  return profile.Supports(capability, location.type == LocationType::kDevice ? location.id : 0);
}

}  // namespace

// Memory at `location`, which exists, is virtual memory that the devices can manage.
absl::Status SimulatedVmm::CheckSupport(const char* call, const Location& location) const {
  const DeviceAttribute capability =
      location.type == LocationType::kDevice
          ? DeviceAttribute::kVirtualMemoryManagementSupported
          : (location.type == LocationType::kHost
                 ? DeviceAttribute::kHostVirtualMemoryManagementSupported
                 : DeviceAttribute::kHostNumaVirtualMemoryManagementSupported);
  const bool untold = location.type != LocationType::kDevice && !Knows(mmu_.profile, capability);
  if (untold || SupportedBy(mmu_.profile, location, capability)) return absl::OkStatus();
  return Fail(DriverCode::kNotSupported, call, ToString(location), " does not have ",
              ToString(capability));
}

// The devices support the handle types asked for, and GPUDirect RDMA.
absl::Status SimulatedVmm::CheckCapabilities(const char* call,
                                             const AllocationProperties& properties) const {
  constexpr DeviceAttribute kRdma = DeviceAttribute::kGpuDirectRdmaWithCudaVmmSupported;
  const Location location = properties.location.whole();
  if (properties.gpu_direct_rdma != 0 && !SupportedBy(mmu_.profile, location, kRdma)) {
    return Fail(DriverCode::kNotSupported, call, ToString(location), " does not have ",
                ToString(kRdma));
  }
  const bool localized = properties.location != location;
  if (localized && properties.gpu_direct_rdma != 0 &&
      (properties.usage & kUsageRdmaOverPcie) == 0 &&
      !SupportedBy(mmu_.profile, location, kRdmaWithLocalizedMemory)) {
    return Fail(DriverCode::kNotSupported, call, ToString(properties.location),
                " is for GPUDirect RDMA over PCIe only: usage 4");
  }
  for (const auto& [type, capability] :
       {std::pair(HandleType::kPosixFileDescriptor,
                  DeviceAttribute::kHandleTypePosixFileDescriptorSupported),
        std::pair(HandleType::kFabric, DeviceAttribute::kHandleTypeFabricSupported)}) {
    if (Has(properties.requested_handle_types, type) &&
        !SupportedBy(mmu_.profile, location, capability)) {
      return Fail(DriverCode::kNotSupported, call, ToString(location), " does not have ",
                  ToString(capability));
    }
  }
  return absl::OkStatus();
}

// Memory can be created there, as far as the place goes.
absl::Status SimulatedVmm::CheckPlace(const char* call, const Location& place) const {
  const bool is_domain = place.type == LocationType::kLocalityDomain;
  if (is_domain && !mmu_.profile.HasLocalityDomains()) {
    return InvalidValue(call, "locality domains came with CUDA 13.4");
  }
  const Location location = place.whole();
  if (location.type == LocationType::kDevice) {
    const absl::Status known = CheckDevice(call, DeviceOrdinal(location.id));
    if (!known.ok()) return known;
    if (is_domain && place.domain() >= DomainsOf(mmu_.profile, location.id)) {
      return InvalidValue(call, "there is no ", ToString(place));
    }
  } else if (!IsHostMemory(mmu_.profile, location)) {
    return InvalidValue(call, "location ", ToString(location), " holds no memory");
  }
  return CheckSupport(call, location);
}

absl::Status SimulatedVmm::CheckProperties(const char* call,
                                           const AllocationProperties& properties) const {
  const absl::Status exists = CheckPlace(call, properties.location);
  if (!exists.ok()) return exists;
  const Location location = properties.location.whole();
  const HandleType types = properties.requested_handle_types;
  if (properties.type != AllocationType::kPinned) {
    return InvalidValue(call, "allocation type ", static_cast<uint32_t>(properties.type),
                        " is not pinned (1)");
  }
  if (properties.compression > CompressionType::kGeneric) {
    return InvalidValue(call, "there is no compression type ",
                        static_cast<int>(properties.compression));
  }
  if (properties.compression != CompressionType::kNone && location.type != LocationType::kDevice) {
    return InvalidValue(call, "memory of ", ToString(location), " cannot be compressed");
  }
  if (Has(types, kWindows)) {
    return InvalidValue(call, "handle types ", ToString(types), " exist only on Windows");
  }
  if (!mmu_.profile.quirks.create_ignores_unknown_handle_types &&
      (types & kKnownHandleTypes) != types) {
    return InvalidValue(call, "handle types ", ToString(types), " do not exist");
  }
  if (properties.gpu_direct_rdma != 0 && location.type != LocationType::kDevice) {
    return InvalidValue(call, "memory of ", ToString(location), " is not for GPUDirect RDMA");
  }
  if (!mmu_.profile.quirks.create_ignores_unknown_usage &&
      (properties.usage & ~KnownUsage(mmu_.profile)) != 0) {
    return InvalidValue(call, "usage ", properties.usage, " has bits that do not exist");
  }
  const bool plain = types == HandleType::kNone && properties.gpu_direct_rdma == 0 &&
                     properties.compression == CompressionType::kNone;
  if (IsTilePool(properties) && !plain) {
    return InvalidValue(call, "memory for a tile pool is not shared, for RDMA, or compressed");
  }
  if ((properties.usage & kUsageHardwareDecompress) != 0 &&
      properties.compression != CompressionType::kNone) {
    return InvalidValue(call, "memory that is compressed is not for hardware decompression");
  }
  if (location.type == LocationType::kHost && types != HandleType::kNone) {
    return InvalidValue(call, "memory of the host without a NUMA node cannot be shared by ",
                        ToString(types));
  }
  return absl::OkStatus();
}

// This process may make fabric handles.
absl::Status SimulatedVmm::CheckFabric(const char* call) const {
  if (!mmu_.profile.fabric_permitted) {
    return Fail(DriverCode::kNotPermitted, call,
                "fabric handles are not permitted to this process");
  }
  if (!mmu_.memory.fabric().exists()) return absl::OkStatus();
  const absl::Status access = mmu_.memory.fabric().CheckAccess();
  if (access.ok()) return access;
  const bool host = absl::IsResourceExhausted(access);
  return Fail(host ? DriverCode::kOutOfMemory : DriverCode::kNotPermitted, call, access.message());
}

// Whether `properties`, which are not valid, would be without the handle types that do not exist.
bool SimulatedVmm::HasOnlyUnknownTypesAgainstIt(const AllocationProperties& properties) const {
  AllocationProperties known = properties;
  known.requested_handle_types = properties.requested_handle_types & kKnownHandleTypes;
  return known.requested_handle_types != properties.requested_handle_types &&
         CheckProperties("cuMemCreate", known).ok();
}

// What properties that are valid become.
AllocationProperties SimulatedVmm::Granted(const AllocationProperties& properties) const {
  AllocationProperties granted = properties;
  granted.requested_handle_types = properties.requested_handle_types & kKnownHandleTypes;
  granted.gpu_direct_rdma = properties.gpu_direct_rdma != 0 ? 1 : 0;
  // Which nobody is told.
  granted.usage = properties.usage & KnownUsage(mmu_.profile) & ~kUsageHardwareDecompress;
  // A device that is all one has no memory of a part.
  const Location whole = properties.location.whole();
  if (whole != properties.location && DomainsOf(mmu_.profile, whole.id) == 1) {
    granted.location = whole;
  }
  if (granted.gpu_direct_rdma != 0) granted.compression = CompressionType::kNone;
  if (!mmu_.profile.compression_granted ||
      !SupportedBy(mmu_.profile, whole, DeviceAttribute::kGenericCompressionSupported)) {
    granted.compression = CompressionType::kNone;
  }
  if (properties.location.type == LocationType::kHost) {
    granted.location = Location::HostNuma(mmu_.profile.host_nodes.front().node);
  }
  return granted;
}

// Whether the properties, which may be impossible, have a granularity.
absl::Status SimulatedVmm::CheckGranularityOf(const AllocationProperties& properties) {
  const bool ignored = mmu_.profile.quirks.granularity_ignores_properties;
  try {
    const absl::Status valid = CheckProperties("cuMemGetAllocationGranularity", properties);
    const DriverCode code = GetDriverCode(valid);
    if (code == DriverCode::kInvalidValue || code == DriverCode::kInvalidDevice) {
      CallRecord call(state_, Call::kGetAllocationGranularity, AddressRange());
      const std::shared_lock lock(mmu_.mutex);
      call.Report(ignored ? Severity::kWarning : Severity::kError,
                  {DiagnosticKind::kGranularityOfImpossible}, valid.message());
      if (ignored) call.DoneShared();
    }
    return ignored ? absl::OkStatus() : valid;
  } catch (const std::bad_alloc&) {
    if (!ignored) throw;
    return absl::OkStatus();  // it was for a warning only
  }
}

absl::StatusOr<Bytes> SimulatedVmm::DoGetAllocationGranularity(
    const AllocationProperties& properties, Granularity option) {
  static constexpr char kCall[] = "cuMemGetAllocationGranularity";
  const absl::Status valid = CheckGranularityOf(properties);
  if (!valid.ok()) return valid;
  switch (option) {
    case Granularity::kMinimum:
      return mmu_.profile.minimum_granularity;
    case Granularity::kRecommended:
      return mmu_.profile.recommended_granularity;
  }
  return InvalidValue(kCall, "there is no granularity option ", static_cast<uint32_t>(option));
}

absl::StatusOr<AllocationHandle> SimulatedVmm::DoCreate(Bytes size,
                                                        const AllocationProperties& properties,
                                                        uint64_t flags) {
  static constexpr char kCall[] = "cuMemCreate";
  const AddressRange asked{DeviceAddress(0), size, Bytes(0)};
  CallRecord call(state_, Call::kCreate, asked);
  const Bytes granularity = mmu_.profile.minimum_granularity;
  if (size == Bytes(0) || size % granularity != Bytes(0)) {
    return InvalidValue(kCall, "size ", ToString(size),
                        " is 0 or not a multiple of the granularity ", ToString(granularity));
  }
  if (flags != 0) return InvalidValue(kCall, "flags ", flags, " are not 0");
  const absl::Status valid = CheckProperties(kCall, properties);
  if (!valid.ok()) {
    if (HasOnlyUnknownTypesAgainstIt(properties)) {
      const std::shared_lock lock(mmu_.mutex);
      call.Report(Severity::kError, {DiagnosticKind::kUnknownHandleTypes}, valid.message());
    }
    return valid;
  }
  if (!mmu_.profile.host_memory_permitted &&
      properties.location.whole().type != LocationType::kDevice) {
    return Fail(DriverCode::kNotPermitted, kCall, "memory of ", ToString(properties.location),
                " is not permitted to this process");
  }
  const AllocationProperties granted = Granted(properties);

  const std::unique_lock lock(mmu_.mutex);
  const absl::Status room = mmu_.memory.CheckRoom(size, granted.location.whole());
  if (IsTooLargeATilePool(size, granted, room.ok())) {
    return InvalidValue(kCall, "size ", ToString(size), " is too large for a tile pool");
  }
  if (!room.ok()) return Fail(DriverCode::kOutOfMemory, kCall, room.message());
  const absl::Status supported = CheckCapabilities(kCall, granted);
  if (!supported.ok()) return supported;
  if (Has(granted.requested_handle_types, HandleType::kFabric)) {
    const absl::Status permitted = CheckFabric(kCall);
    if (!permitted.ok()) return permitted;
  }
  const absl::StatusOr<AllocationHandle> handle = mmu_.memory.Create(size, granted, call.id());
  if (!handle.ok()) return Fail(DriverCode::kOutOfMemory, kCall, handle.status().message());
  const HandleType unknown = UnknownTypes(properties.requested_handle_types);
  if (unknown != HandleType::kNone) {
    call.Warn({DiagnosticKind::kUnknownHandleTypes, std::nullopt, *handle},
              words::NoSuchTypes(unknown));
  }
  call.Done(asked, handle->value());
  return handle;
}

absl::Status SimulatedVmm::DoRelease(AllocationHandle handle) {
  CallRecord call(state_, Call::kRelease, AddressRange(), handle.value());
  const std::unique_lock lock(mmu_.mutex);
  const AllocationRecord* allocation = mmu_.memory.Find(handle);
  if (allocation == nullptr || allocation->references == 0) {
    return call.Refuse(WhyNotReleased(state_, handle), words::HasNoReference(handle));
  }
  if (allocation->is_multicast()) mmu_.team_changed.notify_all();  // who waits looks again
  mmu_.memory.Release(PhysicalMemory::IndexOf(handle));
  call.Done(AddressRange(), handle.value());
  return absl::OkStatus();
}

absl::StatusOr<AllocationHandle> SimulatedVmm::DoRetainAllocationHandle(DeviceAddress address) {
  const std::unique_lock lock(mmu_.mutex);
  const MappingRecord* mapping = mmu_.MappingAt(address);
  if (mapping == nullptr || !mmu_.IsReserved(address)) {
    return InvalidValue("cuMemRetainAllocationHandle", "nothing is mapped at ", ToString(address));
  }
  const AllocationHandle handle = mmu_.memory.Retain(mapping->allocation);
  CallRecord(state_, Call::kRetainAllocationHandle, AddressRange())
      .Done(AddressRange(), handle.value());
  return handle;
}

// Null for a handle that Map and Export do not take.
const AllocationRecord* SimulatedVmm::FindUsable(AllocationHandle handle) const {
  const AllocationRecord* allocation = mmu_.memory.Find(handle);
  const bool usable =
      allocation != nullptr &&
      (allocation->references != 0 ||
       (allocation->mappings != 0 && mmu_.profile.quirks.released_handle_usable_while_mapped));
  return usable ? allocation : nullptr;
}

absl::Status SimulatedVmm::RefuseHandle(CallRecord& call, AllocationHandle handle) const {
  return call.Refuse(WhyNotUsable(state_, handle), words::NamesNoAllocation(handle));
}

void SimulatedVmm::WarnOfReleasedHandle(CallRecord& call, AllocationHandle handle) const {
  call.Warn(WhyNotUsable(state_, handle), words::HasNoReference(handle));
}

absl::StatusOr<AllocationProperties> SimulatedVmm::DoGetAllocationProperties(
    AllocationHandle handle) {
  static constexpr char kCall[] = "cuMemGetAllocationPropertiesFromHandle";
  const std::shared_lock lock(mmu_.mutex);
  const AllocationRecord* allocation = FindUsable(handle);
  if (allocation == nullptr || allocation->references == 0) {
    const Misuse misuse = WhyNotUsable(state_, handle);
    if (allocation == nullptr) {
      return RefuseCall(state_, kCall, AddressRange(), misuse, words::NamesNoAllocation(handle));
    }
    WarnOfCall(state_, kCall, AddressRange(), misuse, words::HasNoReference(handle));
  }
  if (allocation->is_multicast()) {
    return InvalidValue(kCall, "handle ", ToString(handle),
                        " is of a multicast object, not of memory");
  }
  AllocationProperties properties = allocation->properties;
  properties.usage = 0;
  return properties;
}

}  // namespace twinmmu
