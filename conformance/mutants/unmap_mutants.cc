// Mutants of cuMemUnmap.

#include <vector>

#include "conformance/mutants/framework/mutant.h"

namespace twinmmu::conformance {
namespace {

bool IsHole(const std::vector<AddressRange>& mappings, const AddressRange& range) {
  Bytes mapped;
  for (const AddressRange& mapping : mappings) mapped = mapped + mapping.size;
  return mapped < range.size;
}

MUTANT(UNMAP_1, Unmap, "An unmap does nothing.") { return Ok(); }
MUTANT(UNMAP_1, Unmap, "An unmap only takes the access.") {
  Grant(range, Access::kNone);
  return Ok();
}

class NeverMapsAgain : public Real {
 public:
  using Real::Real;
  CALL(Unmap) override {
    gone_.push_back(range);
    return Real::Unmap(range);
  }
  CALL(Map) override {
    for (const AddressRange& gone : gone_) {
      if (gone.overlaps(range)) return Refuse();
    }
    return Real::Map(range, handle, offset, flags);
  }

 private:
  std::vector<AddressRange> gone_;
};
MUTANT_CLASS(UNMAP_1, NeverMapsAgain, "An unmapped range cannot be mapped again.")

MUTANT_IF_REFUSED(UNMAP_1, GetAccess, "An unmapped address is still answered none.", Access::kNone)

MUTANT(UNMAP_2, Unmap, "A part of a mapping unmaps the whole.") {
  Remove(range);
  return Ok();
}
MUTANT_DAMAGE(UNMAP_2, Unmap, "A part of a mapping is refused, and the whole unmapped.",
              Remove(range))
MUTANT_DAMAGE(UNMAP_2, Unmap, "A part of a mapping is refused, and the access of the whole taken.",
              Grant(range, Access::kNone))
MUTANT_IF_REFUSED(UNMAP_2, Unmap, "A part of a mapping is left alone, without an error.", Ok())
MUTANT_IF_REFUSED(UNMAP_2, Unmap, "A part of a mapping is NOT_SUPPORTED.",
                  Refuse(DriverCode::kNotSupported))
MUTANT_IF(UNMAP_3, Unmap, "Several mappings at once are refused.", MappingsIn(range).size() > 1,
          Refuse())
MUTANT(UNMAP_3, Unmap, "Only the first of several mappings is unmapped.") {
  const auto mappings = MappingsIn(range);
  return Real::Unmap(mappings.empty() ? range : mappings.front());
}
MUTANT(UNMAP_3, Unmap, "The last of several mappings is forgotten.") {
  const auto mappings = MappingsIn(range);
  if (mappings.size() < 2) return Real::Unmap(range);
  return Real::Unmap({range.base, range.size - mappings.back().size, Bytes(0)});
}
MUTANT_AFTER(UNMAP_4, Unmap, "The mapping behind goes along.", true,
             Remove({range.end(), Bytes(1), Bytes(0)}))
MUTANT_AFTER(UNMAP_4, Unmap, "The mapping before loses its access.", true,
             Grant({range.base - Bytes(1), Bytes(1), Bytes(0)}, Access::kNone))
MUTANT_AFTER(UNMAP_4, Unmap, "The mapping behind loses its data.", true,
             Scribble({range.end(), Bytes(1), Bytes(0)}))
MUTANT(UNMAP_5, Unmap, "Whole mappings go, and then the part is refused.") {
  const absl::Status status = Real::Unmap(range);
  if (status.ok()) return status;
  for (const AddressRange& mapping : MappingsIn(range)) {
    if (range.contains(mapping)) Remove(mapping);
  }
  return status;
}
MUTANT(UNMAP_5, Unmap, "Whole mappings go, and the part stays without an error.") {
  for (const AddressRange& mapping : MappingsIn(range)) {
    if (range.contains(mapping)) Remove(mapping);
  }
  return Ok();
}
MUTANT_IF(UNMAP_6, Unmap, "Size 0 unmaps nothing and succeeds.", range.size == Bytes(0), Ok())
MUTANT(UNMAP_6, Unmap, "Size 0 unmaps the mapping that begins there.") {
  const auto mapping = MappingAt(range.base);
  return Real::Unmap(range.size == Bytes(0) && mapping.has_value() ? *mapping : range);
}
MUTANT_DAMAGE(UNMAP_6, Unmap, "Size 0 is refused, and the mapping unmapped.",
              Remove({range.base, Bytes(1), Bytes(0)}))
MUTANT_IF(UNMAP_7, Unmap, "Unmapping null succeeds.", range.base == DeviceAddress(0), Ok())
MUTANT_IF(UNMAP_7, Unmap, "Unmapping what was never reserved succeeds.",
          !ReservationAt(range.base).has_value() && range.base != DeviceAddress(0), Ok())
MUTANT_AFTER(UNMAP_7, Unmap, "Null is refused, and everything unmapped.",
             range.base == DeviceAddress(0), Remove(kEverything))
MUTANT(UNMAP_8, Unmap, "What lies behind a hole stays.") {
  const auto mappings = MappingsIn(range);
  return Real::Unmap(mappings.size() > 1 ? mappings.front() : range);
}
MUTANT(UNMAP_8, Unmap, "A range with a hole takes all of its reservation.") {
  const auto reservation = ReservationAt(range.base);
  const bool all = reservation.has_value() && IsHole(MappingsIn(range), range);
  return Real::Unmap(all ? *reservation : range);
}
MUTANT_ON("strict", UNMAP_8, Unmap, "Holes are passed over.") {
  Remove(range);
  return Ok();
}
MUTANT_ON("strict", UNMAP_8, Unmap, "A hole is refused, and what is mapped goes.") {
  const absl::Status status = Real::Unmap(range);
  if (!status.ok()) Remove(range);
  return status;
}
MUTANT_IF(UNMAP_9, Unmap, "Where nothing is mapped is refused, as documented.",
          MappingsIn(range).empty(), Refuse())
MUTANT_BEFORE(UNMAP_9, Unmap, "Where nothing is mapped, the mapping before goes.",
              MappingsIn(range).empty(), Remove({range.base - Bytes(1), Bytes(1), Bytes(0)}))
MUTANT_ON("strict", UNMAP_9, Unmap, "Unmapping nothing succeeds.") {
  return MappingsIn(range).empty() ? Ok() : Real::Unmap(range);
}
MUTANT(UNMAP_10, Unmap, "A size is rounded to host pages.") {
  return Real::Unmap({range.base, RoundUp(range.size, KiB(4)), Bytes(0)});
}
MUTANT(UNMAP_10, Unmap, "A byte too much does not matter.") {
  const bool more = range.size % Granule() == Bytes(1);
  return Real::Unmap({range.base, more ? range.size - Bytes(1) : range.size, Bytes(0)});
}
MUTANT_DAMAGE(UNMAP_10, Unmap, "A size one byte off is refused, and what begins there unmapped.",
              Remove({range.base, Bytes(1), Bytes(0)}))
MUTANT_IF(UNMAP_11, Unmap, "Beyond the end of the reservation is refused, as documented.",
          LeavesReservation(range), Refuse())
MUTANT_IF(UNMAP_11, Unmap, "Beyond the end of the reservation succeeds, and nothing is unmapped.",
          LeavesReservation(range), Ok())
MUTANT_ON("strict", UNMAP_11, Unmap, "What lies inside the reservation is unmapped.") {
  Remove(range);
  return Ok();
}
MUTANT_ON("strict", UNMAP_11, Unmap, "Beyond the end is refused, and what lies inside unmapped.") {
  const absl::Status status = Real::Unmap(range);
  if (!status.ok()) Remove(range);
  return status;
}
MUTANT_IF(UNMAP_12, Unmap, "A range that wraps is refused, as documented.",
          range.base + range.size <= range.base, Refuse())
MUTANT_BEFORE(UNMAP_12, Unmap, "A range that wraps takes all that lies behind its base.", true,
              Remove(range))
MUTANT_ON("strict", UNMAP_12, Unmap, "A range that wraps is accepted, and nothing unmapped.") {
  const bool wraps = range.base + range.size <= range.base;
  return wraps ? Ok() : Real::Unmap(range);
}
MUTANT_ON("strict", UNMAP_12, Unmap, "A range that wraps is refused, and all behind unmapped.") {
  Remove(range);
  return Real::Unmap(range);
}

MUTANT(UNMAP_13, Unmap, "All mappings in the same page of the page table go.") {
  const uint64_t page = 512 * Granule().value();
  const AddressRange shared{DeviceAddress(range.base.value() / page * page), Bytes(page), Bytes(0)};
  const absl::Status status = Real::Unmap(range);
  Remove(shared);
  return status;
}
MUTANT_AFTER(UNMAP_13, Unmap, "A mapping 512 granules behind loses its data.", true,
             Scribble({range.base + 512 * Granule(), Bytes(1), Bytes(0)}))
MUTANT(UNMAP_13, Unmap, "What is far from the start of its reservation is not unmapped.") {
  const auto reservation = ReservationAt(range.base);
  const bool far = reservation.has_value() && range.base - reservation->base > GiB(32);
  return far ? Ok() : Real::Unmap(range);
}
MUTANT(UNMAP_14, Unmap, "Only what lies before the border is unmapped.") {
  const auto reservation = ReservationAt(range.base);
  const bool crosses = reservation.has_value() && !reservation->contains(range);
  const absl::Status status = Real::Unmap(crosses ? *reservation : range);
  return status;
}
MUTANT_ON("strict", UNMAP_14, Unmap, "The border of two reservations is crossed.") {
  const auto mappings = MappingsIn(range);
  if (mappings.empty() || mappings.back().end() > range.end()) return Real::Unmap(range);
  Remove(range);
  return Ok();
}

constexpr DeviceAddress kLast(~uint64_t{0});

MUTANT(UNMAP_12, Unmap, "A range that wraps may end inside a mapping.") {
  const DeviceAddress end = range.base + range.size;
  return end <= range.base && IsMapped(end) ? Ok() : Real::Unmap(range);
}
MUTANT(UNMAP_12, Unmap, "A range that wraps may begin inside a mapping.") {
  const DeviceAddress end = range.base + range.size;
  return end <= range.base && IsMapped(range.base) ? Ok() : Real::Unmap(range);
}
MUTANT_IF(UNMAP_15, Unmap, "At the last address nothing is unmapped, and that is a success.",
          range.base == kLast, Ok())
MUTANT_BEFORE(UNMAP_15, Unmap, "At the last address everything is unmapped.", range.base == kLast,
              Remove(kEverything))
MUTANT_ON("strict", UNMAP_15, Unmap, "At the last address nothing is refused, nor unmapped.") {
  return range.base == kLast ? Ok() : Real::Unmap(range);
}
MUTANT_ON("strict", UNMAP_15, Unmap, "The last address is refused, and everything unmapped.") {
  if (range.base == kLast) Remove(kEverything);
  return Real::Unmap(range);
}

}  // namespace
}  // namespace twinmmu::conformance
