// Mutants of calls with memory of the host.

#include "conformance/mutants/mutant_of.h"

namespace twinmmu::conformance {
namespace {

constexpr Location kHost = Location::HostNuma(0);

MUTANT_IF(ACC_24, SetAccess, "A node that does not exist cannot be granted.",
          grants[0].location == Location::HostNuma(1000), Refuse())
MUTANT_IF(ACC_24, SetAccess, "The access of a node is taken back by its own name only.",
          grants[0].location != kHost && grants[0].access == Access::kNone, Ok())
MUTANT(ACC_24, SetAccess, "A grant to the host is for reading only.") {
  AccessGrant grant = grants[0];
  if (grant.location.type != LocationType::kDevice && grant.access != Access::kNone) {
    grant.access = Access::kRead;
  }
  return Real::SetAccess(range, absl::MakeConstSpan(&grant, 1));
}
MUTANT_IF(ACC_24, GetAccess, "A node that does not exist has no access.",
          location == Location::HostNuma(1000), Access::kNone)
MUTANT_IF(ACC_24, GetAccess, "The host has no access, only its nodes have.",
          location.type == LocationType::kHost, Access::kNone)
MUTANT(ACC_16, SetAccess, "Grant by grant, and each on all mappings it can reach.") {
  for (const AccessGrant& grant : grants) {
    const absl::Status status = Real::SetAccess(range, absl::MakeConstSpan(&grant, 1));
    if (!status.ok()) return status;
  }
  return Ok();
}
MUTANT_DAMAGE(ACC_16, SetAccess, "The mapping that refuses a grant gets none of the list.",
              Grant(MappingsIn(range).back(), Access::kNone))

MUTANT(RANGE_4, GetAddressRange, "The range of host memory is empty.") {
  auto found = Real::GetAddressRange(device, address);
  if (found.ok() && found->base == DeviceAddress(0)) found->size = Bytes(0);
  return found;
}
MUTANT(RANGE_4, GetAddressRange, "Memory of the host is not found.") {
  const auto found = Real::GetAddressRange(device, address);
  const bool of_host = found.ok() && found->base == DeviceAddress(0);
  return of_host ? Refuse(DriverCode::kNotFound) : found;
}

MUTANT_IF(DATA_18, Write, "A copy from the host needs the device's access.",
          AccessAt(destination) == Access::kNone, Refuse())
MUTANT_IF(DATA_18, Read, "A copy to the host needs the device's access.",
          AccessAt(source) == Access::kNone, Refuse())
MUTANT_IF(DATA_18, Move, "A copy on the device needs the device's access.",
          AccessAt(source) == Access::kNone, Refuse())
MUTANT_IF(DATA_18, Move, "A copy on the device by the access of the host does nothing.",
          AccessAt(source) == Access::kNone, Ok())
MUTANT(DATA_18, Read,
       "Without the device's access, the host needs access of both kinds for a copy.") {
  const auto host = Real::GetAccess(kHost, source);
  const bool reads = host.ok() && *host == Access::kRead && AccessAt(source) == Access::kNone;
  return reads ? Refuse() : Real::Read(work, destination, source, size);
}
MUTANT_DAMAGE(DATA_19, Write, "A write that is refused is begun.",
              Scribble({destination, Bytes(1), Bytes(0)}))
MUTANT_IF(DATA_19, Read, "What the device may only read is not read.",
          AccessAt(source) == Access::kRead, Refuse())
MUTANT_IF(DATA_20, Set, "A fill without the device's access succeeds, and does nothing.",
          AccessAt(destination) == Access::kNone, Ok())
MUTANT(DATA_20, Set, "Memory of the host is not filled.") {
  const auto host = Real::GetAccess(kHost, destination);
  const bool of_host = host.ok() && *host != Access::kNone;
  return of_host ? Refuse() : Real::Set(work, destination, pattern, count);
}
MUTANT_IF_REFUSED(DATA_21, Write, "A copy from the host without access is a success.", Ok())
MUTANT_IF_REFUSED(DATA_21, Read, "A copy to the host without access is a success.", Ok())
MUTANT_IF(DATA_21, Move, "A copy on the device to where nobody has access is a success.",
          AccessAt(destination) == Access::kNone, Ok())
MUTANT_IF(DATA_21, Move, "A copy on the device from where nobody has access is a success.",
          AccessAt(source) == Access::kNone, Ok())
MUTANT(DATA_22, Write, "What the host may only read is not written by the device.") {
  const auto host = Real::GetAccess(kHost, destination);
  const bool reads = host.ok() && *host == Access::kRead;
  return reads ? Refuse() : Real::Write(work, destination, source, size);
}
MUTANT(DATA_22, Write, "What the host may only read is not written, and that is a success.") {
  const auto host = Real::GetAccess(kHost, destination);
  const bool reads = host.ok() && *host == Access::kRead;
  return reads ? Ok() : Real::Write(work, destination, source, size);
}

// Whether a fill of so many bytes leaves the mapping that it begins in.
MUTANT(DATA_24, Set, "A fill crosses every border, as documented.") {
  const Bytes size = pattern.width * count;
  if (!LeavesMapping(destination, size)) return Real::Set(work, destination, pattern, count);
  const DeviceAddress border = MappingAt(destination)->end();
  const absl::Status first =
      Real::Set(work, destination, pattern, (border - destination) / pattern.width);
  if (!first.ok()) return first;
  return Real::Set(work, border, pattern, (destination + size - border) / pattern.width);
}

MUTANT(DATA_24, Set, "A fill that is refused has been done up to the border.") {
  const absl::Status status = Real::Set(work, destination, pattern, count);
  if (!status.ok() && LeavesMapping(destination, pattern.width * count)) {
    Real::Set(work, destination, pattern,
              (MappingAt(destination)->end() - destination) / pattern.width)
        .IgnoreError();
  }
  return status;
}

MUTANT(DATA_24, Set, "A fill crosses no border to memory of the host.") {
  const bool crosses = LeavesMapping(destination, pattern.width * count);
  return crosses ? Refuse() : Real::Set(work, destination, pattern, count);
}

MUTANT(PTR_8, GetPointerAttribute, "SYNC_MEMOPS is 1 for memory of devices.") {
  const auto type = Real::GetPointerAttribute(device, PointerAttribute::kMemoryType, address);
  if (attribute == PointerAttribute::kSyncMemops && type.ok() && *type == 2) return 1;
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT(PTR_8, GetPointerAttribute, "SYNC_MEMOPS is 1 for memory of the host.") {
  const auto type = Real::GetPointerAttribute(device, PointerAttribute::kMemoryType, address);
  if (attribute == PointerAttribute::kSyncMemops && type.ok() && *type == 1) return 1;
  return Real::GetPointerAttribute(device, attribute, address);
}
MUTANT_IF(PTR_8, GetPointerAttribute, "SYNC_MEMOPS is 1 for a device with access.",
          attribute == PointerAttribute::kSyncMemops && AccessAt(address) != Access::kNone, 1)
MUTANT(DATA_18, Write, "A copy from the host needs access wherever the device has some.") {
  for (const AddressRange& mapping : MappingsIn({destination, size, Bytes(0)})) {
    if (AccessAt(mapping.base) == Access::kRead) return Refuse();
  }
  return Real::Write(work, destination, source, size);
}
MUTANT(GETACC_6, GetAccess, "The host is answered its own access, as documented.") {
  return Real::GetAccess(location.type == LocationType::kHost ? kHost : location, address);
}
MUTANT(GETACC_6, GetAccess, "A node of the host is not told from device 0 either.") {
  return Real::GetAccess(location.type == LocationType::kHostNuma ? Location::Host() : location,
                         address);
}
MUTANT_IF(GETACC_6, GetAccess, "The host is answered the access of device 0.",
          location.type == LocationType::kHost, AccessAt(address))

class CountsEveryGrant : public Real {
 public:
  using Real::Real;
  CALL(SetAccess) override {
    last_ = grants.back().access;
    return Real::SetAccess(range, grants);
  }
  CALL(GetAccess) override {
    const auto access = Real::GetAccess(location, address);
    const bool both = AccessAt(address) != Access::kNone && access.ok();
    return both && location.type == LocationType::kHost ? last_ : access;
  }

 private:
  Access last_ = Access::kNone;
};
MUTANT_CLASS(GETACC_6, CountsEveryGrant, "A grant that changes nothing counts as the last change.")

MUTANT_ON("strict", GETACC_6, GetAccess, "The host is answered the access of device 0.") {
  return location.type == LocationType::kHost ? AccessAt(address)
                                              : Real::GetAccess(location, address);
}

}  // namespace
}  // namespace twinmmu::conformance
