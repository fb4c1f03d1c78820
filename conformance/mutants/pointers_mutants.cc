// Mutants of cuPointerGetAttribute and cuMemGetAddressRange.

#include "conformance/mutants/framework/mutant.h"

namespace twinmmu::conformance {

// One attribute has this value everywhere.
#define ANSWERS(rule_id, which, value, sentence) \
  MUTANT_IF(rule_id, GetPointerAttribute, sentence, attribute == PointerAttribute::which, value)

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
ANSWERS(PTR_1, kMappingBaseAddress, address.value(),
        "MAPPING begins at the address that is asked for.")
MUTANT(PTR_1, GetPointerAttribute, "RANGE ends at the mapping that is asked for.") {
  const auto mapping = MappingAt(address);
  const auto reservation = ReservationAt(address);
  if (attribute == PointerAttribute::kRangeSize && mapping.has_value()) {
    return (mapping->end() - reservation->base).value();
  }
  return Real::GetPointerAttribute(device, attribute, address);
}
ANSWERS(PTR_1, kMapped, 0, "MAPPED is 0.")
MUTANT_IF(PTR_2, GetPointerAttribute, "Where nothing is mapped, the access is none: 0.",
          attribute == PointerAttribute::kAccessFlags && !IsMapped(address), 0)
MUTANT_IF(PTR_2, GetPointerAttribute, "A reserved address has a mapping of size 0.",
          attribute == PointerAttribute::kMappingSize && ReservationAt(address).has_value() &&
              !IsMapped(address),
          0)
MUTANT_IF(PTR_2, GetPointerAttribute, "Memory of the program is on device 0.",
          attribute == PointerAttribute::kDeviceOrdinal && !IsMapped(address) &&
              address != DeviceAddress(0) && !ReservationAt(address).has_value(),
          0)
MUTANT_IF_REFUSED(PTR_2, GetPointerAttribute, "Where nothing is mapped is NOT_FOUND.",
                  Refuse(DriverCode::kNotFound))
MUTANT(PTR_3, GetPointerAttribute, "ACCESS_FLAGS tells whether there is access: 0 or 1.") {
  const auto value = Real::GetPointerAttribute(device, attribute, address);
  if (attribute == PointerAttribute::kAccessFlags && value.ok()) return *value == 0 ? 0 : 1;
  return value;
}
MUTANT(PTR_3, GetPointerAttribute, "ACCESS_FLAGS is read-write whatever the access is.") {
  const auto value = Real::GetPointerAttribute(device, attribute, address);
  if (attribute == PointerAttribute::kAccessFlags && value.ok()) return 3;
  return value;
}
MUTANT_IF(PTR_3, GetPointerAttribute, "ACCESS_FLAGS without access is INVALID_VALUE.",
          attribute == PointerAttribute::kAccessFlags && AccessAt(address) == Access::kNone,
          Refuse())

ANSWERS(PTR_4, kMemoryType, 1, "Device memory is memory of the host.")
ANSWERS(PTR_4, kDeviceOrdinal, 0xffffffffu, "Device memory belongs to no device: -1.")
ANSWERS(PTR_4, kIsManaged, 1, "Memory is managed.")
ANSWERS(PTR_4, kIsLegacyCudaIpcCapable, 1, "Legacy IPC is possible.")
ANSWERS(PTR_4, kAllowedHandleTypes, 0, "No handle type is allowed.")
ANSWERS(PTR_4, kIsGpuDirectRdmaCapable, 1, "All memory is capable of GPUDirect RDMA.")
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
ANSWERS(PTR_4, kMemoryBlockId, 1, "All memory has the memory block id 1.")
MUTANT_IF_REFUSED(PTR_5, GetPointerAttribute, "An attribute that does not exist is 0.", 0)
MUTANT_IF_REFUSED(PTR_5, GetPointerAttribute, "An attribute that does not exist is NOT_SUPPORTED.",
                  Refuse(DriverCode::kNotSupported))
ANSWERS(PTR_6, kDevicePointer, address.value(), "DEVICE_POINTER needs no access.")
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
MUTANT_IF_REFUSED(RANGE_2, GetAddressRange, "Where nothing is mapped is INVALID_VALUE.", Refuse())
MUTANT(RANGE_2, GetAddressRange, "Where nothing is mapped, the range is the reservation.") {
  const auto range = Real::GetAddressRange(device, address);
  const auto reservation = ReservationAt(address);
  if (range.ok() || !reservation.has_value()) return range;
  return *reservation;
}
MUTANT(RANGE_3, GetAddressRange, "A range needs no access.") {
  const auto mapping = MappingAt(address);
  if (mapping.has_value()) return *mapping;
  return Real::GetAddressRange(device, address);
}
MUTANT_IF_REFUSED(RANGE_3, GetAddressRange, "A mapping without access is NOT_PERMITTED.",
                  Refuse(DriverCode::kNotPermitted))

MUTANT_IF_REFUSED(PTR_7, GetPointerAttribute, "Where nothing is mapped is NOT_FOUND.",
                  Refuse(DriverCode::kNotFound))
MUTANT_ON("strict", PTR_7, GetPointerAttribute, "MAPPED is 1 wherever addresses are reserved.") {
  if (attribute == PointerAttribute::kMapped) return 1;
  return Real::GetPointerAttribute(device, attribute, address);
}

}  // namespace twinmmu::conformance
