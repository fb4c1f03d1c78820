// Mutants of two devices.

#include <vector>

#include "conformance/mutants/kernel_mutant.h"

namespace twinmmu::conformance {
namespace {

constexpr DeviceOrdinal kFirst(0);
constexpr DeviceOrdinal kSecond(1);

MUTANT_AFTER(PEER_1, SetAccess, "A grant to the second device goes to the first as well.",
             outcome.ok() && grants[0].location.id == 1, Grant(range, grants[0].access, 0))
MUTANT_AFTER(PEER_1, SetAccess, "A grant takes the access of every device that it does not name.",
             outcome.ok() && grants.size() == 1,
             Grant(range, Access::kNone, 1 - grants[0].location.id))
MUTANT_AFTER(PEER_1, SetAccess, "Taking one device's access takes the other's.",
             outcome.ok() && grants[0].access == Access::kNone, Grant(range, Access::kNone, 0))
MUTANT_ON("no-peers", PEER_1, SetAccess, "A device that is not a peer is granted access in name.") {
  Real::SetAccess(range, grants).IgnoreError();
  return Ok();
}
MUTANT_ON("no-peers", PEER_1, SetAccess,
          "A device that is not a peer is refused, and others lose theirs.") {
  const absl::Status status = Real::SetAccess(range, grants);
  if (!status.ok()) Remove(range);
  return status;
}
MUTANT(PEER_2, SetAccess, "Of several grants only the first is applied.") {
  return Real::SetAccess(range, grants.subspan(0, 1));
}
MUTANT(PEER_2, SetAccess, "Of several grants only the last is applied.") {
  return Real::SetAccess(range, grants.subspan(grants.size() - 1));
}
MUTANT(PEER_2, SetAccess, "All locations of a call get the access of the first.") {
  std::vector<AccessGrant> same(grants.begin(), grants.end());
  for (AccessGrant& grant : same) grant.access = same[0].access;
  return Real::SetAccess(range, same);
}
MUTANT(PEER_2, SetAccess, "Only memory of the first device is granted to both.") {
  const auto mappings = MappingsIn(range);
  return Real::SetAccess(mappings.size() > 1 ? mappings.front() : range, grants);
}
MUTANT(PEER_3, Write, "A peer writes with the owner's access.") {
  return Real::Write(kFirst, destination, source, size);
}
MUTANT(PEER_3, Read, "A peer reads with the owner's access.") {
  return Real::Read(kFirst, destination, source, size);
}
MUTANT(PEER_3, Write, "A peer that may read may write.") {
  const bool reads = AccessAt(destination, 1) == Access::kRead;
  return Real::Write(reads ? kFirst : work, destination, source, size);
}
MUTANT(PEER_3, Write, "What a peer writes stays with the peer.") {
  const absl::Status status = Real::Write(work, destination, nullptr, Bytes(0));
  if (work.device != kSecond || AccessAt(destination, 1) != Access::kReadWrite) {
    return Real::Write(work, destination, source, size);
  }
  return status;
}
MUTANT_IF(PEER_3, Read, "A peer is refused in spite of its grant.", work.device == kSecond,
          Refuse())
MUTANT_IF(PEER_4, Write, "A copy does not cross the border of two devices.",
          LeavesMapping(destination, size), Refuse())
MUTANT(PEER_4, Move, "A copy between two devices moves nothing.") { return Ok(); }
MUTANT_IF(PEER_4, Map, "A reservation holds memory of one device.",
          Real::GetAllocationProperties(handle).value_or(AllocationProperties()).location.id == 1 &&
              IsMapped(range.base - Bytes(1)),
          Refuse())

class KeepsThePeersAccess : public Real {
 public:
  using Real::Real;
  CALL(Unmap) override {
    kept_ = AccessAt(range.base, 1);
    return Real::Unmap(range);
  }
  CALL(Map) override {
    const absl::Status status = Real::Map(range, handle, offset, flags);
    if (status.ok() && kept_ != Access::kNone) Grant(range, kept_, 1);
    return status;
  }

 private:
  Access kept_ = Access::kNone;
};
MUTANT_CLASS(PEER_5, KeepsThePeersAccess, "Unmapping ends the owner's access, not the peer's.")

MUTANT_AFTER(PEER_5, Map, "A mapping is granted to its owner.", true,
             Grant(range, Access::kReadWrite))
MUTANT(PEER_6, Create, "Memory of the second device is taken from the first.") {
  AllocationProperties first = properties;
  first.location.id = 0;
  return Real::Create(size, first, flags);
}
MUTANT(PEER_6, GetMemoryInfo, "All devices have the first one's memory.") {
  return Real::GetMemoryInfo(kFirst);
}
MUTANT(PEER_6, Create, "An allocation takes from both devices.") {
  AllocationProperties other = properties;
  other.location.id = 1 - properties.location.id;
  Real::Create(size, other, flags).IgnoreError();
  return Real::Create(size, properties, flags);
}
MUTANT(PEER_8, GetAccess, "The host is answered with the access of the owner.") {
  const bool host = location.type == LocationType::kHost;
  return Real::GetAccess(host ? Location::Device(kSecond) : location, address);
}
MUTANT(PEER_8, GetAccess, "A host NUMA node is answered with the widest access of all.") {
  const bool node = location.type == LocationType::kHostNuma;
  return Real::GetAccess(node ? Location::Device(kSecond) : location, address);
}
MUTANT(PEER_9, GetPointerAttribute, "Attributes are answered for the first device.") {
  return Real::GetPointerAttribute(kFirst, attribute, address);
}
MUTANT_IF(PEER_9, GetPointerAttribute, "The owner is the device that asks.",
          attribute == PointerAttribute::kDeviceOrdinal, static_cast<uint64_t>(device.value()))
MUTANT(PEER_9, GetAddressRange, "The address range is answered for the first device.") {
  return Real::GetAddressRange(kFirst, address);
}
MUTANT_IF_REFUSED(PEER_9, GetAddressRange, "The address range needs access of any device.",
                  Real::GetAddressRange(kSecond, address))

MUTANT(PEER_10, Write, "After a fault of one device the other's copies go on.") {
  const absl::Status status = Real::Write(work, destination, source, size);
  return work.device == kSecond ? Ok() : status;
}
MUTANT(PEER_10, SynchronizeDevice, "A fault of one device is not reported by the other.") {
  const absl::Status status = Real::SynchronizeDevice(device);
  return device == kSecond ? Ok() : status;
}
MUTANT(PEER_10, GetMemoryInfo, "After a fault of one device the other's memory is reported.") {
  const auto info = Real::GetMemoryInfo(device);
  return device == kSecond && !info.ok() ? MemoryInfo() : info;
}
MUTANT(PEER_10, Unmap, "After a fault of one device the other's memory stays mapped.") {
  const auto owner =
      Real::GetPointerAttribute(kFirst, PointerAttribute::kDeviceOrdinal, range.base);
  return owner.ok() && *owner == 1 ? Refuse(DriverCode::kIllegalAddress) : Real::Unmap(range);
}
MUTANT_IF(PEER_11, WaitEvent, "A stream cannot wait for an event of another device.",
          event.device() != stream.device(), Refuse(DriverCode::kInvalidHandle))
MUTANT_IF(PEER_11, WaitEvent, "A wait for an event of another device does nothing.",
          event.device() != stream.device(), Ok())
MUTANT(PEER_19, SetAccess,
       "A grant of memory for GPUDirect RDMA to a peer is reported, not made.") {
  const absl::Status status = Real::SetAccess(range, grants);
  return GetDriverCode(status) == DriverCode::kInvalidValue ? Ok() : status;
}
MUTANT_IF_REFUSED(PEER_19, SetAccess, "A grant to a peer that is not possible is NOT_SUPPORTED.",
                  Refuse(DriverCode::kNotSupported))

// Access that is refused stays as it reads.
class RemembersAccess : public Real {
 public:
  using Real::Real;
  CALL(SetAccess) override {
    const Access before = AccessAt(range.base, 1);
    const absl::Status status = Real::SetAccess(range, grants);
    if (!status.ok()) kept_ = {range.base, before};
    return status;
  }
  CALL(GetAccess) override {
    const bool refused = location == Location::Device(kSecond) && address == kept_.first;
    return refused ? kept_.second : Real::GetAccess(location, address);
  }

 private:
  std::pair<DeviceAddress, Access> kept_;
};
MUTANT_CLASS(PEER_19, RemembersAccess, "A grant to a peer that is refused changes nothing.")

MUTANT(PEER_19, Map, "Once the first mapping is gone, a new one cannot be granted to a peer.") {
  const bool second = !MappingsOf(handle).empty();
  const absl::Status status = Real::Map(range, handle, offset, flags);
  if (second && status.ok()) Remove({range.base, Bytes(1), Bytes(0)});
  return status;
}
MUTANT_ON("strict", PEER_19, SetAccess, "A peer's access to memory for RDMA is not changed.") {
  const auto rdma =
      Real::GetPointerAttribute(kFirst, PointerAttribute::kIsGpuDirectRdmaCapable, range.base);
  const bool changes = AccessAt(range.base, 1) != Access::kNone;
  return rdma.ok() && *rdma == 1 && changes ? Refuse() : Real::SetAccess(range, grants);
}

KERNEL_MUTANT(PEER_12, "A kernel fills memory of its own device only.") {
  const auto mapping = MappingAt(AddressIn(arguments, 0));
  if (!Is(kernel, "fill") || !mapping.has_value()) {
    return Real::Launch(stream, kernel, config, arguments);
  }
  const uint64_t words = mapping->size / Bytes(4);
  return Real::Launch(stream, kernel, config, {arguments[0], &words, arguments[2]});
}
KERNEL_MUTANT_IF(PEER_12, "Kernels of the second device do nothing.", stream.device() == kSecond,
                 Ok())
MUTANT_CLASS(PEER_13, LoadsWithoutAccess, "A kernel loads from a peer's memory without a grant.")
MUTANT_CLASS(PEER_13, AddsWithoutAccess, "A kernel adds to a peer's memory without a grant.")
MUTANT_CLASS(PEER_13, StoresWithoutAccess, "A kernel that may read a peer's memory stores there.")
KERNEL_MUTANT_IF(PEER_13, "A kernel faults where it may read a peer's memory.",
                 AccessAt(AddressIn(arguments, 0)) == Access::kRead,
                 Refuse(DriverCode::kIllegalAddress))

}  // namespace
}  // namespace twinmmu::conformance
