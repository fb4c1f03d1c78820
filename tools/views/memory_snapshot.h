// MemorySnapshot: events as a snapshot of PyTorch's allocator, which its memory viewer opens.

#ifndef TWINMMU_TOOLS_VIEWS_MEMORY_SNAPSHOT_H_
#define TWINMMU_TOOLS_VIEWS_MEMORY_SNAPSHOT_H_

#include <cstdint>
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
// segment with one block. The trace of a device has all that was made and ended there.
//
// The format knows one process: the devices of the first one have their numbers, those of others
// come behind them, in the order in which they first appear. Memory of the host is left out.
class MemorySnapshot : public record::EventSink {
 public:
  void Add(const record::Event& event, const record::Stack& stack) override;
  // A pickle of protocol 2.
  std::string Finish();

 private:
  size_t PlaceOf(uint32_t process, int32_t device);
  // One device's.
  struct DeviceTrace {
    // What says that a mapping is used counts unless the allocator says which blocks are.
    struct Part {
      uint64_t unless_pooled = 0;  // id of a reservation; 0: it counts in any case
      Pickle entries;
    };
    std::vector<Part> parts;
  };
  void Tell(const char* action, const LiveObject& object, const record::Event& event,
            const record::Stack& stack);
  void AddBlock(const char* state, uint64_t address, uint64_t bytes, const record::Stack& stack);
  void AddSegment(const LiveObject& segment, const std::vector<const LiveObject*>& blocks);

  LiveMemory memory_;
  std::map<std::pair<uint32_t, int32_t>, size_t> places_;
  std::map<uint64_t, size_t> of_reservation_;  // the place of its first mapping, by id
  std::set<uint64_t> pooled_;                  // reservations whose allocator tells of blocks
  uint32_t first_process_ = 0;
  std::vector<DeviceTrace> traces_;  // by place
  Pickle segments_;
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_MEMORY_SNAPSHOT_H_
