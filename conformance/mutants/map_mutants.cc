// Mutants of cuMemMap.

#include <algorithm>
#include <map>

#include "conformance/mutants/framework/mutant.h"

namespace twinmmu::conformance {
namespace {

AddressRange Head(const AddressRange& range, Bytes size) { return {range.base, size, Bytes(0)}; }

MUTANT(MAP_1, Write, "The last word of a write is lost.") {
  return Real::Write(work, destination, source, size > KiB(64) ? size - Bytes(4) : size);
}
MUTANT(MAP_1, Read, "A read beyond the first granule begins anew there.") {
  const absl::Status status = Real::Read(work, destination, source, size);
  const Bytes first = Granule();
  if (!status.ok() || size <= first) return status;
  return Real::Read(work, static_cast<char*>(destination) + first.value(), source, size - first);
}
MUTANT(MAP_1, Write, "Each granule of a mapping is the first one.") {
  for (Bytes at; at < size; at = at + Granule()) {
    const Bytes piece = std::min(Granule(), size - at);
    const absl::Status status =
        Real::Write(work, destination, static_cast<const char*>(source) + at.value(), piece);
    if (!status.ok()) return status;
  }
  return Ok();
}
MUTANT_AFTER(MAP_2, Map, "A mapping starts read-write for the first device.", outcome.ok(),
             Grant(range, Access::kReadWrite))
MUTANT_AFTER(MAP_2, Map, "A mapping starts readable for the second device.", outcome.ok(),
             Grant(range, Access::kRead, 1))
MUTANT(MAP_2, Read, "A read of a fresh mapping gives zeros.") {
  const absl::Status status = Real::Read(work, destination, source, size);
  return IsMapped(source) ? Ok() : status;
}
MUTANT(MAP_2, GetAccess, "Who has no access yet is answered INVALID_VALUE.") {
  const auto access = Real::GetAccess(location, address);
  if (access.ok() && *access == Access::kNone) return Refuse();
  return access;
}
MUTANT(MAP_3, Map, "The last granule of a reservation is taken for the next one's.") {
  const auto reservation = ReservationAt(range.base);
  if (reservation.has_value() && range.end() == reservation->end()) return Refuse();
  return Real::Map(range, handle, offset, flags);
}
MUTANT(MAP_3, Map, "The end of a reservation is mapped at its start.") {
  const auto reservation = ReservationAt(range.base);
  const bool at_end = reservation.has_value() && range.end() == reservation->end();
  return Real::Map(at_end ? Head(*reservation, range.size) : range, handle, offset, flags);
}
MUTANT_ON("strict", MAP_4, Map, "A range beyond its reservation is reported as mapped.") {
  const bool beyond = LeavesReservation(range);
  return beyond ? Ok() : Real::Map(range, handle, offset, flags);
}
MUTANT_ON("strict", MAP_4, Map, "A range beyond its reservation is refused and mapped so far.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  const auto reservation = ReservationAt(range.base);
  if (!status.ok() && reservation.has_value()) {
    Real::Map(Head(range, reservation->end() - range.base), handle, offset, flags).IgnoreError();
  }
  return status;
}
MUTANT(MAP_5, Map, "Mapping over a mapping does nothing and succeeds.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  return MappingAt(range.base) == range ? Ok() : status;
}
MUTANT(MAP_5, Map, "Mapping an allocation where it is already succeeds.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  return MappingAt(range.base) == range && HandleAt(range.base) == handle ? Ok() : status;
}
MUTANT_BEFORE(MAP_5, Map, "A mapping replaces what is there.", MappingAt(range.base) == range,
              Remove(range))
MUTANT(MAP_5, Map, "Mapping over a mapping is refused, and replaces it.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  if (status.ok()) return status;
  Remove(range);
  Real::Map(range, handle, offset, flags).IgnoreError();
  Grant(range, Access::kReadWrite);
  return status;
}
MUTANT_DAMAGE(MAP_5, Map, "Mapping over a mapping is refused, and takes its access.",
              Grant(range, Access::kNone))
MUTANT_DAMAGE(MAP_5, Map, "Mapping over a mapping is refused, and unmaps it.", Remove(range))
MUTANT_DAMAGE(MAP_5, Map, "Mapping over a mapping is refused, and overwrites its data.",
              Scribble(range))
MUTANT_IF_REFUSED(MAP_5, Map, "Mapping over a mapping is ILLEGAL_STATE.",
                  Refuse(DriverCode::kIllegalState))
MUTANT(MAP_6, Map, "Only the first granule must be free; the rest is left out.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  return IsMapped(range.base) ? status : Ok();
}
MUTANT(MAP_6, Map, "Only the last granule must be free; the rest is left out.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  return IsMapped(range.end() - Bytes(1)) ? status : Ok();
}
MUTANT_DAMAGE(MAP_6, Map, "A range that is partly mapped is refused, and unmapped.", Remove(range))
MUTANT_DAMAGE(MAP_6, Map, "A range that is partly mapped is refused, and left read-only.",
              Grant(range, Access::kRead))
MUTANT_DAMAGE(MAP_6, Map, "A range that is partly mapped is refused, and its data overwritten.",
              Scribble(range))
MUTANT_IF_REFUSED(MAP_7, Map, "Addresses that were never reserved are NOT_FOUND.",
                  Refuse(DriverCode::kNotFound))
MUTANT(MAP_7, Map, "Addresses that were never reserved are reserved for the mapping.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  if (status.ok() || range.base == DeviceAddress(0)) return status;
  ReserveOptions options;
  options.hint = range.base;
  Real::AddressReserve(range.size, options).IgnoreError();
  return Real::Map(range, handle, offset, flags);
}
MUTANT(MAP_7, Map, "Null is a place of the driver's choice.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  return range.base == DeviceAddress(0) ? Ok() : status;
}
MUTANT(MAP_8, Map, "An address is rounded down to a granule.") {
  const DeviceAddress base(range.base.value() / Granule().value() * Granule().value());
  return Real::Map({base, range.size, Bytes(0)}, handle, offset, flags);
}
MUTANT(MAP_8, Map, "A misaligned address is refused, and mapped from the granule on.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  const DeviceAddress base(range.base.value() / Granule().value() * Granule().value());
  Real::Map({base, range.size, Bytes(0)}, handle, offset, flags).IgnoreError();
  return status;
}
MUTANT_IF_REFUSED(MAP_8, Map, "A misaligned address is MISALIGNED_ADDRESS.",
                  Refuse(DriverCode::kMisalignedAddress))
MUTANT_IF(MAP_9, Map, "Size 0 is accepted, and maps nothing.", range.size == Bytes(0), Ok())
MUTANT(MAP_9, Map, "Size 0 is the whole allocation.") {
  const Bytes size = range.size == Bytes(0) ? SizeOf(handle) : range.size;
  return Real::Map(Head(range, size), handle, offset, flags);
}
MUTANT_DAMAGE(MAP_9, Map, "Size 0 is refused, and the whole allocation mapped.",
              Real::Map(Head(range, SizeOf(handle)), handle, offset, flags).IgnoreError())
MUTANT_IF_REFUSED(MAP_10, Map, "A part of an allocation is INVALID_VALUE.", Refuse())
MUTANT(MAP_10, Map, "A part of an allocation is mapped, and the rest with it.") {
  const bool part = range.size < SizeOf(handle);
  return Real::Map(part ? Head(range, SizeOf(handle)) : range, handle, offset, flags);
}
MUTANT_IF(MAP_10, Map, "A misaligned address is noticed before a size that is not the whole.",
          !range.base.IsAligned(Granule()), Refuse())
MUTANT(MAP_11, Map, "The offset is ignored.") { return Real::Map(range, handle, Bytes(0), flags); }
MUTANT_IF(MAP_11, Map, "An offset is INVALID_VALUE.", offset != Bytes(0), Refuse())
MUTANT_IF(MAP_11, Map, "An offset beyond the allocation is INVALID_VALUE.",
          offset >= SizeOf(handle) && offset != Bytes(0), Refuse())
MUTANT_DAMAGE(MAP_11, Map, "An offset is refused, and the allocation mapped from its start.",
              Real::Map(range, handle, Bytes(0), flags).IgnoreError())
MUTANT(MAP_12, Map, "More than the allocation holds maps what it holds.") {
  const Bytes size = std::min(range.size, SizeOf(handle));
  return Real::Map(Head(range, size), handle, offset, flags);
}
MUTANT_IF_REFUSED(MAP_12, Map, "More than the allocation holds is INVALID_VALUE.", Refuse())
MUTANT_DAMAGE(MAP_12, Map, "More than the allocation holds is refused, and mapped so far.",
              Real::Map(Head(range, SizeOf(handle)), handle, offset, flags).IgnoreError())
MUTANT(MAP_13, Map, "Flags are ignored.") { return Real::Map(range, handle, offset, 0); }
MUTANT(MAP_13, Map, "The upper half of the flags is ignored.") {
  return Real::Map(range, handle, offset, flags & 0xffffffffu);
}
MUTANT_DAMAGE(MAP_13, Map, "Flags are refused, and the mapping made.",
              Real::Map(range, handle, offset, 0).IgnoreError())
MUTANT_IF(MAP_14, Map, "Handle 0 maps nothing and succeeds.", handle == AllocationHandle(0), Ok())
MUTANT_IF_REFUSED(MAP_14, Map, "Handle 0 is INVALID_HANDLE.", Refuse(DriverCode::kInvalidHandle))
MUTANT(MAP_14, Map, "Handle 0 is refused, and fresh memory mapped.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  if (status.ok()) return status;
  const auto fresh = Real::Create(range.size, AllocationProperties(), 0);
  if (fresh.ok()) Real::Map(range, *fresh, offset, flags).IgnoreError();
  return status;
}
MUTANT(MAP_15, Map, "A second mapping is a copy.") {
  if (MappingsOf(handle).empty()) return Real::Map(range, handle, offset, flags);
  const auto copy = Real::Create(range.size, AllocationProperties(), 0);
  return copy.ok() ? Real::Map(range, *copy, offset, flags) : copy.status();
}
MUTANT_IF(MAP_15, Map, "An allocation is mapped in one place only.", !MappingsOf(handle).empty(),
          Refuse())
MUTANT(MAP_15, Write, "What is written through a second mapping stays there.") {
  const auto mapping = MappingAt(destination);
  if (!mapping.has_value()) return Real::Write(work, destination, source, size);
  const auto all = MappingsOf(HandleAt(destination));
  return all.size() > 1 && all[0] != *mapping ? Ok() : Real::Write(work, destination, source, size);
}
MUTANT_IF(MAP_16, Map, "A hole with a mapping on either side is not filled.",
          IsMapped(range.base - Bytes(1)) && IsMapped(range.end()), Refuse())
MUTANT(MAP_16, SetAccess, "Access reaches no further than the second mapping.") {
  const auto mappings = MappingsIn(range);
  if (mappings.size() < 3) return Real::SetAccess(range, grants);
  return Real::SetAccess(Head(range, mappings[1].end() - range.base), grants);
}

class LosesDataInTheFifthRound : public Real {
 public:
  using Real::Real;
  CALL(Unmap) override {
    if (++rounds_ == 5) Scribble(range);
    return Real::Unmap(range);
  }

 private:
  int rounds_ = 0;
};
MUTANT_CLASS(MAP_17, LosesDataInTheFifthRound, "The fifth unmapping overwrites the data.")

// A translation that is kept too long.
class KeepsTheFirstTranslation : public Real {
 public:
  using Real::Real;
  CALL(Map) override {
    const auto first = first_.emplace(range.base.value(), handle).first->second;
    return Real::Map(range, first, offset, flags);
  }

 private:
  std::map<uint64_t, AllocationHandle> first_;
};
MUTANT_CLASS(MAP_18, KeepsTheFirstTranslation, "An address shows what was first mapped there.")

MUTANT(MAP_17, Unmap, "An unmapping away from the start of the reservation overwrites the data.") {
  const auto reservation = ReservationAt(range.base);
  if (reservation.has_value() && reservation->base != range.base) Scribble(range);
  return Real::Unmap(range);
}
MUTANT_AFTER(MAP_18, Map, "Mapping where another mapping was overwrites the data.", true,
             Scribble(range))

MUTANT(MAP_19, Map, "The granule behind is mapped as well.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  const auto more = Real::Create(Granule(), AllocationProperties(), 0);
  if (more.ok()) Real::Map({range.end(), Granule(), Bytes(0)}, *more, Bytes(0), 0).IgnoreError();
  return status;
}
MUTANT(MAP_19, GetAccess, "What lies before a mapping in its reservation is answered none.") {
  const auto access = Real::GetAccess(location, address);
  return !access.ok() && ReservationAt(address).has_value() ? Access::kNone : access;
}
MUTANT_IF(MAP_20, Map, "The border of two reservations is not crossed, as documented.",
          LeavesReservation(range), Refuse())
MUTANT(MAP_20, Map, "A mapping across the border is moved to the start of the first.") {
  const auto reservation = ReservationAt(range.base);
  const bool crosses = reservation.has_value() && !reservation->contains(range);
  return Real::Map(crosses ? Head(*reservation, range.size) : range, handle, offset, flags);
}
MUTANT_ON("strict", MAP_20, Map, "A range across the border is reported as mapped.") {
  const bool crosses = LeavesReservation(range);
  return crosses ? Ok() : Real::Map(range, handle, offset, flags);
}
MUTANT_IF(MAP_21, Map, "An offset is noticed first of all.", offset != Bytes(0),
          Refuse(DriverCode::kNotSupported))
MUTANT_IF(MAP_21, Map, "A place that is mapped is noticed before an offset.", IsMapped(range.base),
          Refuse())
MUTANT_IF(MAP_21, Map, "A misaligned place is noticed before an offset.",
          !range.base.IsAligned(Granule()), Refuse())
MUTANT(MAP_22, Create, "A tile pool is memory like any.") {
  AllocationProperties changed = properties;
  changed.usage = 0;
  return Real::Create(size, changed, flags);
}
MUTANT_IF_REFUSED(MAP_22, Map, "Mapping a tile pool is NOT_SUPPORTED.",
                  Refuse(DriverCode::kNotSupported))
MUTANT_IF(MAP_22, Map, "A part of a tile pool is NOT_SUPPORTED.", range.size < SizeOf(handle),
          Refuse(DriverCode::kNotSupported))
MUTANT_IF_REFUSED(MAP_23, Map,
                  "Memory for GPUDirect RDMA after its first mapping is INVALID_VALUE.", Refuse())
MUTANT(MAP_23, Map,
       "Memory for GPUDirect RDMA after its first mapping is reported and not mapped.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  return GetDriverCode(status) == DriverCode::kUnknown ? Ok() : status;
}
MUTANT(MAP_23, Map, "Once its first mapping is gone, no memory is mapped a second time.") {
  const auto others = MappingsOf(handle);
  const bool second = !others.empty() && others.front().base > range.base;
  return second ? Refuse(DriverCode::kUnknown) : Real::Map(range, handle, offset, flags);
}

}  // namespace
}  // namespace twinmmu::conformance
