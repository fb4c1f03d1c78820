#include "api/testing/checked/state.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace twinmmu::checked {
namespace {

// Of dead handles. A program that uses one does so soon.
constexpr size_t kMostDead = 16384;

// Where access of `location` stands among others.
Location OwnerOf(const Location& location) {
  return location.type == LocationType::kDevice ? location : Location::Host();
}
bool IsBefore(const AccessGrant& a, const AccessGrant& b) {
  return std::pair(a.location.type, a.location.id) < std::pair(b.location.type, b.location.id);
}

// The entry of a map by base that contains `address`, or the end.
template <typename Map>
auto FindAt(Map& map, DeviceAddress address) {
  auto at = map.upper_bound(address);
  if (at == map.begin()) return map.end();
  --at;
  return at->second.range.contains(address) ? at : map.end();
}

// The first one that has an address of `range`, or the end.
template <typename Map>
auto FindIn(Map& map, const AddressRange& range) {
  auto at = FindAt(map, range.base);
  if (at == map.end()) at = map.lower_bound(range.base);
  return at != map.end() && range.overlaps(at->second.range) ? at : map.end();
}

}  // namespace

void SetGrant(Grants& grants, const AccessGrant& grant) {
  const AccessGrant wanted{OwnerOf(grant.location), grant.access};
  const auto at = std::lower_bound(grants.begin(), grants.end(), wanted, IsBefore);
  if (at != grants.end() && at->location == wanted.location) {
    at->access = wanted.access;
  } else {
    grants.insert(at, wanted);
  }
}

Access AccessOf(const Grants& grants, const Location& location) {
  for (const AccessGrant& grant : grants) {
    if (grant.location == OwnerOf(location)) return grant.access;
  }
  return Access::kNone;
}

Grants GrantsOf(absl::Span<const AccessGrant> grants) {
  Grants result;
  for (const AccessGrant& grant : grants) SetGrant(result, grant);
  return result;
}

bool IsOpen(const TrackedDescriptor& exported) {
  struct stat now;
  return fstat(exported.descriptor, &now) == 0 && now.st_dev == exported.device &&
         now.st_ino == exported.inode;
}

// --- What is there

const TrackedReservation* TrackedState::ReservationAt(DeviceAddress address) const {
  const auto at = FindAt(reservations_, address);
  return at == reservations_.end() ? nullptr : &at->second;
}

const TrackedMapping* TrackedState::MappingAt(DeviceAddress address) const {
  const auto at = FindAt(mappings_, address);
  return at == mappings_.end() ? nullptr : &at->second;
}

const TrackedMapping* TrackedState::FirstMapping(const AddressRange& range) const {
  const auto at = FindIn(mappings_, range);
  return at == mappings_.end() ? nullptr : &at->second;
}

const TrackedMapping* TrackedState::FirstCutMapping(const AddressRange& range) const {
  for (auto at = FindIn(mappings_, range);
       at != mappings_.end() && range.overlaps(at->second.range); ++at) {
    if (!range.contains(at->second.range)) return &at->second;
  }
  return nullptr;
}

std::optional<DeviceAddress> TrackedState::FirstHole(const AddressRange& range) const {
  DeviceAddress address = range.base;
  while (address < range.end()) {
    const TrackedMapping* mapping = MappingAt(address);
    if (mapping == nullptr) return address;
    address = mapping->range.end();
  }
  return std::nullopt;
}

std::shared_ptr<TrackedAllocation> TrackedState::Find(AllocationHandle handle) const {
  const auto at = allocations_.find(handle);
  return at == allocations_.end() ? nullptr : at->second;
}

// --- Reservations

void TrackedState::AddReservation(const TrackedReservation& reservation) {
  for (auto old = FindIn(reservations_, reservation.range); old != reservations_.end();
       old = FindIn(reservations_, reservation.range)) {
    reservations_.erase(old);  // it was freed by another way
  }
  reservations_[reservation.range.base] = reservation;
}

std::optional<TrackedReservation> TrackedState::TakeReservation(DeviceAddress address) {
  const auto at = FindAt(reservations_, address);
  if (at == reservations_.end()) return std::nullopt;
  const TrackedReservation taken = at->second;
  reservations_.erase(at);
  return taken;
}

// --- Allocations

void TrackedState::Revive(const std::shared_ptr<TrackedAllocation>& allocation) {
  allocations_[allocation->handle] = allocation;
  dead_.erase(allocation->handle);
}

void TrackedState::ForgetIfUnused(const std::shared_ptr<TrackedAllocation>& allocation) {
  if (allocation->references != 0 || allocation->mappings != 0) return;
  if (Find(allocation->handle) != allocation) return;
  allocations_.erase(allocation->handle);
  dead_.insert(allocation->handle);
  died_.push_back(allocation->handle);
  if (died_.size() <= kMostDead) return;
  dead_.erase(died_.front());
  died_.pop_front();
}

void TrackedState::AddAllocation(TrackedAllocation allocation) {
  allocation.references = 1;
  Revive(std::make_shared<TrackedAllocation>(std::move(allocation)));
}

void TrackedState::AddReference(AllocationHandle handle, uint64_t call) {
  const std::shared_ptr<TrackedAllocation> known = Find(handle);
  if (known != nullptr) {
    ++known->references;
    return;
  }
  TrackedAllocation foreign;
  foreign.handle = handle;
  foreign.made_by = call;
  AddAllocation(foreign);
}

std::shared_ptr<TrackedAllocation> TrackedState::TakeReference(AllocationHandle handle) {
  std::shared_ptr<TrackedAllocation> known = Find(handle);
  if (known == nullptr || known->references == 0) return nullptr;
  --known->references;
  ForgetIfUnused(known);
  return known;
}

void TrackedState::PutBackReference(const std::shared_ptr<TrackedAllocation>& allocation) {
  ++allocation->references;
  Revive(allocation);
}

// --- Mappings

void TrackedState::AddMapping(TrackedMapping mapping) {
  TakeMappings(mapping.range);  // what the driver has put this over
  ++mapping.allocation->mappings;
  Revive(mapping.allocation);  // it may have been taken for gone
  mappings_[mapping.range.base] = std::move(mapping);
}

std::vector<TrackedMapping> TrackedState::TakeMappings(const AddressRange& range) {
  std::vector<TrackedMapping> taken;
  for (auto at = FindIn(mappings_, range);
       at != mappings_.end() && range.overlaps(at->second.range);) {
    --at->second.allocation->mappings;
    ForgetIfUnused(at->second.allocation);
    taken.push_back(std::move(at->second));
    at = mappings_.erase(at);
  }
  return taken;
}

void TrackedState::SetGrants(DeviceAddress base, const Grants& grants) {
  const auto at = mappings_.find(base);
  if (at != mappings_.end()) at->second.grants = grants;
}

void TrackedState::AddDescriptor(const TrackedDescriptor& exported) {
  const auto is_closed = [&](const TrackedDescriptor& old) {
    return old.descriptor == exported.descriptor || !IsOpen(old);
  };
  descriptors_.erase(std::remove_if(descriptors_.begin(), descriptors_.end(), is_closed),
                     descriptors_.end());
  descriptors_.push_back(exported);
}

}  // namespace twinmmu::checked
