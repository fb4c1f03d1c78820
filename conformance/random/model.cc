#include "conformance/random/model.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace twinmmu::conformance::random {
namespace {

constexpr DriverCode kSuccess = DriverCode::kSuccess;
constexpr DriverCode kInvalidValue = DriverCode::kInvalidValue;
constexpr DriverCode kInvalidDevice = DriverCode::kInvalidDevice;
constexpr DriverCode kNotSupported = DriverCode::kNotSupported;
constexpr DriverCode kOutOfMemory = DriverCode::kOutOfMemory;
constexpr DriverCode kNotFound = DriverCode::kNotFound;

// Sizes and alignments up to here are always to be had; whether larger ones are depends on the
// machine.
constexpr Bytes kModest = GiB(1);
// So much of a device may be refused although it is free.
constexpr Bytes kKeptBack = MiB(64);

constexpr HandleType kWindows = HandleType::kWin32 | HandleType::kWin32Kmt;
constexpr HandleType kShareable = HandleType::kPosixFileDescriptor | HandleType::kFabric;

bool Has(HandleType set, HandleType types) { return (set & types) != HandleType::kNone; }

bool Covers(Access held, Access needed) {
  return needed == Access::kRead ? held != Access::kNone : held == Access::kReadWrite;
}

// Whether base + size is beyond 2^64, or exactly that.
bool Wraps(const AddressRange& range) {
  return !range.empty() && range.base + range.size <= range.base;
}

Answer NoAccess() {
  Answer answer(kInvalidValue);
  answer.no_access = true;
  return answer;
}

Answer Number(uint64_t number) {
  Answer answer;
  answer.number = number;
  return answer;
}

}  // namespace

// --- Reservations

const AddressRange* Model::ReservationAt(DeviceAddress address) const {
  for (const auto& [base, range] : reservations_) {
    if (range.contains(address)) return &range;
  }
  return nullptr;
}

Answer Model::AddressReserve(Bytes size, const ReserveOptions& options) const {
  const Bytes alignment = options.alignment;
  if (size == Bytes(0)) return kInvalidValue;
  if (size % parameters_.reservation_granularity != Bytes(0)) return kInvalidValue;
  if (alignment != Bytes(0) && !IsPowerOfTwo(alignment)) return kInvalidValue;
  if (alignment >= Bytes(uint64_t{1} << 58)) return kInvalidValue;
  if (options.flags != 0) return kInvalidValue;
  const Bytes step =
      std::max({alignment, parameters_.granularity, parameters_.reservation_granularity});
  if (!options.hint.IsAligned(step) && Deviates(Deviation::kMisalignedHintIsRefused)) {
    return kInvalidValue;
  }
  const DeviceAddress end(uint64_t{1} << parameters_.address_bits);
  if (options.hint >= end - parameters_.reservation_granularity &&
      Deviates(Deviation::kHintBeyondTheAddressSpaceIsOutOfMemory)) {
    return kOutOfMemory;
  }
  if (size >= Bytes(end.value()) || alignment >= Bytes(end.value())) return kOutOfMemory;
  if (size > kModest || alignment > kModest) return {kSuccess, kOutOfMemory};
  return kSuccess;
}

std::string Model::Reserved(const AddressRange& range, Bytes size, const ReserveOptions& options) {
  const Bytes step =
      std::max({options.alignment, parameters_.granularity, parameters_.reservation_granularity});
  if (range.size != size) return "the reservation is not of the size asked for";
  if (range.base == DeviceAddress(0) || !range.base.IsAligned(step)) {
    return absl::StrCat("the reservation is at ", ToString(range.base), ", not aligned to ",
                        ToString(step));
  }
  if (range.end() > DeviceAddress(uint64_t{1} << parameters_.address_bits)) {
    return "the reservation is beyond the address space";
  }
  for (const auto& [base, other] : reservations_) {
    if (other.overlaps(range)) return "the reservation overlaps another one";
  }
  reservations_[range.base.value()] = range;
  return "";
}

Answer Model::AddressFree(const AddressRange& range) {
  const AddressRange* reservation = ReservationAt(range.base);
  if (reservation == nullptr || *reservation != range) return kInvalidValue;
  if (!MappingsIn(range).empty()) return kInvalidValue;
  reservations_.erase(range.base.value());
  return kSuccess;
}

// --- Physical memory

DriverCode Model::CheckProperties(const AllocationProperties& properties) const {
  const Location& location = properties.location;
  const HandleType types = properties.requested_handle_types;
  switch (location.type) {
    case LocationType::kDevice:
      if (!HasDevice(DeviceOrdinal(location.id))) return kInvalidDevice;
      break;
    case LocationType::kHost:
      if (parameters_.host_nodes.empty()) return kInvalidValue;
      break;
    case LocationType::kHostNuma:
      if (std::count(parameters_.host_nodes.begin(), parameters_.host_nodes.end(), location.id) ==
          0) {
        return kInvalidValue;
      }
      break;
    default:
      return kInvalidValue;
  }
  if (properties.type != AllocationType::kPinned) return kInvalidValue;
  if (properties.compression > CompressionType::kGeneric) return kInvalidValue;
  const bool on_device = location.type == LocationType::kDevice;
  if (properties.compression != CompressionType::kNone && !on_device) return kInvalidValue;
  if (Has(types, kWindows)) return kInvalidValue;
  const bool unknown = (types & (kShareable | kWindows)) != types;
  if (unknown && !Deviates(Deviation::kUnknownHandleTypesAreIgnored)) return kInvalidValue;
  if (location.type == LocationType::kHost && types != HandleType::kNone) return kInvalidValue;
  const bool rdma = properties.gpu_direct_rdma != 0;
  if (rdma && !on_device) return kInvalidValue;
  const bool plain =
      types == HandleType::kNone && !rdma && properties.compression == CompressionType::kNone;
  const bool unknown_usage = (properties.usage & ~(kUsageTilePool | kUsageHardwareDecompress)) != 0;
  if (unknown_usage && !Deviates(Deviation::kUnknownUsageIsIgnored)) return kInvalidValue;
  if ((properties.usage & kUsageTilePool) != 0 && !plain) return kInvalidValue;
  if ((properties.usage & kUsageHardwareDecompress) != 0 &&
      properties.compression != CompressionType::kNone) {
    return kInvalidValue;
  }
  return kSuccess;
}

Answer Model::GetAllocationGranularity(const AllocationProperties& properties,
                                       Granularity option) const {
  if (!Deviates(Deviation::kGranularityOfAnyLocation)) {
    const DriverCode valid = CheckProperties(properties);
    if (valid != kSuccess) return valid;
  }
  if (option == Granularity::kMinimum) return Number(parameters_.granularity.value());
  if (option == Granularity::kRecommended)
    return Number(parameters_.recommended_granularity.value());
  return kInvalidValue;
}

Bytes Model::FreeOn(int device) const {
  Bytes free = parameters_.devices[static_cast<size_t>(device)].free;
  for (const auto& [id, memory] : memories_) {
    if (memory.properties.location == Location::Device(DeviceOrdinal(device)))
      free = free - memory.size;
  }
  return free;
}

Answer Model::Create(Bytes size, const AllocationProperties& properties, uint64_t flags) const {
  if (size == Bytes(0) || size % parameters_.granularity != Bytes(0)) return kInvalidValue;
  if (flags != 0) return kInvalidValue;
  const DriverCode valid = CheckProperties(properties);
  if (valid != kSuccess) return valid;
  const DriverCode fits =
      Has(properties.requested_handle_types, HandleType::kFabric) ? parameters_.fabric : kSuccess;
  if (properties.location.type != LocationType::kDevice) {
    if (parameters_.host_memory != kSuccess) return parameters_.host_memory;
    return size <= kModest ? Answer(fits) : Answer(fits, kOutOfMemory);
  }
  const Bytes free = FreeOn(properties.location.id);
  const Bytes total = parameters_.devices[static_cast<size_t>(properties.location.id)].total;
  const bool lacks = size > total || (parameters_.sole_user && size > free);
  if ((properties.usage & kUsageTilePool) != 0) {
    return CreateTilePool(size, lacks, size + kKeptBack > free);
  }
  if (lacks) return kOutOfMemory;
  const bool certain = parameters_.sole_user && size + kKeptBack <= free;
  return certain ? Answer(fits) : Answer(fits, kOutOfMemory);
}

// Of a device. Between the sizes that were seen to be INVALID_VALUE and to be OUT_OF_MEMORY it is
// not known which it is, nor up to which one a pool is made: on some machines less than 2 GiB, on
// others as much as there is.
Answer Model::CreateTilePool(Bytes size, bool lacks, bool near_the_end) const {
  if (size >= Bytes(uint64_t{1} << 47)) return kOutOfMemory;
  if (size > TiB(1)) return {kInvalidValue, kOutOfMemory};
  if (lacks) return kInvalidValue;
  const bool certain = parameters_.sole_user && size <= MiB(128);
  if (certain && !near_the_end) return kSuccess;
  return {kSuccess, kInvalidValue};
}

std::string Model::Created(AllocationHandle handle, Bytes size,
                           const AllocationProperties& properties) {
  AllocationProperties granted = properties;
  granted.requested_handle_types = properties.requested_handle_types & kShareable;
  granted.gpu_direct_rdma = properties.gpu_direct_rdma != 0 ? 1 : 0;
  granted.usage = 0;
  if (granted.gpu_direct_rdma != 0 || !parameters_.grants_compression) {
    granted.compression = CompressionType::kNone;
  }
  if (granted.location.type == LocationType::kHost) {
    granted.location = Location::HostNuma(parameters_.host_nodes.front());
  }
  if (handle == AllocationHandle() || allocations_.count(handle.value()) != 0) {
    return "the handle is 0, or names another allocation";
  }
  const bool tile_pool = (properties.usage & kUsageTilePool) != 0;
  memories_[++memories_made_] = Memory{granted, size, tile_pool, {}};
  AddReference(handle, memories_made_, granted);
  return "";
}

void Model::AddReference(AllocationHandle handle, uint64_t memory,
                         const AllocationProperties& granted) {
  Allocation& allocation = allocations_[handle.value()];
  allocation.memory = memory;
  allocation.properties = granted;
  ++allocation.references;
}

// Memory is kept by references, mappings and open descriptors.
void Model::DropUnused() {
  std::set<uint64_t> used;
  for (auto it = allocations_.begin(); it != allocations_.end();) {
    const bool alive = it->second.references != 0 || it->second.mappings != 0;
    if (alive) used.insert(it->second.memory);
    it = alive ? std::next(it) : allocations_.erase(it);
  }
  for (const auto& [descriptor, memory] : descriptors_) used.insert(memory);
  for (auto it = memories_.begin(); it != memories_.end();) {
    it = used.count(it->first) != 0 ? std::next(it) : memories_.erase(it);
  }
}

Answer Model::Release(AllocationHandle handle) {
  const auto found = allocations_.find(handle.value());
  if (found == allocations_.end() || found->second.references == 0) return kInvalidValue;
  if (--found->second.references == 0) DropUnused();
  return kSuccess;
}

Answer Model::RetainAllocationHandle(DeviceAddress address) {
  const Granule* granule = GranuleAt(address);
  if (granule == nullptr || ReservationAt(address) == nullptr) return kInvalidValue;
  ++allocations_.at(granule->handle).references;
  return Number(granule->handle);
}

const Model::Allocation* Model::Usable(AllocationHandle handle) const {
  const auto found = allocations_.find(handle.value());
  if (found == allocations_.end()) return nullptr;
  const bool usable =
      found->second.references != 0 || Deviates(Deviation::kReleasedHandleWorksWhileMapped);
  return usable ? &found->second : nullptr;
}

Answer Model::GetAllocationProperties(AllocationHandle handle) const {
  const Allocation* allocation = Usable(handle);
  if (allocation == nullptr) return kInvalidValue;
  Answer answer;
  answer.properties = allocation->properties;
  return answer;
}

DriverCode Model::CheckContext(DeviceOrdinal device) const {
  if (!HasDevice(device)) return kInvalidDevice;
  return faulted_ ? DriverCode::kIllegalAddress : kSuccess;
}

Answer Model::GetMemoryInfo(DeviceOrdinal device) const {
  const DriverCode usable = CheckContext(device);
  if (usable != kSuccess) return usable;
  Answer answer;
  answer.memory.free = FreeOn(device.value());
  answer.memory.total = parameters_.devices[static_cast<size_t>(device.value())].total;
  return answer;
}

Answer Model::CanAccessPeer(DeviceOrdinal device, DeviceOrdinal peer) const {
  if (!HasDevice(device) || !HasDevice(peer)) return kInvalidDevice;
  if (device == peer) return Number(0);
  return Number(
      parameters_.peers[static_cast<size_t>(device.value())][static_cast<size_t>(peer.value())]);
}

// --- Mappings

const Model::Granule* Model::GranuleAt(DeviceAddress address) const {
  const auto found = granules_.find(Floor(address));
  return found == granules_.end() ? nullptr : &found->second;
}

const Model::Memory& Model::MemoryOf(const Granule& granule) const {
  return memories_.at(allocations_.at(granule.handle).memory);
}

std::vector<AddressRange> Model::MappingsIn(const AddressRange& range) const {
  std::vector<AddressRange> mappings;
  for (const auto& [address, granule] : granules_) {
    const bool begins = address == granule.mapping.base.value();
    if (begins && granule.mapping.overlaps(range)) mappings.push_back(granule.mapping);
  }
  return mappings;
}

Answer Model::Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                  uint64_t flags) {
  if (range.base == DeviceAddress(0)) return kInvalidValue;
  if (range.size == Bytes(0)) return kInvalidValue;
  if (flags != 0) return kInvalidValue;
  const Allocation* allocation = Usable(handle);
  if (allocation == nullptr) return kInvalidValue;
  if (memories_.at(allocation->memory).tile_pool) return kInvalidValue;
  const Bytes whole = memories_.at(allocation->memory).size;
  if (offset != Bytes(0) || range.size > whole) return kNotSupported;
  if (range.size != whole && Deviates(Deviation::kMapTakesOnlyWholeAllocations)) {
    return kNotSupported;
  }
  if (!range.base.IsAligned(parameters_.granularity)) return kInvalidValue;
  if (range.size % parameters_.granularity != Bytes(0)) return kInvalidValue;
  const AddressRange* reservation = ReservationAt(range.base);
  if (reservation == nullptr) return kInvalidValue;
  if (!MappingsIn(range).empty()) return kInvalidValue;
  if (!reservation->contains(range) && !Deviates(Deviation::kMapReachesBeyondTheReservation)) {
    return kInvalidValue;
  }
  Allocation& mapped = allocations_.at(handle.value());
  if (mapped.first == DeviceAddress(0) && mapped.holder != DeviceAddress(0)) {
    return DriverCode::kUnknown;
  }
  if (HangsOnItsFirstMapping(mapped) && mapped.first == DeviceAddress(0)) mapped.first = range.base;
  ++mapped.mappings;
  for (uint64_t i = 0; i < range.size / parameters_.granularity; ++i) {
    const std::vector<Access> nobody(parameters_.devices.size() + 1, Access::kNone);
    granules_[(range.base + i * parameters_.granularity).value()] =
        Granule{range, handle.value(), i, nobody, false};
  }
  return kSuccess;
}

// Whether `address` is inside a mapping, and not where it begins.
bool Model::Cuts(DeviceAddress address) const {
  const Granule* granule = GranuleAt(address);
  return granule != nullptr && granule->mapping.base != address;
}

Answer Model::Unmap(const AddressRange& range) {
  if (range.size == Bytes(0)) return kInvalidValue;
  if (range.base == DeviceAddress(~uint64_t{0}) &&
      Deviates(Deviation::kUnmapOfTheLastAddressTakesAllBelow)) {
    const AddressRange below{DeviceAddress(0), range.size - Bytes(1), Bytes(0)};
    if (Cuts(below.end())) return kInvalidValue;
    for (const AddressRange& mapping : MappingsIn(below)) Forget(mapping);
    DropUnused();
    return kSuccess;
  }
  const AddressRange* reservation = ReservationAt(range.base);
  if (reservation == nullptr) return kInvalidValue;
  if (Wraps(range)) {
    const bool cuts = Cuts(range.base) || Cuts(range.base + range.size);
    return Deviates(Deviation::kUnmapOfAWrappedRangeSucceeds) && !cuts ? kSuccess : kInvalidValue;
  }
  if (!reservation->contains(range) && !Deviates(Deviation::kUnmapReachesBeyondTheReservation)) {
    return kInvalidValue;
  }
  const std::vector<AddressRange> mappings = MappingsIn(range);
  Bytes covered;
  for (const AddressRange& mapping : mappings) {
    if (!range.contains(mapping)) return kInvalidValue;
    covered = covered + mapping.size;
  }
  if (covered != range.size && !Deviates(Deviation::kUnmapIgnoresHoles)) return kInvalidValue;
  for (const AddressRange& mapping : mappings) Forget(mapping);
  DropUnused();
  return kSuccess;
}

void Model::Forget(const AddressRange& mapping) {
  Allocation& allocation = allocations_.at(granules_.at(mapping.base.value()).handle);
  --allocation.mappings;
  if (allocation.first == mapping.base) allocation.first = DeviceAddress(0);
  if (allocation.holder == mapping.base) allocation.holder = DeviceAddress(0);
  for (Bytes at; at < mapping.size; at = at + parameters_.granularity) {
    granules_.erase((mapping.base + at).value());
  }
}

// --- Access

// The place of a location among the access of a granule. All of the host has one access.
std::optional<size_t> Model::IndexOf(const Location& location) const {
  switch (location.type) {
    case LocationType::kDevice:
      if (!HasDevice(DeviceOrdinal(location.id))) return std::nullopt;
      return static_cast<size_t>(location.id);
    case LocationType::kHost:
    case LocationType::kHostNuma:
      return parameters_.devices.size();
    default:
      return std::nullopt;
  }
}

// Whether the location of the grant can reach the memory of a granule.
DriverCode Model::CheckReach(const Granule& granule, const AccessGrant& grant) const {
  const Memory& memory = MemoryOf(granule);
  if (grant.access == Access::kNone || !memory.on_device()) return kSuccess;
  if (grant.location.type != LocationType::kDevice) return kNotSupported;
  const Location& owner = memory.properties.location;
  const auto from = static_cast<size_t>(grant.location.id);
  const bool reaches =
      grant.location == owner || parameters_.peers[from][static_cast<size_t>(owner.id)];
  return reaches ? kSuccess : kInvalidDevice;
}

void Model::SetAccessOf(const AddressRange& mapping, const AccessGrant& grant) {
  const size_t number = *IndexOf(grant.location);
  for (Bytes at; at < mapping.size; at = at + parameters_.granularity) {
    Granule& granule = granules_.at((mapping.base + at).value());
    const bool one_of_two = number == 0 || number == parameters_.devices.size();
    if (one_of_two && granule.access[number] != grant.access) granule.device_last = number == 0;
    granule.access[number] = grant.access;
  }
}

bool Model::HangsOnItsFirstMapping(const Allocation& allocation) const {
  return allocation.properties.gpu_direct_rdma != 0 &&
         Deviates(Deviation::kRdmaMemoryHangsOnItsFirstMapping);
}

// What memory for GPUDirect RDMA, whose first mapping is gone, says to a grant of another one.
DriverCode Model::CheckRdma(const AddressRange& mapping, const AccessGrant& grant) {
  const Granule& granule = granules_.at(mapping.base.value());
  Allocation& allocation = allocations_.at(granule.handle);
  if (!HangsOnItsFirstMapping(allocation)) return kSuccess;
  const bool of_owner = grant.location == allocation.properties.location;
  if (grant.access == Access::kNone) {
    if (of_owner && allocation.holder == mapping.base) allocation.holder = DeviceAddress(0);
    return kSuccess;
  }
  const bool changes = granule.access[*IndexOf(grant.location)] != grant.access;
  if (!changes || allocation.first != DeviceAddress(0)) return kSuccess;
  if (of_owner && allocation.holder == DeviceAddress(0)) allocation.holder = mapping.base;
  if (of_owner && allocation.holder == mapping.base) return kSuccess;
  SetAccessOf(mapping, {grant.location, Access::kNone});  // what there was is lost
  return of_owner ? DriverCode::kUnknown : kInvalidValue;
}

Answer Model::SetAccess(const AddressRange& range, absl::Span<const AccessGrant> grants) {
  if (grants.empty()) return kInvalidValue;
  for (const AccessGrant& grant : grants) {
    const bool known = grant.access == Access::kNone || grant.access == Access::kRead ||
                       grant.access == Access::kReadWrite;
    if (!known || !IndexOf(grant.location).has_value()) return kInvalidValue;
  }
  if (range.size == Bytes(0) || Wraps(range)) return kInvalidValue;
  const Granule* first = GranuleAt(range.base);
  if (first == nullptr || first->mapping.base != range.base) return kInvalidValue;
  const Granule* last = GranuleAt(range.end() - Bytes(1));
  if (last == nullptr || last->mapping.end() != range.end()) return kInvalidValue;
  AddressRange granted = range.subrange(Bytes(0), Bytes(0));  // up to the first hole
  while (granted.end() < range.end() && GranuleAt(granted.end()) != nullptr) {
    granted.size = granted.size + parameters_.granularity;
  }
  if (granted != range && !Deviates(Deviation::kSetAccessStopsAtAHole)) return kInvalidValue;

  // Mapping by mapping, and at each of them grant by grant, until one is refused.
  DriverCode refused = kSuccess;
  const auto before = std::pair(granules_, allocations_);
  for (const AddressRange& mapping : MappingsIn(granted)) {
    for (const AccessGrant& grant : grants) {
      refused = CheckReach(granules_.at(mapping.base.value()), grant);
      if (refused == kSuccess) refused = CheckRdma(mapping, grant);
      if (refused != kSuccess) break;
      SetAccessOf(mapping, grant);
    }
    if (refused != kSuccess) break;
  }
  const bool keeps = Deviates(Deviation::kSetAccessAppliesWhatPrecedesAnUnsupportedGrant);
  if (refused != kSuccess && !keeps) std::tie(granules_, allocations_) = before;
  return refused;
}

Answer Model::GetAccess(const Location& location, DeviceAddress address) const {
  if (address == DeviceAddress(0)) return kInvalidValue;
  const std::optional<size_t> index = IndexOf(location);
  if (!index.has_value()) return kInvalidDevice;
  const Granule* granule = GranuleAt(address);
  if (granule == nullptr) return kInvalidValue;
  Access access = granule->access[*index];
  if (location.type == LocationType::kHost && device_count() != 0 &&
      Deviates(Deviation::kHostIsAnsweredWithTheRightOfDevice0)) {
    const Access of_device = granule->access[0];
    const bool instead = access == Access::kNone || granule->device_last;
    if (of_device != Access::kNone && instead) access = of_device;
  }
  return Number(static_cast<uint64_t>(access));
}

// --- Sharing

Answer Model::Export(AllocationHandle handle, HandleType type, uint64_t flags) const {
  if (flags != 0) return kInvalidValue;
  const Allocation* allocation = Usable(handle);
  if (allocation == nullptr) return kInvalidValue;
  if (type != HandleType::kPosixFileDescriptor && type != HandleType::kFabric) return kInvalidValue;
  if (!Has(allocation->properties.requested_handle_types, type)) return kInvalidValue;
  return kSuccess;
}

std::string Model::Exported(const ShareableHandle& shareable, AllocationHandle handle) {
  const uint64_t memory = allocations_.at(handle.value()).memory;
  if (shareable.type == HandleType::kFabric) {
    fabric_[shareable.fabric] = memory;
    return "";
  }
  const bool is_new = descriptors_.emplace(shareable.file_descriptor, memory).second;
  return is_new ? "" : "the descriptor is not a new one";
}

void Model::Closed(int file_descriptor) {
  descriptors_.erase(file_descriptor);
  DropUnused();
}

Answer Model::Import(const ShareableHandle& shareable) const {
  const bool fabric = shareable.type == HandleType::kFabric;
  if (!fabric && shareable.file_descriptor == 0) return kInvalidValue;
  switch (shareable.type) {
    case HandleType::kPosixFileDescriptor:
      if (descriptors_.count(shareable.file_descriptor) != 0) return kSuccess;
      return Deviates(Deviation::kImportOfAForeignDescriptorIsUnknown) ? DriverCode::kUnknown
                                                                       : kInvalidValue;
    case HandleType::kFabric: {
      const auto found = fabric_.find(shareable.fabric);
      const bool alive = found != fabric_.end() && memories_.count(found->second) != 0;
      return alive ? kSuccess : kNotSupported;
    }
    case HandleType::kWin32:
    case HandleType::kWin32Kmt:
      return kNotSupported;
    default:
      return kInvalidValue;
  }
}

std::string Model::Imported(AllocationHandle handle, const ShareableHandle& shareable) {
  const uint64_t memory = shareable.type == HandleType::kFabric
                              ? fabric_.at(shareable.fabric)
                              : descriptors_.at(shareable.file_descriptor);
  if (handle == AllocationHandle() || allocations_.count(handle.value()) != 0) {
    return "the handle is 0, or not one of its own";
  }
  AllocationProperties granted = memories_.at(memory).properties;
  granted.requested_handle_types = HandleType::kNone;  // it cannot be exported again
  granted.gpu_direct_rdma = 0;
  AddReference(handle, memory, granted);
  return "";
}

// --- What is at an address

Answer Model::AttributeOfReserved(PointerAttribute attribute,
                                  const AddressRange* reservation) const {
  if (reservation == nullptr || Deviates(Deviation::kNoAttributesWhereNothingIsMapped)) {
    return kInvalidValue;
  }
  if (attribute == PointerAttribute::kMapped) return Number(0);
  if (attribute == PointerAttribute::kRangeStartAddress) return Number(reservation->base.value());
  if (attribute == PointerAttribute::kRangeSize) return Number(reservation->size.value());
  return kInvalidValue;
}

Answer Model::GetPointerAttribute(DeviceOrdinal device, PointerAttribute attribute,
                                  DeviceAddress address) const {
  if (!HasDevice(device)) return kInvalidDevice;
  const Granule* granule = GranuleAt(address);
  if (granule == nullptr) return AttributeOfReserved(attribute, ReservationAt(address));
  const Access held = granule->access[static_cast<size_t>(device.value())];
  const AllocationProperties& properties = allocations_.at(granule->handle).properties;
  const bool on_device = properties.location.type == LocationType::kDevice;
  const AddressRange* reservation = ReservationAt(address);
  switch (attribute) {
    case PointerAttribute::kMemoryType:
      return Number(on_device ? 2 : 1);
    case PointerAttribute::kDevicePointer:
      return held != Access::kNone ? Number(address.value()) : Answer(kInvalidValue);
    case PointerAttribute::kDeviceOrdinal:
      return Number(on_device ? static_cast<uint64_t>(properties.location.id) : 0);
    case PointerAttribute::kRangeStartAddress:
      return Number(reservation != nullptr ? reservation->base.value() : 0);
    case PointerAttribute::kRangeSize:
      return Number(reservation != nullptr ? reservation->size.value() : 0);
    case PointerAttribute::kMapped:
      return Number(1);
    case PointerAttribute::kAllowedHandleTypes:
      return Number(static_cast<uint64_t>(properties.requested_handle_types));
    case PointerAttribute::kIsGpuDirectRdmaCapable:
      return Number(properties.gpu_direct_rdma);
    case PointerAttribute::kAccessFlags:
      return Number(static_cast<uint64_t>(held));
    case PointerAttribute::kMappingSize:
      return Number(granule->mapping.size.value());
    case PointerAttribute::kMappingBaseAddress:
      return Number(granule->mapping.base.value());
    case PointerAttribute::kContext:
    case PointerAttribute::kSyncMemops:
    case PointerAttribute::kIsManaged:
    case PointerAttribute::kIsLegacyCudaIpcCapable:
    case PointerAttribute::kMempoolHandle:
      return Number(0);
    case PointerAttribute::kHostPointer: {
      const bool seen = granule->access.back() != Access::kNone && parameters_.cpu_sees_host_memory;
      return seen ? Number(address.value()) : Answer(kInvalidValue);
    }
    case PointerAttribute::kBufferId:
    case PointerAttribute::kMemoryBlockId: {
      Answer answer;
      answer.any_number = true;  // that the driver chooses
      return answer;
    }
  }
  return kInvalidValue;
}

Answer Model::GetAddressRange(DeviceOrdinal device, DeviceAddress address) const {
  const DriverCode usable = CheckContext(device);
  if (usable != kSuccess) return usable;
  const Granule* granule = GranuleAt(address);
  if (granule == nullptr) return kNotFound;
  if (granule->access[static_cast<size_t>(device.value())] == Access::kNone) return kNotFound;
  Answer answer;
  answer.range = granule->mapping;
  if (!MemoryOf(*granule).on_device() &&
      Deviates(Deviation::kAddressRangeOfHostMemoryBeginsAtZero)) {
    answer.range.base = DeviceAddress(0);
  }
  return answer;
}

// --- Copies and fills

// Whether `can` holds of every granule of `range`; where nothing is mapped it does not.
template <typename Can>
bool Model::EveryGranule(const AddressRange& range, const Can& can) const {
  if (Wraps(range)) return false;
  for (uint64_t at = Floor(range.base); at < range.end().value();
       at += parameters_.granularity.value()) {
    const Granule* granule = GranuleAt(DeviceAddress(at));
    if (granule == nullptr || !can(*granule)) return false;
  }
  return true;
}

bool Model::CanAccess(DeviceOrdinal device, const AddressRange& range, Access access) const {
  return EveryGranule(range, [&](const Granule& granule) {
    return Covers(granule.access[static_cast<size_t>(device.value())], access);
  });
}

// A copy that begins in memory of the host to which the device has no access is done by the CPU.
bool Model::IsCopiedByCpu(DeviceOrdinal device, DeviceAddress first) const {
  const Granule* granule = GranuleAt(first);
  return granule != nullptr && !MemoryOf(*granule).on_device() &&
         granule->access[static_cast<size_t>(device.value())] == Access::kNone;
}

bool Model::CpuCanAccess(const AddressRange& range, Access access) const {
  return EveryGranule(
      range, [&](const Granule& granule) { return Covers(granule.access.back(), access); });
}

bool Model::CanCopy(DeviceOrdinal device, const AddressRange& range, Access access) const {
  return IsCopiedByCpu(device, range.base) ? CpuCanAccess(range, access)
                                           : CanAccess(device, range, access);
}

bool Model::CpuSeesSome(const AddressRange& range) const {
  const std::vector<AddressRange> mappings = MappingsIn(range);
  return std::any_of(mappings.begin(), mappings.end(), [this](const AddressRange& mapping) {
    return granules_.at(mapping.base.value()).access.back() != Access::kNone;
  });
}

// Where the CPU sees memory it also copies for a device that has access, but nobody looks whether
// it may.
bool Model::MayEndTheProcess(DeviceOrdinal device, const AddressRange& range, Access access,
                             bool with_host) const {
  if (!HasDevice(device) || range.empty() || Wraps(range)) return false;
  if (IsCopiedByCpu(device, range.base)) return !CpuCanAccess(range, access);
  if (!CanAccess(device, range, access)) return false;  // it is refused
  return with_host && CpuSeesSome(range) && !CpuCanAccess(range, access);
}

// Null where nothing is mapped, or the byte is not watched.
Byte* Model::Watched(DeviceAddress address) {
  const Granule* granule = GranuleAt(address);
  if (granule == nullptr) return nullptr;
  const uint64_t inside = address.value() - Floor(address);
  const uint64_t tail = parameters_.granularity.value() - kWatched;
  if (inside >= kWatched && inside < tail) return nullptr;
  Memory& memory = memories_.at(allocations_.at(granule->handle).memory);
  Content& content = memory.content[granule->number];
  return &content[inside < kWatched ? inside : inside - tail + kWatched];
}

Byte Model::Read(DeviceAddress address) const {
  const Byte* byte = const_cast<Model*>(this)->Watched(address);
  return byte != nullptr ? *byte : std::nullopt;
}

// Gives each watched byte of `range` the value for its offset.
template <typename Value>
void Model::Write(const AddressRange& range, const Value& value) {
  const uint64_t granularity = parameters_.granularity.value();
  for (uint64_t at = Floor(range.base); at < range.end().value(); at += granularity) {
    for (uint64_t i = 0; i < 2 * kWatched; ++i) {
      const uint64_t inside = i < kWatched ? i : granularity - 2 * kWatched + i;
      const DeviceAddress address(at + inside);
      if (range.contains(address)) *Watched(address) = value((address - range.base).value());
    }
  }
}

Answer Model::CopyHostToDevice(DeviceOrdinal device, DeviceAddress destination, uint8_t first,
                               Bytes size) {
  const DriverCode usable = CheckContext(device);
  if (usable != kSuccess) return usable;
  if (size == Bytes(0)) return kSuccess;
  const AddressRange range{destination, size, Bytes(0)};
  if (!CanCopy(device, range, Access::kReadWrite)) return NoAccess();
  Write(range, [&](uint64_t offset) { return static_cast<uint8_t>(first + offset); });
  return kSuccess;
}

Answer Model::CopyDeviceToHost(DeviceOrdinal device, DeviceAddress source, Bytes size) const {
  const DriverCode usable = CheckContext(device);
  if (usable != kSuccess) return usable;
  if (size == Bytes(0)) return kSuccess;
  const AddressRange range{source, size, Bytes(0)};
  if (!CanCopy(device, range, Access::kRead)) return NoAccess();
  Answer answer;
  for (Bytes at; at < size; at = at + Bytes(1)) answer.bytes.push_back(Read(source + at));
  return answer;
}

// The bytes of memory that a range reaches, in order of addresses: of each granule those from
// `first` up to `end`.
std::vector<Model::Piece> Model::PiecesOf(const AddressRange& range) const {
  std::vector<Piece> pieces;
  const uint64_t granularity = parameters_.granularity.value();
  for (uint64_t at = Floor(range.base); at < range.end().value(); at += granularity) {
    const auto found = granules_.find(at);
    if (found == granules_.end()) continue;
    const Granule& granule = found->second;
    const uint64_t begin = granule.number * granularity;
    const uint64_t first = std::max(at, range.base.value()) - at;
    const uint64_t end = std::min(at + granularity, range.end().value()) - at;
    pieces.push_back({allocations_.at(granule.handle).memory, begin + first, begin + end});
  }
  return pieces;
}

// Whether some byte of memory is in both ranges, or twice in the destination: nobody says what such
// bytes are after a copy.
bool Model::Overlap(const AddressRange& destination, const AddressRange& source) const {
  std::vector<Piece> pieces = PiecesOf(destination);
  const size_t written = pieces.size();
  for (const Piece& piece : PiecesOf(source)) pieces.push_back(piece);
  for (size_t i = 0; i < written; ++i) {
    for (size_t k = i + 1; k < pieces.size(); ++k) {
      const Piece& a = pieces[i];
      const Piece& b = pieces[k];
      if (a.memory == b.memory && a.first < b.end && b.first < a.end) return true;
    }
  }
  return false;
}

Answer Model::CopyDeviceToDevice(DeviceOrdinal device, DeviceAddress destination,
                                 DeviceAddress source, Bytes size) {
  const DriverCode usable = CheckContext(device);
  if (usable != kSuccess) return usable;
  if (size == Bytes(0)) return kSuccess;
  const AddressRange to{destination, size, Bytes(0)};
  const AddressRange from{source, size, Bytes(0)};
  if (!CanCopy(device, to, Access::kReadWrite)) return NoAccess();
  if (!CanCopy(device, from, Access::kRead)) return NoAccess();
  const bool unclear = Overlap(to, from);
  Write(to, [&](uint64_t offset) { return unclear ? Byte() : Read(source + Bytes(offset)); });
  return kSuccess;
}

// The part of `range`, which is mapped, behind its first mapping.
AddressRange Model::BehindTheFirstMapping(const AddressRange& range) const {
  const DeviceAddress border = std::min(MappingAt(range.base).end(), range.end());
  return {border, range.end() - border, Bytes(0)};
}

Answer Model::Fill(DeviceOrdinal device, DeviceAddress destination, const FillPattern& pattern,
                   uint64_t count) {
  const DriverCode usable = CheckContext(device);
  if (usable != kSuccess) return usable;
  const Bytes width = pattern.width;
  if (width != Bytes(1) && width != Bytes(2) && width != Bytes(4)) return kInvalidValue;
  if (count == 0) return kSuccess;
  const Bytes size = width * count;
  const bool wraps = size / width != count;
  if (wraps && !Deviates(Deviation::kFillSizeWraps)) return kInvalidValue;
  if (!destination.IsAligned(width)) return kInvalidValue;
  // Where the size wraps to nothing, there must still be room for an element.
  const AddressRange range{destination, size, Bytes(0)};
  const AddressRange needed{destination, std::max(size, width), Bytes(0)};
  if (!CanAccess(device, needed, Access::kReadWrite)) return NoAccess();
  const AddressRange behind = BehindTheFirstMapping(range);
  if (device == DeviceOrdinal(0) && CpuSeesSome(behind) &&
      Deviates(Deviation::kFillRefusesWhatTheHostSeesBehindABorder)) {
    return kInvalidValue;
  }
  Write(range, [&](uint64_t offset) {
    return static_cast<uint8_t>(pattern.value >> 8 * (offset % width.value()));
  });
  return kSuccess;
}

Answer Model::UseInventedStream(DeviceOrdinal device) const {
  const DriverCode usable = CheckContext(device);
  return usable == kSuccess ? DriverCode::kInvalidHandle : usable;
}

void Model::Learn(DeviceAddress address, const std::vector<uint8_t>& read) {
  for (size_t i = 0; i < read.size(); ++i) {
    Byte* byte = Watched(address + Bytes(i));
    if (byte != nullptr) *byte = read[i];
  }
}

// --- What is there

bool Model::IsDefined(AllocationHandle handle) const {
  return handle == AllocationHandle() || ReferencesOf(handle) != 0;
}

Bytes Model::SizeOf(AllocationHandle handle) const {
  const auto found = allocations_.find(handle.value());
  return found == allocations_.end() ? Bytes(0) : memories_.at(found->second.memory).size;
}

int Model::ReferencesOf(AllocationHandle handle) const {
  const auto found = allocations_.find(handle.value());
  return found == allocations_.end() ? 0 : found->second.references;
}

AddressRange Model::MappingAt(DeviceAddress address) const {
  const Granule* granule = GranuleAt(address);
  return granule == nullptr ? AddressRange() : granule->mapping;
}

}  // namespace twinmmu::conformance::random
