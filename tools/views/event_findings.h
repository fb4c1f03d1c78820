// EventFindings: what is wrong in a run, from its events, for systems that show it in sources.

#ifndef TWINMMU_TOOLS_VIEWS_EVENT_FINDINGS_H_
#define TWINMMU_TOOLS_VIEWS_EVENT_FINDINGS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/record/event.h"
#include "tools/annotations/annotations.h"
#include "tools/views/live_memory.h"

namespace twinmmu {

// Diagnostics, and what is left of memory at the end: each kind and place once. The place is that
// of the call.
class EventFindings : public record::EventSink {
 public:
  // More than these are counted only: nobody looks at as many.
  static constexpr size_t kMostFindings = 1000;

  // Places are below `source_root`, where they are in it.
  explicit EventFindings(std::string source_root) : source_root_(std::move(source_root)) {}

  void Add(const record::Event& event, const record::Stack& stack) override;
  std::vector<Annotation> Finish();
  // What found no room, in words, or empty; whole after Finish.
  std::string LeftOut() const;

 private:
  struct Finding {
    Annotation annotation;
    uint64_t count = 0;
    uint64_t bytes = 0;  // of what is left
  };
  // Null: it is beyond the most.
  Finding* FindingAt(const std::string& kind, const record::Stack& stack);

  const std::string source_root_;
  LiveMemory memory_;
  std::map<std::pair<std::string, std::string>, Finding> findings_;  // by kind and place
  uint64_t left_out_ = 0;
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_EVENT_FINDINGS_H_
