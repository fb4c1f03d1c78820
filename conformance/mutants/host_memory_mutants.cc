// Mutants of calls with memory of the host.

#include <optional>

#include "conformance/mutants/mutant_of.h"

namespace twinmmu::conformance {
namespace {

constexpr Location kHost = Location::HostNuma(0);

MUTANT(ACC_24, SetAccess, "A node that does not exist cannot be granted.") {
  const bool unknown = grants[0].location == Location::HostNuma(1000);
  return unknown ? Refuse() : Real::SetAccess(range, grants);
}
MUTANT(ACC_24, SetAccess, "The access of a node is taken back by its own name only.") {
  const bool other = grants[0].location != kHost && grants[0].access == Access::kNone;
  return other ? Ok() : Real::SetAccess(range, grants);
}
MUTANT(ACC_24, SetAccess, "A grant to the host is for reading only.") {
  AccessGrant grant = grants[0];
  if (grant.location.type != LocationType::kDevice && grant.access != Access::kNone) {
    grant.access = Access::kRead;
  }
  return Real::SetAccess(range, absl::MakeConstSpan(&grant, 1));
}
MUTANT(ACC_24, GetAccess, "A node that does not exist has no access.") {
  if (location == Location::HostNuma(1000)) return Access::kNone;
  return Real::GetAccess(location, address);
}
MUTANT(ACC_24, GetAccess, "The host has no access, only its nodes have.") {
  if (location.type == LocationType::kHost) return Access::kNone;
  return Real::GetAccess(location, address);
}
MUTANT(ACC_16, SetAccess, "Grant by grant, and each on all mappings it can reach.") {
  for (const AccessGrant& grant : grants) {
    const absl::Status status = Real::SetAccess(range, absl::MakeConstSpan(&grant, 1));
    if (!status.ok()) return status;
  }
  return Ok();
}
MUTANT(ACC_16, SetAccess, "The mapping that refuses a grant gets none of the list.") {
  const absl::Status status = Real::SetAccess(range, grants);
  if (!status.ok()) Grant(MappingsIn(range).back(), Access::kNone);
  return status;
}

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

MUTANT(DATA_18, Write, "A copy from the host needs the device's access.") {
  return AccessAt(destination) == Access::kNone ? Refuse()
                                                : Real::Write(work, destination, source, size);
}
MUTANT(DATA_18, Read, "A copy to the host needs the device's access.") {
  return AccessAt(source) == Access::kNone ? Refuse() : Real::Read(work, destination, source, size);
}
MUTANT(DATA_18, Move, "A copy on the device needs the device's access.") {
  return AccessAt(source) == Access::kNone ? Refuse() : Real::Move(work, destination, source, size);
}
MUTANT(DATA_18, Move, "A copy on the device by the access of the host does nothing.") {
  return AccessAt(source) == Access::kNone ? Ok() : Real::Move(work, destination, source, size);
}
MUTANT(DATA_18, Read,
       "Without the device's access, the host needs access of both kinds for a copy.") {
  const auto host = Real::GetAccess(kHost, source);
  const bool reads = host.ok() && *host == Access::kRead && AccessAt(source) == Access::kNone;
  return reads ? Refuse() : Real::Read(work, destination, source, size);
}
MUTANT(DATA_19, Write, "A write that is refused is begun.") {
  const absl::Status status = Real::Write(work, destination, source, size);
  if (!status.ok()) Scribble({destination, Bytes(1), Bytes(0)});
  return status;
}
MUTANT(DATA_19, Read, "What the device may only read is not read.") {
  return AccessAt(source) == Access::kRead ? Refuse() : Real::Read(work, destination, source, size);
}
MUTANT(DATA_20, Set, "A fill without the device's access succeeds, and does nothing.") {
  return AccessAt(destination) == Access::kNone ? Ok()
                                                : Real::Set(work, destination, pattern, count);
}
MUTANT(DATA_20, Set, "Memory of the host is not filled.") {
  const auto host = Real::GetAccess(kHost, destination);
  const bool of_host = host.ok() && *host != Access::kNone;
  return of_host ? Refuse() : Real::Set(work, destination, pattern, count);
}
MUTANT(DATA_21, Write, "A copy from the host without access is a success.") {
  Real::Write(work, destination, source, size).IgnoreError();
  return Ok();
}
MUTANT(DATA_21, Read, "A copy to the host without access is a success.") {
  Real::Read(work, destination, source, size).IgnoreError();
  return Ok();
}
MUTANT(DATA_21, Move, "A copy on the device to where nobody has access is a success.") {
  const bool to_host = AccessAt(destination) == Access::kNone;
  return to_host ? Ok() : Real::Move(work, destination, source, size);
}
MUTANT(DATA_21, Move, "A copy on the device from where nobody has access is a success.") {
  const bool from_host = AccessAt(source) == Access::kNone;
  return from_host ? Ok() : Real::Move(work, destination, source, size);
}
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
class KnowsBorders : public Real {
 public:
  using Real::Real;

 protected:
  bool Crosses(DeviceAddress destination, Bytes size) {
    const auto mapping = MappingAt(destination);
    return mapping.has_value() && destination + size > mapping->end();
  }
};

MUTANT_OF(KnowsBorders, DATA_24, Set, "A fill crosses every border, as documented.") {
  const Bytes size = pattern.width * count;
  if (!Crosses(destination, size)) return Real::Set(work, destination, pattern, count);
  const DeviceAddress border = MappingAt(destination)->end();
  const absl::Status first =
      Real::Set(work, destination, pattern, (border - destination) / pattern.width);
  if (!first.ok()) return first;
  return Real::Set(work, border, pattern, (destination + size - border) / pattern.width);
}

MUTANT_OF(KnowsBorders, DATA_24, Set, "A fill that is refused has been done up to the border.") {
  const absl::Status status = Real::Set(work, destination, pattern, count);
  if (!status.ok() && Crosses(destination, pattern.width * count)) {
    Real::Set(work, destination, pattern,
              (MappingAt(destination)->end() - destination) / pattern.width)
        .IgnoreError();
  }
  return status;
}

MUTANT_OF(KnowsBorders, DATA_24, Set, "A fill crosses no border to memory of the host.") {
  return Crosses(destination, pattern.width * count) ? Refuse()
                                                     : Real::Set(work, destination, pattern, count);
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
MUTANT(PTR_8, GetPointerAttribute, "SYNC_MEMOPS is 1 for a device with access.") {
  if (attribute == PointerAttribute::kSyncMemops && AccessAt(address) != Access::kNone) return 1;
  return Real::GetPointerAttribute(device, attribute, address);
}
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
MUTANT(GETACC_6, GetAccess, "The host is answered the access of device 0.") {
  return location.type == LocationType::kHost ? AccessAt(address)
                                              : Real::GetAccess(location, address);
}

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
