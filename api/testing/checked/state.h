// TrackedState: what is there, as the calls that passed tell.

#ifndef TWINMMU_API_TESTING_CHECKED_STATE_H_
#define TWINMMU_API_TESTING_CHECKED_STATE_H_

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"

namespace twinmmu::checked {

struct TrackedReservation {
  AddressRange range;
  uint64_t made_by = 0;  // the id of the call, here and below
};

struct TrackedAllocation {
  AllocationHandle handle;
  std::optional<Bytes> size;                       // nothing: it was made elsewhere
  std::optional<AllocationProperties> properties;  // the same
  uint64_t references = 0;
  uint64_t mappings = 0;
  uint64_t made_by = 0;
  bool imported = false;
};

// The host and its NUMA nodes share one access, which stands under Location::Host().
using Grants = std::vector<AccessGrant>;  // one for each location: devices by number, the host last
void SetGrant(Grants& grants, const AccessGrant& grant);
Access AccessOf(const Grants& grants, const Location& location);
// Of several grants the last one to a location counts.
Grants GrantsOf(absl::Span<const AccessGrant> grants);

struct TrackedMapping {
  AddressRange range;
  std::shared_ptr<TrackedAllocation> allocation;
  Bytes offset;  // into it
  uint64_t made_by = 0;
  Grants grants;
};

// A descriptor that was handed out, and how it is known again.
struct TrackedDescriptor {
  int descriptor = -1;
  dev_t device = 0;
  ino_t inode = 0;
  std::shared_ptr<TrackedAllocation> allocation;
  uint64_t made_by = 0;
};
bool IsOpen(const TrackedDescriptor& exported);

// Follows what happened, whether it should have: a call that passed has done what it says. Ranges
// may be any; what is of size 0 is nowhere. Not thread-safe.
class TrackedState {
 public:
  // Null or nothing where there is none.
  const TrackedReservation* ReservationAt(DeviceAddress address) const;
  const TrackedMapping* MappingAt(DeviceAddress address) const;
  // The first mapping that is in `range`, wholly or in part.
  const TrackedMapping* FirstMapping(const AddressRange& range) const;
  // One of `range` that does not lie in it wholly.
  const TrackedMapping* FirstCutMapping(const AddressRange& range) const;
  // The first address of `range` where nothing is mapped.
  std::optional<DeviceAddress> FirstHole(const AddressRange& range) const;
  std::shared_ptr<TrackedAllocation> Find(AllocationHandle handle) const;
  // Given out, and gone; as far as that is remembered.
  bool IsDead(AllocationHandle handle) const { return dead_.count(handle) != 0; }

  void AddReservation(const TrackedReservation& reservation);
  // Takes it out. Nothing: there is none.
  std::optional<TrackedReservation> TakeReservation(DeviceAddress address);

  // With one reference. The handle may be one that a dead allocation had.
  void AddAllocation(TrackedAllocation allocation);
  void AddReference(AllocationHandle handle, uint64_t call);
  // Takes one reference away. Null: there was none.
  std::shared_ptr<TrackedAllocation> TakeReference(AllocationHandle handle);
  void PutBackReference(const std::shared_ptr<TrackedAllocation>& allocation);

  void AddMapping(TrackedMapping mapping);
  // Takes out all that is in `range`, wholly or in part.
  std::vector<TrackedMapping> TakeMappings(const AddressRange& range);
  // For the mapping at `base`, if there is one.
  void SetGrants(DeviceAddress base, const Grants& grants);
  // Calls change(access) for each mapping in `range`, wholly or in part.
  template <typename Change>
  void ForEachGrants(const AddressRange& range, const Change& change) {
    const TrackedMapping* mapping = FirstMapping(range);
    if (mapping == nullptr) return;
    for (auto at = mappings_.find(mapping->range.base);
         at != mappings_.end() && range.overlaps(at->second.range); ++at) {
      change(at->second.grants);
    }
  }

  void AddDescriptor(const TrackedDescriptor& exported);

  const std::map<DeviceAddress, TrackedReservation>& reservations() const { return reservations_; }
  const std::map<DeviceAddress, TrackedMapping>& mappings() const { return mappings_; }
  const std::map<AllocationHandle, std::shared_ptr<TrackedAllocation>>& allocations() const {
    return allocations_;
  }
  const std::vector<TrackedDescriptor>& descriptors() const { return descriptors_; }

 private:
  void ForgetIfUnused(const std::shared_ptr<TrackedAllocation>& allocation);
  void Revive(const std::shared_ptr<TrackedAllocation>& allocation);

  std::map<DeviceAddress, TrackedReservation> reservations_;  // by base, like the next
  std::map<DeviceAddress, TrackedMapping> mappings_;
  std::map<AllocationHandle, std::shared_ptr<TrackedAllocation>> allocations_;
  std::set<AllocationHandle> dead_;
  std::deque<AllocationHandle> died_;  // those of dead_ and others, oldest first
  std::vector<TrackedDescriptor> descriptors_;
};

}  // namespace twinmmu::checked

#endif  // TWINMMU_API_TESTING_CHECKED_STATE_H_
