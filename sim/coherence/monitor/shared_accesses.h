// SharedAccesses: which bytes of memory that other processes have, too, an operation accessed.

#ifndef TWINMMU_SIM_COHERENCE_MONITOR_SHARED_ACCESSES_H_
#define TWINMMU_SIM_COHERENCE_MONITOR_SHARED_ACCESSES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/coherence/model/ordering.h"
#include "sim/coherence/model/page_map.h"

namespace twinmmu::coherence {

// Bytes that lie side by side, all read or all written by one operation.
struct SharedUse {
  LocationId first = 0;
  LocationId last = 0;
  bool writes = false;
  AccessEvent event;  // of the first access of them
};

// By the call that asked for the operation. Of too many calls the oldest are forgotten, of too many
// places of one those that came last. Can throw std::bad_alloc. Not thread-safe.
class SharedAccesses {
 public:
  bool empty() const { return regions_.empty(); }
  void Add(LocationId first, uint64_t size);
  void Remove(LocationId first);
  // Whether any of the bytes are shared.
  bool Has(LocationId first, uint64_t size) const;

  void Note(uint64_t call, const AccessEvent& event, LocationId first, uint64_t size, bool writes);
  // What was noted of the call, which is forgotten here.
  std::vector<SharedUse> Take(uint64_t call);
  void Forget() { uses_.clear(); }

 private:
  static constexpr size_t kMaxPlaces = 256;  // of an operation
  static constexpr size_t kMaxCalls = 1024;

  using Places = std::map<LocationId, SharedUse>;  // by their last byte; disjoint
  using Uses = std::array<Places, 2>;              // reads, writes

  std::map<LocationId, LocationId> regions_;  // first byte by the last one
  std::map<uint64_t, Uses> uses_;
};

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_MONITOR_SHARED_ACCESSES_H_
