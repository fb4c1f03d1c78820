// MemorySnapshot: events as a snapshot of PyTorch's allocator, which its memory viewer opens.

#ifndef TWINMMU_TOOLS_VIEWS_MEMORY_SNAPSHOT_H_
#define TWINMMU_TOOLS_VIEWS_MEMORY_SNAPSHOT_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/record/event.h"
#include "tools/views/live_memory.h"
#include "tools/views/pickle.h"

namespace twinmmu {

// A reservation is an expandable segment, with its mappings as blocks; what cuMemAlloc or a pool
// gave is a segment with one block. The trace of a device has all that was made and ended there.
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
  void Trace(size_t place, const char* action, const LiveObject& object, const record::Event& event,
             const record::Stack& stack);
  void AddBlock(const char* state, uint64_t address, uint64_t bytes, const record::Stack& stack);
  void AddSegment(const LiveObject& segment, const std::vector<const LiveObject*>& blocks);

  LiveMemory memory_;
  std::map<std::pair<uint32_t, int32_t>, size_t> places_;
  std::map<uint64_t, size_t> of_reservation_;  // the place of its first mapping, by id
  uint32_t first_process_ = 0;
  std::vector<Pickle> traces_;  // by place
  Pickle segments_;
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_MEMORY_SNAPSHOT_H_
