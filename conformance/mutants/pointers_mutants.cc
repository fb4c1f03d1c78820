// Mutants of cuPointerGetAttribute and cuMemGetAddressRange.

#include "conformance/mutants/framework/mutant.h"

namespace twinmmu::conformance {

MUTANT(PTR_1, GetPointerAttribute, "RANGE is the mapping.") {
  const auto mapping = MappingAt(address);
  if (!mapping.has_value()) return Real::GetPointerAttribute(device, attribute, address);
  if (attribute == PointerAttribute::kRangeStartAddress) return mapping->base.value();
  if (attribute == PointerAttribute::kRangeSize) return mapping->size.value();
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT(PTR_1, GetPointerAttribute, "MAPPING is the reservation.") {
  const auto reservation = ReservationAt(address);
  if (!reservation.has_value()) return Real::GetPointerAttribute(device, attribute, address);
  if (attribute == PointerAttribute::kMappingBaseAddress) return reservation->base.value();
  if (attribute == PointerAttribute::kMappingSize) return reservation->size.value();
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT(PTR_1, GetPointerAttribute, "MAPPING begins at the address that is asked for.") {
  if (attribute == PointerAttribute::kMappingBaseAddress) return address.value();
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT(PTR_1, GetPointerAttribute, "RANGE ends at the mapping that is asked for.") {
  const auto mapping = MappingAt(address);
  const auto reservation = ReservationAt(address);
  if (attribute == PointerAttribute::kRangeSize && mapping.has_value()) {
    return (mapping->end() - reservation->base).value();
  }
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT(PTR_1, GetPointerAttribute, "MAPPED is 0.") {
  if (attribute == PointerAttribute::kMapped) return 0;
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT(PTR_2, GetPointerAttribute, "Where nothing is mapped, the right is none: 0.") {
  if (attribute == PointerAttribute::kAccessFlags && !IsMapped(address)) return 0;
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT(PTR_2, GetPointerAttribute, "A reserved address has a mapping of size 0.") {
  const bool reserved = ReservationAt(address).has_value() && !IsMapped(address);
  if (attribute == PointerAttribute::kMappingSize && reserved) return 0;
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT(PTR_2, GetPointerAttribute, "Memory of the program is on device 0.") {
  if (attribute == PointerAttribute::kDeviceOrdinal && !IsMapped(address) &&
      address != DeviceAddress(0) && !ReservationAt(address).has_value()) {
    return 0;
  }
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT(PTR_2, GetPointerAttribute, "Where nothing is mapped is NOT_FOUND.") {
  return Instead(Real::GetPointerAttribute(device, attribute, address), DriverCode::kNotFound);
}
MUTANT(PTR_3, GetPointerAttribute, "ACCESS_FLAGS tells whether there is a right: 0 or 1.") {
  const auto value = Real::GetPointerAttribute(device, attribute, address);
  if (attribute == PointerAttribute::kAccessFlags && value.ok()) return *value == 0 ? 0 : 1;
  return value;
}
MUTANT(PTR_3, GetPointerAttribute, "ACCESS_FLAGS is read-write whatever the right is.") {
  const auto value = Real::GetPointerAttribute(device, attribute, address);
  if (attribute == PointerAttribute::kAccessFlags && value.ok()) return 3;
  return value;
}
MUTANT(PTR_3, GetPointerAttribute, "ACCESS_FLAGS without a right is INVALID_VALUE.") {
  if (attribute == PointerAttribute::kAccessFlags && AccessAt(address) == Access::kNone) {
    return Refuse();
  }
  return Real::GetPointerAttribute(device, attribute, address);
}

// One wrong answer each.
MUTANT(PTR_4, GetPointerAttribute, "Device memory is memory of the host.") {
  if (attribute == PointerAttribute::kMemoryType) return 1;
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT(PTR_4, GetPointerAttribute, "Device memory belongs to no device: -1.") {
  if (attribute == PointerAttribute::kDeviceOrdinal) return 0xffffffffu;
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT(PTR_4, GetPointerAttribute, "Memory is managed.") {
  if (attribute == PointerAttribute::kIsManaged) return 1;
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT(PTR_4, GetPointerAttribute, "Legacy IPC is possible.") {
  if (attribute == PointerAttribute::kIsLegacyCudaIpcCapable) return 1;
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT(PTR_4, GetPointerAttribute, "No handle type is allowed.") {
  if (attribute == PointerAttribute::kAllowedHandleTypes) return 0;
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT(PTR_4, GetPointerAttribute, "All memory is capable of GPUDirect RDMA.") {
  if (attribute == PointerAttribute::kIsGpuDirectRdmaCapable) return 1;
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT(PTR_4, GetPointerAttribute, "The buffer id is that of the memory.") {
  const bool buffer = attribute == PointerAttribute::kBufferId;
  return Real::GetPointerAttribute(device, buffer ? PointerAttribute::kMemoryBlockId : attribute,
                                   address);
}
MUTANT(PTR_4, GetPointerAttribute, "The memory block id is that of the mapping.") {
  const bool block = attribute == PointerAttribute::kMemoryBlockId;
  return Real::GetPointerAttribute(device, block ? PointerAttribute::kBufferId : attribute,
                                   address);
}
MUTANT(PTR_4, GetPointerAttribute, "All memory has the memory block id 1.") {
  if (attribute == PointerAttribute::kMemoryBlockId) return 1;
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT(PTR_5, GetPointerAttribute, "An attribute that does not exist is 0.") {
  const auto value = Real::GetPointerAttribute(device, attribute, address);
  return value.ok() ? value : 0;
}
MUTANT(PTR_5, GetPointerAttribute, "An attribute that does not exist is NOT_SUPPORTED.") {
  return Instead(Real::GetPointerAttribute(device, attribute, address), DriverCode::kNotSupported);
}
MUTANT(PTR_6, GetPointerAttribute, "DEVICE_POINTER needs no right.") {
  if (attribute == PointerAttribute::kDevicePointer) return address.value();
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT(PTR_6, GetPointerAttribute, "DEVICE_POINTER is the base of the mapping.") {
  const auto value = Real::GetPointerAttribute(device, attribute, address);
  if (attribute != PointerAttribute::kDevicePointer || !value.ok()) return value;
  return MappingAt(address)->base.value();
}
MUTANT(RANGE_1, GetAddressRange, "The range is the reservation.") {
  const auto range = Real::GetAddressRange(device, address);
  if (!range.ok()) return range;
  return ReservationAt(address).value_or(*range);
}
MUTANT(RANGE_1, GetAddressRange, "The range begins at the address that is asked for.") {
  auto range = Real::GetAddressRange(device, address);
  if (range.ok()) *range = {address, range->end() - address, Bytes(0)};
  return range;
}
MUTANT(RANGE_1, GetAddressRange, "Adjacent mappings are one range.") {
  auto range = Real::GetAddressRange(device, address);
  if (!range.ok()) return range;
  const auto next = MappingAt(range->end());
  if (next.has_value()) range->size = range->size + next->size;
  return range;
}
MUTANT(RANGE_1, GetAddressRange, "The last byte belongs to what is behind.") {
  return Real::GetAddressRange(device, address + Bytes(1));
}
MUTANT(RANGE_2, GetAddressRange, "Where nothing is mapped is INVALID_VALUE.") {
  return Instead(Real::GetAddressRange(device, address), DriverCode::kInvalidValue);
}
MUTANT(RANGE_2, GetAddressRange, "Where nothing is mapped, the range is the reservation.") {
  const auto range = Real::GetAddressRange(device, address);
  const auto reservation = ReservationAt(address);
  if (range.ok() || !reservation.has_value()) return range;
  return *reservation;
}
MUTANT(RANGE_3, GetAddressRange, "A range needs no right.") {
  const auto mapping = MappingAt(address);
  if (mapping.has_value()) return *mapping;
  return Real::GetAddressRange(device, address);
}
MUTANT(RANGE_3, GetAddressRange, "A mapping without a right is NOT_PERMITTED.") {
  return Instead(Real::GetAddressRange(device, address), DriverCode::kNotPermitted);
}

MUTANT(PTR_7, GetPointerAttribute, "Where nothing is mapped, MAPPED is 0, as documented.") {
  if (attribute == PointerAttribute::kMapped && !IsMapped(address)) return 0;
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT(PTR_7, GetPointerAttribute, "Where nothing is mapped is NOT_FOUND.") {
  return Instead(Real::GetPointerAttribute(device, attribute, address), DriverCode::kNotFound);
}
MUTANT_ON("strict", PTR_7, GetPointerAttribute, "A reserved address has no attributes.") {
  if (!IsMapped(address)) return Refuse();
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT_ON("strict", PTR_7, GetPointerAttribute, "MAPPED is 1 wherever addresses are reserved.") {
  if (attribute == PointerAttribute::kMapped) return 1;
  return Real::GetPointerAttribute(device, attribute, address);
}

}  // namespace twinmmu::conformance
