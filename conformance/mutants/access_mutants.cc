// Mutants of cuMemSetAccess and cuMemGetAccess.

#include <vector>

#include "conformance/mutants/framework/mutant.h"

namespace twinmmu::conformance {
namespace {

using Grants = std::vector<AccessGrant>;

Grants With(absl::Span<const AccessGrant> grants, Access access) {
  Grants changed(grants.begin(), grants.end());
  for (AccessGrant& grant : changed) grant.access = access;
  return changed;
}
bool IsKnown(const Location& location) {
  return location.type >= LocationType::kDevice && location.type <= LocationType::kHostNuma &&
         location.id >= 0 && location.id < 2;
}
bool IsKnown(Access access) {
  return access == Access::kNone || access == Access::kRead || access == Access::kReadWrite;
}
bool IsHost(const Location& location) {
  return location.type == LocationType::kHost || location.type == LocationType::kHostNuma;
}
// Those that a driver would apply if it looked at each grant on its own.
Grants Valid(absl::Span<const AccessGrant> grants) {
  Grants valid;
  for (const AccessGrant& grant : grants) {
    if (IsKnown(grant.location) && IsKnown(grant.access)) valid.push_back(grant);
  }
  return valid;
}

MUTANT(ACC_1, GetAccess, "Only the first granule of a mapping has the access.") {
  const auto mapping = MappingAt(address);
  if (mapping.has_value() && address - mapping->base >= Granule()) return Access::kNone;
  return Real::GetAccess(location, address);
}
MUTANT(ACC_1, SetAccess, "Read-only is granted as read-write.") {
  const bool read = grants[0].access == Access::kRead;
  return Real::SetAccess(
      range, read ? With(grants, Access::kReadWrite) : Grants(grants.begin(), grants.end()));
}
MUTANT_IF(ACC_1, SetAccess, "Access is never taken back.", grants[0].access == Access::kNone, Ok())
MUTANT_IF(ACC_2, SetAccess, "Read-only is never widened to read-write.",
          AccessAt(range.base) == Access::kRead && grants[0].access == Access::kReadWrite, Ok())
MUTANT_IF(ACC_2, SetAccess, "The access that is there already is refused.",
          AccessAt(range.base) == grants[0].access && IsMapped(range.base) &&
              grants[0].access != Access::kNone,
          Refuse())
MUTANT_BEFORE(ACC_2, SetAccess, "Taking a right away overwrites the data.",
              grants[0].access == Access::kNone, Scribble(range))
MUTANT(ACC_3, SetAccess, "Only the first of several mappings gets the access.") {
  const auto mappings = MappingsIn(range);
  return Real::SetAccess(mappings.size() > 1 ? mappings.front() : range, grants);
}
MUTANT_IF(ACC_3, SetAccess, "Several mappings at once are refused.", MappingsIn(range).size() > 1,
          Refuse())
MUTANT(ACC_4, SetAccess, "A grant reaches the mapping before as well.") {
  const auto before = MappingAt(range.base - Bytes(1));
  const absl::Status status = Real::SetAccess(range, grants);
  if (status.ok() && before.has_value()) Real::SetAccess(*before, grants).IgnoreError();
  return status;
}
MUTANT_BEFORE(ACC_4, SetAccess, "A grant takes the access of all other mappings.", true,
              Grant(kEverything, Access::kNone))
MUTANT_AFTER(ACC_4, Map, "Mapping at the tail takes the access of what is before.", true,
             Grant({range.base - Bytes(1), Bytes(1), Bytes(0)}, Access::kNone))
MUTANT(ACC_5, SetAccess, "A part of a mapping grants the whole.") {
  absl::Status status = Real::SetAccess(range, grants);
  for (const AddressRange& mapping : MappingsIn(range)) status = Real::SetAccess(mapping, grants);
  return status;
}
MUTANT_DAMAGE(ACC_5, SetAccess, "A part of a mapping is refused, and the whole granted.",
              Grant(range, grants[0].access))
MUTANT(ACC_5, SetAccess, "Whole mappings in the range are granted, and the part refused.") {
  const absl::Status status = Real::SetAccess(range, grants);
  for (const AddressRange& mapping : MappingsIn(range)) {
    if (range.contains(mapping)) Grant(mapping, grants[0].access);
  }
  return status;
}
MUTANT_IF_REFUSED(ACC_5, SetAccess, "A part of a mapping is NOT_SUPPORTED.",
                  Refuse(DriverCode::kNotSupported))
MUTANT_AFTER(ACC_6, SetAccess, "What lies behind a hole is granted too.", outcome.ok(),
             Grant(range, grants[0].access))
MUTANT_ON("strict", ACC_6, SetAccess, "A hole is passed over.") {
  const absl::Status status = Real::SetAccess(range, grants);
  if (!status.ok()) Grant(range, grants[0].access);
  return Ok();
}
MUTANT_ON("strict", ACC_6, SetAccess, "A hole is refused, and what lies before it granted.") {
  const absl::Status status = Real::SetAccess(range, grants);
  if (!status.ok()) Grant({range.base, Bytes(1), Bytes(0)}, grants[0].access);
  return status;
}
MUTANT(ACC_7, SetAccess, "A hole at the end does not matter.") {
  const auto mappings = MappingsIn(range);
  if (mappings.empty() || mappings.front().base != range.base) {
    return Real::SetAccess(range, grants);
  }
  return Real::SetAccess({range.base, mappings.back().end() - range.base, Bytes(0)}, grants);
}
MUTANT(ACC_7, SetAccess, "A hole at the start does not matter.") {
  const auto mappings = MappingsIn(range);
  if (mappings.empty()) return Real::SetAccess(range, grants);
  const DeviceAddress base = mappings.front().base;
  return Real::SetAccess({base, range.end() - base, Bytes(0)}, grants);
}
MUTANT_DAMAGE(ACC_7, SetAccess, "A hole at either end is refused, and the mappings granted.",
              Grant(range, grants[0].access))
MUTANT_IF(ACC_8, SetAccess, "Size 0 grants nothing and succeeds.", range.size == Bytes(0), Ok())
MUTANT(ACC_8, SetAccess, "A size is rounded up to granules.") {
  return Real::SetAccess({range.base, RoundUp(range.size, Granule()), Bytes(0)}, grants);
}
MUTANT(ACC_8, SetAccess, "A size that is too large is that of the mapping.") {
  const auto mapping = MappingAt(range.base);
  const bool more =
      mapping.has_value() && mapping->base == range.base && mapping->size < range.size;
  return Real::SetAccess(more ? *mapping : range, grants);
}
MUTANT(ACC_8, SetAccess, "A base is rounded down to host pages.") {
  const DeviceAddress base(range.base.value() / 8192 * 8192);
  return Real::SetAccess({base, range.size, Bytes(0)}, grants);
}
MUTANT_DAMAGE(ACC_8, SetAccess, "A wrong size is refused, and the mapping granted.",
              Grant({range.base, Bytes(1), Bytes(0)}, grants[0].access))
MUTANT_IF(ACC_9, SetAccess, "Where nothing is mapped, a grant succeeds.", MappingsIn(range).empty(),
          Ok())
MUTANT_IF_REFUSED(ACC_9, SetAccess, "Where nothing is mapped is NOT_FOUND.",
                  Refuse(DriverCode::kNotFound))
MUTANT_IF(ACC_10, SetAccess, "An empty list changes nothing and succeeds.", grants.empty(), Ok())
MUTANT_BEFORE(ACC_10, SetAccess, "An empty list is refused, and takes all access.", grants.empty(),
              Grant(range, Access::kNone))
MUTANT(ACC_11, SetAccess, "An access that does not exist is taken for its lowest bits.") {
  return Real::SetAccess(
      range, With(grants, static_cast<Access>(static_cast<uint32_t>(grants[0].access) & 3)));
}
MUTANT(ACC_11, SetAccess, "Write without read is granted as read-write.") {
  const bool write = grants[0].access == static_cast<Access>(2);
  return Real::SetAccess(
      range, write ? With(grants, Access::kReadWrite) : Grants(grants.begin(), grants.end()));
}
MUTANT_BEFORE(ACC_11, SetAccess,
              "An access that does not exist is refused, and takes the one there is.",
              !IsKnown(grants[0].access), Grant(range, Access::kNone))
MUTANT(ACC_12, SetAccess, "Location type 0 is the first device.") {
  Grants changed(grants.begin(), grants.end());
  if (changed[0].location.type == LocationType::kInvalid) changed[0].location = Location();
  return Real::SetAccess(range, changed);
}
MUTANT_IF(ACC_12, SetAccess, "A grant to the current host NUMA node is ignored.",
          grants[0].location.type == LocationType::kHostNumaCurrent, Ok())
MUTANT_IF(ACC_12, SetAccess, "A location type that does not exist is INVALID_DEVICE.",
          grants[0].location.type > LocationType::kHostNumaCurrent,
          Refuse(DriverCode::kInvalidDevice))
MUTANT_DAMAGE(ACC_12, SetAccess,
              "A location type that does not exist is refused, and a device granted.",
              Grant(range, grants[0].access))
MUTANT_IF(ACC_13, SetAccess, "A device that does not exist is INVALID_DEVICE.",
          !IsKnown(grants[0].location), Refuse(DriverCode::kInvalidDevice))
MUTANT_IF(ACC_13, SetAccess, "No access may be given to any device.",
          grants[0].access == Access::kNone && !IsKnown(grants[0].location), Ok())
MUTANT(ACC_13, SetAccess, "Device -1 is every device.") {
  if (grants[0].location.id != -1) return Real::SetAccess(range, grants);
  Grant(range, grants[0].access);
  return Ok();
}
MUTANT_IF(ACC_13, SetAccess, "One device too many can be granted access.",
          grants[0].location.id == 2, Ok())
MUTANT_DAMAGE(ACC_14, SetAccess, "A bad grant is refused, and the others applied.",
              Real::SetAccess(range, Valid(grants)).IgnoreError())
MUTANT(ACC_14, SetAccess, "Only the first grant is looked at.") {
  return IsKnown(grants[0].location) && IsKnown(grants[0].access)
             ? Real::SetAccess(range, Valid(grants))
             : Refuse();
}
MUTANT(ACC_14, SetAccess, "Only the last grant is looked at.") {
  return IsKnown(grants.back().location) && IsKnown(grants.back().access)
             ? Real::SetAccess(range, Valid(grants))
             : Refuse();
}
MUTANT_BEFORE(ACC_14, SetAccess, "A grant before a bad one is applied.",
              Valid(grants).size() != grants.size() && IsKnown(grants[0].location) &&
                  IsKnown(grants[0].access),
              Real::SetAccess(range, grants.subspan(0, 1)).IgnoreError())
MUTANT_IF(ACC_15, SetAccess, "A grant to the host is ignored.", IsHost(grants[0].location), Ok())
MUTANT_IF(ACC_15, SetAccess, "A grant of device memory to the host is INVALID_VALUE.",
          IsHost(grants[0].location), Refuse())
MUTANT_IF(ACC_15, SetAccess, "Only the host without a node is refused.",
          grants[0].location.type == LocationType::kHostNuma, Ok())
MUTANT_DAMAGE(ACC_15, SetAccess, "A grant to the host is refused, and given to the first device.",
              Grant(range, grants[0].access))
MUTANT_DAMAGE(ACC_15, SetAccess, "A grant to the host is refused, and takes the device's.",
              Grant(range, Access::kNone))
MUTANT_DAMAGE(ACC_16, SetAccess, "The grants that follow the unsupported one are applied too.",
              Grant(range, grants.back().access))
MUTANT(ACC_16, SetAccess, "The unsupported grant is left out.") {
  Grants possible;
  for (const AccessGrant& grant : grants) {
    if (!IsHost(grant.location)) possible.push_back(grant);
  }
  return Real::SetAccess(range, possible);
}
MUTANT_ON("strict", ACC_16, SetAccess, "The grants after the unsupported one are applied.") {
  const absl::Status status = Real::SetAccess(range, grants);
  if (!status.ok() && IsHost(grants[0].location)) Grant(range, grants.back().access);
  return status;
}
MUTANT(ACC_17, SetAccess, "Of two grants for one location the first one counts.") {
  return Real::SetAccess(range, Grants(grants.rbegin(), grants.rend()));
}
MUTANT_IF(ACC_17, SetAccess, "Two grants for one location are refused.", grants.size() == 2,
          Refuse())
MUTANT(ACC_17, SetAccess, "Of two grants for one location the wider one counts.") {
  return Real::SetAccess(range, grants.size() == 2 ? With(grants, Access::kReadWrite)
                                                   : Grants(grants.begin(), grants.end()));
}

// Access that belongs to addresses, not to mappings.
class KeepsAccess : public Real {
 public:
  using Real::Real;
  CALL(Unmap) override {
    kept_ = AccessAt(range.base);
    return Real::Unmap(range);
  }
  CALL(Map) override {
    const absl::Status status = Real::Map(range, handle, offset, flags);
    if (status.ok() && kept_ != Access::kNone) Grant(range, kept_);
    return status;
  }

 private:
  Access kept_ = Access::kNone;
};
MUTANT_CLASS(ACC_18, KeepsAccess, "Access stays with the addresses when they are mapped anew.")

MUTANT_BEFORE(ACC_18, Write, "Data is written without access, where there was some.",
              IsMapped(destination), Grant({destination, size, Bytes(0)}, Access::kReadWrite))
MUTANT_IF(GETACC_1, GetAccess, "Only an aligned address is answered.", !address.IsAligned(KiB(4)),
          Refuse())
MUTANT(GETACC_1, GetAccess, "Only the base of a mapping is answered.") {
  const auto mapping = MappingAt(address);
  if (mapping.has_value() && mapping->base != address) return Refuse();
  return Real::GetAccess(location, address);
}
MUTANT(GETACC_1, GetAccess, "The last byte belongs to what is behind.") {
  return Real::GetAccess(location, address + Bytes(1));
}
MUTANT_IF_REFUSED(GETACC_2, GetAccess, "Where nothing is mapped, the answer is none.",
                  Access::kNone)
MUTANT(GETACC_2, GetAccess, "Reserved addresses answer none.") {
  const auto access = Real::GetAccess(location, address);
  return access.ok() || !ReservationAt(address).has_value() ? access : Access::kNone;
}
MUTANT_IF_REFUSED(GETACC_2, GetAccess, "Where nothing is mapped is NOT_FOUND.",
                  Refuse(DriverCode::kNotFound))
MUTANT_IF(GETACC_3, GetAccess, "A location that does not exist is answered none.",
          !IsKnown(location), Access::kNone)
MUTANT_IF(GETACC_3, GetAccess, "A location that does not exist is INVALID_VALUE.",
          !IsKnown(location), Refuse())
MUTANT(GETACC_3, GetAccess, "The current host NUMA node is answered.") {
  const bool current = location.type == LocationType::kHostNumaCurrent;
  return Real::GetAccess(current ? Location::HostNuma(0) : location, address);
}
MUTANT(GETACC_3, GetAccess, "Device -1 is the first.") {
  return Real::GetAccess(location.id == -1 ? Location() : location, address);
}
MUTANT_IF(GETACC_4, GetAccess, "An address where nothing is mapped is noticed before the location.",
          !IsMapped(address), Refuse())
MUTANT(GETACC_5, GetAccess, "The host's NUMA node answers with the access of device 0.") {
  return Real::GetAccess(IsHost(location) ? Location() : location, address);
}
MUTANT(GETACC_5, GetAccess, "The host is always answered read-write.") {
  const auto access = Real::GetAccess(location, address);
  if (access.ok() && location.type == LocationType::kHost) return Access::kReadWrite;
  return access;
}

MUTANT(ACC_19, SetAccess, "Access belongs to the allocation: all its mappings get it.") {
  const absl::Status status = Real::SetAccess(range, grants);
  if (!status.ok()) return status;
  for (const AddressRange& mapping : MappingsOf(HandleAt(range.base))) {
    Grant(mapping, grants[0].access);
  }
  return status;
}
MUTANT(ACC_19, Unmap, "Unmapping takes the access of other mappings of the allocation.") {
  for (const AddressRange& mapping : MappingsOf(HandleAt(range.base))) {
    Grant(mapping, Access::kNone);
  }
  return Real::Unmap(range);
}
MUTANT_IF(ACC_20, SetAccess, "A grant does not cross the border of two reservations.",
          LeavesReservation(range), Refuse())
MUTANT(ACC_20, SetAccess, "A grant ends at the border of two reservations.") {
  const auto reservation = ReservationAt(range.base);
  const bool crosses = reservation.has_value() && !reservation->contains(range);
  return Real::SetAccess(crosses ? *reservation : range, grants);
}
MUTANT_IF(ACC_20, Write, "A copy does not cross the border of two reservations.",
          LeavesReservation({destination, size, Bytes(0)}), Refuse())
MUTANT_IF(ACC_21, SetAccess, "A grant to the host is noticed before a bad range.",
          grants.size() == 1 && IsHost(grants[0].location), Refuse(DriverCode::kNotSupported))
MUTANT_IF(ACC_21, SetAccess, "A grant to the host is noticed before a bad one.",
          grants.size() == 2 && IsHost(grants[0].location), Refuse(DriverCode::kNotSupported))
MUTANT_IF(ACC_22, SetAccess, "A list is of 256 grants at most.", grants.size() > 256, Refuse())
MUTANT(ACC_22, SetAccess, "Of a long list the first 256 grants are applied.") {
  return Real::SetAccess(range, grants.subspan(0, 256));
}
MUTANT_IF(ACC_23, SetAccess, "Taking a right away from the host is NOT_SUPPORTED.",
          IsHost(grants[0].location), Refuse(DriverCode::kNotSupported))
MUTANT_BEFORE(ACC_23, SetAccess, "Taking the host's right away takes the device's.",
              IsHost(grants[0].location), Grant(range, Access::kNone))

}  // namespace
}  // namespace twinmmu::conformance
