// What is at an address.

#include <optional>
#include <shared_mutex>

#include "sim/call_record.h"
#include "sim/errors.h"
#include "sim/simulated_vmm.h"

namespace twinmmu {
namespace {

constexpr uint64_t kHostMemory = 1;    // CU_MEMORYTYPE_HOST
constexpr uint64_t kDeviceMemory = 2;  // CU_MEMORYTYPE_DEVICE

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

absl::StatusOr<uint64_t> SimulatedVmm::GetPointerAttribute(DeviceOrdinal device,
                                                           PointerAttribute attribute,
                                                           DeviceAddress address) {
  static constexpr char kCall[] = "cuPointerGetAttribute";
  const absl::Status known = CheckDevice(kCall, device);
  if (!known.ok()) return known;
  const std::shared_lock lock(mmu_.mutex);
  const MappingRecord* mapping = mmu_.MappingAt(address);
  if (mapping == nullptr) return AttributeOfReserved(attribute, address);
  const PageEntry entry = mmu_.At(address);
  const Allocation& allocation = mmu_.AllocationOf(*mapping);
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
      return mapping->number;
    case PointerAttribute::kDeviceOrdinal:
      return on_device ? allocation.properties.location.id : 0;
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
  return InvalidValue(kCall, ToString(address), " has no ", ToString(attribute), " for ",
                      ToString(device));
}

absl::StatusOr<AddressRange> SimulatedVmm::GetAddressRange(DeviceOrdinal device,
                                                           DeviceAddress address) {
  static constexpr char kCall[] = "cuMemGetAddressRange";
  absl::Status usable = CheckDevice(kCall, device);
  if (usable.ok()) usable = mmu_.contexts.Check(kCall);
  if (!usable.ok()) return usable;
  const std::shared_lock lock(mmu_.mutex);
  const MappingRecord* mapping = mmu_.MappingAt(address);
  if (mapping == nullptr || mmu_.At(address).access(device.value()) == Access::kNone) {
    return Fail(DriverCode::kNotFound, kCall, "nothing is mapped at ", ToString(address), " that ",
                ToString(device), " can access");
  }
  AddressRange range = mmu_.RangeOf(*mapping);
  const bool begins_at_zero = mmu_.profile.quirks.address_range_of_host_memory_begins_at_zero;
  if (begins_at_zero && !mmu_.AllocationOf(*mapping).on_device()) {
    range.base = DeviceAddress(0);
    WarnOfCall(mmu_, kCall, AddressRange{address, Bytes(1), Bytes(0)},
               {DiagnosticKind::kRangeOfHostMemoryMisreported, address},
               "the answer begins at 0, and the mapping at ", mmu_.RangeOf(*mapping).base);
  }
  return range;
}

}  // namespace twinmmu
