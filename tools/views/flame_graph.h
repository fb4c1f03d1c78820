// FlameGraph: bytes by call stack, in the folded form that flame graph viewers read.

#ifndef TWINMMU_TOOLS_VIEWS_FLAME_GRAPH_H_
#define TWINMMU_TOOLS_VIEWS_FLAME_GRAPH_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "api/record/event.h"
#include "tools/views/live_memory.h"

namespace twinmmu {

// Physical memory: allocations, linear memory and pieces of pools. Two trees: "left", what is alive
// at the end, and "peak", what was alive when there was most of it.
//
//   left;main;Pool::Grow (pool.cc:42) 2097152
class FlameGraph : public record::EventSink {
 public:
  void Add(const record::Event& event, const record::Stack& stack) override;
  std::string Finish();
  // What found no room, in words, or empty.
  std::string LeftOut() const { return memory_.LeftOut(); }

 private:
  using Bytes = std::map<const record::Stack*, uint64_t>;
  void NotePeak();

  LiveMemory memory_;
  Bytes now_;
  Bytes peak_;
  std::set<const record::Stack*> changed_;  // since peak_ was noted
  uint64_t peak_bytes_ = 0;
  bool rising_ = false;  // there is more than ever, and peak_ does not have it yet
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_FLAME_GRAPH_H_
