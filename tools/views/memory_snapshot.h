// MemorySnapshot: events as a snapshot of PyTorch's allocator, which its memory viewer opens.

#ifndef TWINMMU_TOOLS_VIEWS_MEMORY_SNAPSHOT_H_
#define TWINMMU_TOOLS_VIEWS_MEMORY_SNAPSHOT_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/record/event.h"
#include "tools/views/live_memory.h"
#include "tools/views/pickle.h"

namespace twinmmu {

// A reservation is an expandable segment. Its blocks are what its allocator has told of, such as a
// VirtualMemoryPool, or else its mappings. What cuMemAlloc or a pool of the driver gave is a
// segment with one block. The trace of a device has what was made and ended there, the last of it.
//
// The format knows one process: the devices of the first one have their numbers, those of others
// come behind them, in the order in which they first appear. Memory of the host is left out.
class MemorySnapshot : public record::EventSink {
 public:
  // Of all traces together: the oldest are forgotten.
  static constexpr size_t kMostEntries = 1'000'000;
  // What is beyond them is shown on the last one.
  static constexpr size_t kMostDevices = 1024;

  explicit MemorySnapshot(size_t most_entries = kMostEntries) : most_entries_(most_entries) {}

  void Add(const record::Event& event, const record::Stack& stack) override;
  // A pickle of protocol 2.
  std::string Finish();
  // What found no room, in words, or empty.
  std::string LeftOut() const;

 private:
  size_t PlaceOf(uint32_t process, int32_t device);
  // Of the trace of a device.
  struct Entry {
    const char* action;
    size_t place;
    uint64_t address;
    uint64_t bytes;
    uint64_t stream;
    uint64_t time_ns;
    const record::Stack* stack;
    // What says that a mapping is used counts unless the allocator says which blocks are.
    uint64_t unless_pooled;  // id of a reservation; 0: it counts in any case
  };
  void Tell(const char* action, const LiveObject& object, const record::Event& event,
            const record::Stack& stack);
  void Forget();
  // What Finish writes.
  void AddFrames(const record::Stack& stack);
  void AddBlock(const char* state, uint64_t address, uint64_t bytes, const record::Stack& stack);
  void AddSegment(const LiveObject& segment, const std::vector<const LiveObject*>& blocks);
  void AddSegments();
  void AddTraces();

  const size_t most_entries_;
  LiveMemory memory_;
  std::map<std::pair<uint32_t, int32_t>, size_t> places_;
  size_t place_count_ = 0;
  std::map<uint64_t, size_t> of_reservation_;  // the place of its first mapping, by id
  std::set<uint64_t> pooled_;                  // reservations whose allocator tells of blocks
  uint32_t first_process_ = 0;
  std::deque<Entry> entries_;
  uint64_t forgotten_ = 0;
  Pickle pickle_;
  std::map<const record::Stack*, uint32_t> kept_;  // frames that pickle_ has
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_MEMORY_SNAPSHOT_H_
