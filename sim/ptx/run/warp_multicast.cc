// Where the accesses of a warp go that have multicast addresses.

#include <utility>

#include "sim/ptx/run/block.h"
#include "sim/ptx/run/steps.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {

uint64_t Warp::AddressOf(const MemoryAccess& access, uint32_t address_slot, int lane) {
  return access.wide ? Slot<uint64_t>(address_slot)[lane] + access.offset
                     : Slot<uint32_t>(address_slot)[lane] + static_cast<uint32_t>(access.offset);
}

bool Warp::IsMulticast(const MemoryAccess& access, uint64_t address) const {
  const bool may_be = access.space == Space::kGlobal || access.space == Space::kGeneric;
  return may_be && block_.grid().environment.mmu->IsMulticast(DeviceAddress(address));
}

// False: a fault, which is noted.
bool Warp::AddReplicas(const MemoryAccess& access, uint64_t address, int lane) {
  const uint32_t size = access.size();
  const DeviceAddress at(address);
  TranslationCache::Multicast found;
  if (!block_.cache().FindMulticast(at, size, access.access, &found)) {
    const bool ordinary = block_.cache().Find(at, size, access.access) != nullptr;
    FaultAt(ordinary ? GridFault::kNoMulticastAddress : GridFault::kIllegalAddress, lane, access,
            address);
    block_.fault().words = std::move(found.missing);
    return false;
  }
  const Lanes bit = Lanes{1} << lane;
  const bool active = block_.aliases().active();
  for (size_t i = 0; i < found.replicas.size(); ++i) {
    if (i == replicas_.size()) replicas_.emplace_back();
    ReplicaLanes& replica = replicas_[i];
    const bool armed = found.replicas[i].pages->IsArmed() || block_.aliases().watches_all();
    replica.lanes |= bit;
    replica.memory[lane] = found.replicas[i].memory;
    replica.observed.addresses[lane] = found.address_id;
    if (active && armed) replica.observed.armed |= bit;
    if (active && (armed || access.strength.IsStrong())) replica.observed.lanes |= bit;
  }
  return true;
}

Lanes Warp::AtMulticast(const MemoryAccess& access, uint32_t address_slot, Lanes lanes) {
  Lanes found = 0;
  ForEachLane(lanes, [&](int lane) {
    if (IsMulticast(access, AddressOf(access, address_slot, lane))) found |= Lanes{1} << lane;
  });
  return found;
}

const std::vector<ReplicaLanes>& Warp::ResolveMulticast(const MemoryAccess& access,
                                                        uint32_t address_slot, Lanes lanes) {
  replicas_.clear();
  for (Lanes left = lanes; left != 0; left &= left - 1) {
    const int lane = __builtin_ctz(left);
    const uint64_t address = AddressOf(access, address_slot, lane);
    const bool aligned = address % access.size() == 0;
    if (!aligned) FaultAt(GridFault::kMisalignedAddress, lane, access, address);
    if (aligned && AddReplicas(access, address, lane)) continue;
    replicas_.clear();
    break;
  }
  return replicas_;
}

}  // namespace twinmmu::ptx
