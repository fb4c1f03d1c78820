// What is at an address.

#include <optional>
#include <shared_mutex>

#include "sim/base/errors.h"
#include "sim/calls/vmm/simulated_vmm.h"
#include "sim/diagnostics/call_record.h"

namespace twinmmu {
namespace {

constexpr uint64_t kHostMemory = 1;    // CU_MEMORYTYPE_HOST
constexpr uint64_t kDeviceMemory = 2;  // CU_MEMORYTYPE_DEVICE

// Numbers that have no name in api/attributes.h.
constexpr auto kP2pTokens = static_cast<PointerAttribute>(5);
constexpr auto kHardwareDecompressCapable = static_cast<PointerAttribute>(21);
constexpr auto kLocalityDomainOrdinal = static_cast<PointerAttribute>(22);  // since CUDA 13.4
constexpr uint64_t kNoDomain = ~uint64_t{0};                                // -1

// `reachable`: for the device that asks.
absl::StatusOr<uint64_t> AttributeOfLinear(const LinearAllocation& linear,
                                           PointerAttribute attribute, DeviceAddress address,
                                           bool reachable) {
  const bool on_device = linear.on_device();
  const bool managed = linear.managed();  // of a device, and seen by the CPU
  if (attribute == kP2pTokens && managed) return 0;
  const bool shareable = linear.kind == LinearKind::kDevice;
  if (attribute == kHardwareDecompressCapable) return shareable ? 1 : 0;
  if (attribute == kP2pTokens && on_device) return 0;
  switch (attribute) {
    case PointerAttribute::kContext:
      return linear.owner;
    case PointerAttribute::kMemoryType:
      return on_device || managed ? kDeviceMemory : kHostMemory;
    case PointerAttribute::kDevicePointer:
      if (reachable) return address.value();
      break;
    case PointerAttribute::kHostPointer:
      if (!on_device) return address.value();
      break;
    case PointerAttribute::kSyncMemops:
      return linear.sync_memops ? 1 : 0;
    case PointerAttribute::kBufferId:
      return linear.buffer_id;
    case PointerAttribute::kDeviceOrdinal:
      return linear.device.value();
    case PointerAttribute::kRangeStartAddress:
      return linear.range.base.value();
    case PointerAttribute::kRangeSize:
      return linear.range.size.value();
    case PointerAttribute::kIsLegacyCudaIpcCapable:
    case PointerAttribute::kIsGpuDirectRdmaCapable:
      return shareable ? 1 : 0;
    case PointerAttribute::kMapped:
      return 1;
    case PointerAttribute::kAccessFlags:
      return static_cast<uint64_t>(Access::kReadWrite);
    case PointerAttribute::kMappingSize:
      return linear.block.size.value();
    case PointerAttribute::kMappingBaseAddress:
      return linear.block.base.value();
    case PointerAttribute::kMemoryBlockId:
      return linear.block_id;
    case PointerAttribute::kIsManaged:
      return managed ? 1 : 0;
    case PointerAttribute::kAllowedHandleTypes:
    case PointerAttribute::kMempoolHandle:
      return 0;
  }
  return InvalidValue("cuPointerGetAttribute", ToString(address), " has no ", ToString(attribute));
}

constexpr uint64_t kPoolChunk = uint64_t{32} << 20;  // that a pool maps at a time

// `memory`: what the pool of the piece has there.
absl::StatusOr<uint64_t> AttributeOfPiece(const PooledPiece& piece, const LinearAllocation& memory,
                                          PointerAttribute attribute, DeviceAddress address,
                                          bool reachable) {
  if (attribute == kHardwareDecompressCapable) return 0;
  switch (attribute) {
    case PointerAttribute::kContext:
    case PointerAttribute::kIsLegacyCudaIpcCapable:
    case PointerAttribute::kIsGpuDirectRdmaCapable:
      return 0;
    case PointerAttribute::kBufferId:
      return piece.buffer_id;
    case PointerAttribute::kRangeStartAddress:
      return piece.range.base.value();
    case PointerAttribute::kRangeSize:
      return piece.range.size.value();
    case PointerAttribute::kAllowedHandleTypes:
      return static_cast<uint64_t>(piece.handle_types);
    case PointerAttribute::kMempoolHandle:
      return piece.pool;
    case PointerAttribute::kAccessFlags:
      return static_cast<uint64_t>(reachable ? Access::kReadWrite : Access::kNone);
    case PointerAttribute::kMappingSize:
      return kPoolChunk;
    case PointerAttribute::kMappingBaseAddress:
      return address.value() / kPoolChunk * kPoolChunk;
    default:
      return AttributeOfLinear(memory, attribute, address, reachable);
  }
}

}  // namespace

// Of an address where nothing is mapped.
absl::StatusOr<uint64_t> SimulatedVmm::AttributeOfReserved(PointerAttribute attribute,
                                                           DeviceAddress address) const {
  const std::optional<uint32_t> reserved = mmu_.space.Find(address);
  if (reserved.has_value() && !mmu_.profile.quirks.no_attributes_where_unmapped) {
    const AddressRange& reservation = mmu_.space[*reserved];
    if (attribute == PointerAttribute::kMapped) return 0;
    if (attribute == PointerAttribute::kRangeStartAddress) return reservation.base.value();
    if (attribute == PointerAttribute::kRangeSize) return reservation.size.value();
  }
  return InvalidValue("cuPointerGetAttribute", "nothing is mapped at ", ToString(address));
}

// With mmu_.mutex held: the locality domain of the memory there, if it is in one.
absl::StatusOr<uint64_t> SimulatedVmm::DomainAt(DeviceAddress address) const {
  if (!mmu_.profile.HasLocalityDomains()) {
    return InvalidValue("cuPointerGetAttribute", "locality domains came with CUDA 13.4");
  }
  const MappingRecord* const mapping = mmu_.MappingAt(address);
  if (mapping == nullptr) {
    if (mmu_.linear.Find(address) != nullptr) return kNoDomain;
    return AttributeOfReserved(kLocalityDomainOrdinal, address);
  }
  const Location& place = mmu_.AllocationOf(*mapping).properties.location;
  return place == place.whole() ? kNoDomain : static_cast<uint64_t>(place.domain());
}

absl::StatusOr<uint64_t> SimulatedVmm::DoGetPointerAttribute(DeviceOrdinal device,
                                                             PointerAttribute attribute,
                                                             DeviceAddress address) {
  const absl::Status known = CheckDevice("cuPointerGetAttribute", device);
  if (!known.ok()) return known;
  const SharedPagesLock lock(mmu_, AddressRange{address, Bytes(1), Bytes(0)});
  return AttributeAt(device, attribute, address);
}

// With that lock.
absl::StatusOr<uint64_t> SimulatedVmm::AttributeAt(DeviceOrdinal device, PointerAttribute attribute,
                                                   DeviceAddress address) const {
  if (attribute == kLocalityDomainOrdinal) return DomainAt(address);
  const MappingRecord* mapping = mmu_.MappingAt(address);
  if (mapping == nullptr) {
    const LinearAllocation* const linear = mmu_.linear.Find(address);
    if (linear == nullptr) return AttributeOfReserved(attribute, address);
    if (linear->of_pool()) {
      const PooledPiece* const piece = mmu_.pooled.Find(address);
      if (piece == nullptr || piece->freed_by != 0) return AttributeOfReserved(attribute, address);
      return AttributeOfPiece(*piece, *linear, attribute, address,
                              mmu_.linear.CanReach(device, *linear));
    }
    return AttributeOfLinear(*linear, attribute, address, mmu_.linear.CanReach(device, *linear));
  }
  // Of mappings an H200 with driver 580.159 has neither.
  if (attribute == kP2pTokens || attribute == kHardwareDecompressCapable) return 0;
  const PageEntry entry = mmu_.At(address);
  const AllocationRecord& allocation = mmu_.AllocationOf(*mapping);
  const bool on_device = allocation.on_device();
  // Beyond the reservation that a mapping begins in there may be another one, or none.
  const std::optional<uint32_t> reserved = mmu_.space.Find(address);
  const AddressRange reservation = reserved.has_value() ? mmu_.space[*reserved] : AddressRange();
  switch (attribute) {
    case PointerAttribute::kMemoryType:
      return on_device ? kDeviceMemory : kHostMemory;
    case PointerAttribute::kDevicePointer:
      if (entry.access(device.value()) != Access::kNone) return address.value();
      break;
    case PointerAttribute::kHostPointer:
      if (mapping->shown) return address.value();
      break;
    case PointerAttribute::kBufferId:
      return mapping->id;
    case PointerAttribute::kDeviceOrdinal:
      if (allocation.is_multicast()) break;  // it is of several
      return on_device ? static_cast<uint64_t>(int64_t{allocation.pages->location.id}) : 0;
    case PointerAttribute::kRangeStartAddress:
      return reservation.base.value();
    case PointerAttribute::kRangeSize:
      return reservation.size.value();
    case PointerAttribute::kMapped:
      return 1;
    case PointerAttribute::kAllowedHandleTypes:
      return static_cast<uint64_t>(allocation.properties.requested_handle_types);
    case PointerAttribute::kIsGpuDirectRdmaCapable:
      return allocation.properties.gpu_direct_rdma;
    case PointerAttribute::kAccessFlags:
      return static_cast<uint64_t>(entry.access(device.value()));
    case PointerAttribute::kMappingSize:
      return mmu_.RangeOf(*mapping).size.value();
    case PointerAttribute::kMappingBaseAddress:
      return mmu_.RangeOf(*mapping).base.value();
    case PointerAttribute::kMemoryBlockId:  // an import is a block of its own; no handle comes
                                            // again
      return mmu_.memory.HandleOf(mapping->allocation).value();
    case PointerAttribute::kContext:
    case PointerAttribute::kSyncMemops:
    case PointerAttribute::kIsManaged:
    case PointerAttribute::kIsLegacyCudaIpcCapable:
    case PointerAttribute::kMempoolHandle:
      return 0;
  }
  return InvalidValue("cuPointerGetAttribute", ToString(address), " has no ", ToString(attribute),
                      " for ", ToString(device));
}

absl::StatusOr<AddressRange> SimulatedVmm::DoGetAddressRange(DeviceOrdinal device,
                                                             DeviceAddress address) {
  static constexpr char kCall[] = "cuMemGetAddressRange";
  absl::Status usable = CheckDevice(kCall, device);
  if (usable.ok()) usable = state_.sticky_error.Check(kCall);
  if (!usable.ok()) return usable;
  const std::shared_lock lock(mmu_.mutex);
  const MappingRecord* mapping = mmu_.MappingAt(address);
  const LinearAllocation* const linear = mapping == nullptr ? mmu_.linear.Find(address) : nullptr;
  if (linear != nullptr && linear->of_pool()) {
    const PooledPiece* const piece = mmu_.pooled.Find(address);
    if (piece != nullptr && piece->freed_by == 0) return piece->range;
  } else if (linear != nullptr && mmu_.linear.CanReach(device, *linear)) {
    return linear->range;
  }
  if (mapping == nullptr || mmu_.At(address).access(device.value()) == Access::kNone) {
    return Fail(DriverCode::kNotFound, kCall, "nothing is mapped at ", ToString(address), " that ",
                ToString(device), " can access");
  }
  AddressRange range = mmu_.RangeOf(*mapping);
  const bool begins_at_zero = mmu_.profile.quirks.address_range_of_host_memory_begins_at_zero;
  if (begins_at_zero && !mmu_.AllocationOf(*mapping).on_device()) {
    range.base = DeviceAddress(0);
    WarnOfCall(state_, kCall, AddressRange{address, Bytes(1), Bytes(0)},
               {DiagnosticKind::kRangeOfHostMemoryMisreported, address},
               words::AnsweredFromZero(mmu_.RangeOf(*mapping).base));
  }
  return range;
}

}  // namespace twinmmu
