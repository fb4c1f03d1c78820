// LiveMemory: what the processes of a run have of memory, from one event to the next.

#ifndef TWINMMU_TOOLS_VIEWS_LIVE_MEMORY_H_
#define TWINMMU_TOOLS_VIEWS_LIVE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "api/record/event.h"

namespace twinmmu {

enum class LiveKind { kReservation, kAllocation, kMapping, kBlock };

// Something that was made and is not gone.
struct LiveObject {
  LiveKind kind = LiveKind::kReservation;
  uint64_t id = 0;  // no other of the run has it
  uint32_t process = 0;
  int32_t device = record::kHost;
  uint64_t stream = 0;
  uint64_t address = 0;  // of an allocation: its id
  uint64_t bytes = 0;
  uint64_t allocation = 0;  // of a mapping
  uint64_t offset = 0;
  uint64_t made_ns = 0;
  bool imported = false;                 // an allocation whose memory another process made
  bool mapped = false;                   // a block of mapped memory: its bytes are counted there
  bool released = false;                 // an allocation that lives by its mappings only
  uint64_t mappings = 0;                 // of an allocation
  const record::Stack* stack = nullptr;  // not null
};

// In bytes.
struct MemoryTotals {
  uint64_t reserved = 0;
  uint64_t mapped = 0;
  uint64_t created = 0;    // by cuMemCreate, and not gone
  uint64_t allocated = 0;  // linear memory, and of pools, unless it is mapped

  uint64_t physical() const { return created + allocated; }
  bool empty() const { return (reserved | mapped | created | allocated) == 0; }
};

// What an event changed. Of a block that is given back in part, what is left is made anew.
struct MemoryChange {
  std::vector<const LiveObject*> made;
  std::vector<LiveObject> ended;
};

// Events may be any: what ends nothing is passed over, and what is made over something ends it.
class LiveMemory {
 public:
  // What is made while so much is there is counted only.
  static constexpr size_t kMostObjects = 1'000'000;

  explicit LiveMemory(size_t most_objects = kMostObjects) : most_objects_(most_objects) {}

  MemoryChange Apply(const record::Event& event, const record::Stack& stack);

  MemoryTotals TotalsOf(uint32_t process) const;
  const MemoryTotals& totals() const { return totals_; }
  // The reservation that has this address, or null.
  const LiveObject* ReservationAt(uint32_t process, uint64_t address) const;
  // The allocation of this id, or null.
  const LiveObject* Allocation(uint32_t process, uint64_t id) const;

  // "12 objects: there were more than 1000000 at once", or empty.
  std::string LeftOut() const;

  // Visits what is there, by process and kind; an allocation that is mapped only once is visited
  // too.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const auto& [key, object] : objects_) visit(object);
  }

 private:
  using Key = std::tuple<uint32_t, LiveKind, uint64_t>;  // process, address
  using Objects = std::map<Key, LiveObject>;

  void Make(LiveKind kind, const record::Event& event, const record::Stack& stack,
            MemoryChange* change);
  void Keep(const LiveObject& object, MemoryChange* change);
  void EndAt(Key key, MemoryChange* change);
  void EndIn(Key key, uint64_t bytes, MemoryChange* change);
  // Blocks that have a part of it.
  void FreeBlocks(uint32_t process, uint64_t address, uint64_t bytes, MemoryChange* change);
  void End(Objects::iterator object, MemoryChange* change);
  void Release(uint32_t process, uint64_t allocation, MemoryChange* change);
  void Count(const LiveObject& object, bool made);

  const size_t most_objects_;
  Objects objects_;
  std::map<uint32_t, MemoryTotals> by_process_;  // of those that have something
  uint64_t left_out_ = 0;
  MemoryTotals totals_;
  uint64_t next_id_ = 1;
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_LIVE_MEMORY_H_
