// Drawing: a run as a picture in SVG, for documents: what lay where, when, and bytes over time.

#ifndef TWINMMU_TOOLS_VIEWS_DRAWING_DRAWING_H_
#define TWINMMU_TOOLS_VIEWS_DRAWING_DRAWING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "api/record/event.h"
#include "tools/views/timeline/timeline.h"

namespace twinmmu {

class Drawing : public record::EventSink {
 public:
  // Later ones than these, of those that change what lies where, are counted only.
  static constexpr size_t kMostEvents = 1'000'000;

  explicit Drawing(std::string title);
  void Add(const record::Event& event, const record::Stack& stack) override;

  // The picture, of what was added. It has the colours of light or dark, as who looks at it
  // prefers.
  std::string Finish();
  // What found no room, in words, or empty.
  std::string LeftOut() const;

 private:
  // What a picture marks.
  struct Mark {
    bool is_error = true;
    uint32_t process = 0;
    uint64_t time_ns = 0;
    uint64_t address = 0;
    std::string words;
  };

  const std::string title_;
  Timeline timeline_;
  std::vector<uint64_t> times_;  // Of each event of the timeline.
  size_t events_ = 0;            // All of them.
  size_t left_out_ = 0;
  uint64_t end_ns_ = 0;
  std::vector<Mark> marks_;
  size_t errors_ = 0;
  size_t warnings_ = 0;
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_DRAWING_DRAWING_H_
