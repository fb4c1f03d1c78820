// Page: a run as one page of HTML, which needs nothing else: what lay where, when, and what went
// wrong.

#ifndef TWINMMU_TOOLS_VIEWS_PAGE_PAGE_H_
#define TWINMMU_TOOLS_VIEWS_PAGE_PAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "api/record/event.h"
#include "tools/views/timeline/timeline.h"

namespace twinmmu {

class Page : public record::EventSink {
 public:
  // More events than these, and browsers are no longer quick: the rest is counted only. Kernels,
  // copies and fills, of which there may be very many, get half of the room; errors find a tenth
  // more.
  static constexpr size_t kMostEvents = 1'000'000;
  // Bytes of all texts together. In place of a text that finds no room stands that it found none.
  static constexpr size_t kMostText = size_t{64} << 20;

  explicit Page(std::string title, size_t most_events = kMostEvents, size_t most_text = kMostText);
  // The program that a process runs, or whatever it is known by.
  void AddProcess(uint32_t id, std::string_view program);
  void Add(const record::Event& event, const record::Stack& stack) override;

  // The page, of what was added.
  std::string Finish();
  // What found no room, in words, or empty.
  std::string LeftOut() const;

 private:
  // Numbers of one field for all events. JavaScript has exact integers up to 2^53 only: larger
  // ones are strings, of hexadecimal digits.
  class Column {
   public:
    void Add(uint64_t value);
    void AddSigned(int64_t value);
    // A list; empty if all are `usual`.
    std::string List() const;
    bool has_unusual = false;

   private:
    std::string text_;
  };
  // Texts, each once, by number; the first is empty.
  class Texts {
   public:
    explicit Texts(size_t most) : most_(most) { NumberOf(""); }
    uint32_t NumberOf(std::string_view text);
    std::string List() const { return "[" + list_ + "]"; }
    size_t most() const { return most_; }
    uint64_t left_out() const { return left_out_; }

   private:
    const size_t most_;
    std::map<std::string, uint32_t, std::less<>> numbers_;
    std::string list_;
    uint64_t left_out_ = 0;
  };
  enum Field {
    kKind,
    kSeverity,
    kAccess,
    kDevice,
    kProcess,
    kThread,
    kTime,
    kDuration,
    kStream,
    kAddress,
    kBytes,
    kFrom,
    kAllocation,
    kOffset,
    kShared,
    kText,
    kCode,
    kStack,
    kFields
  };

  bool HasRoomFor(const record::Event& event);
  uint32_t NumberOfStack(uint32_t id, const record::Stack& stack);
  std::string EventsText() const;
  std::string SpansText(const std::vector<int32_t>& bands) const;

  const std::string title_;
  const size_t most_events_;
  size_t left_out_ = 0;
  size_t work_ = 0;  // Kernels, copies and fills.
  std::string programs_;
  Timeline timeline_;
  std::array<Column, kFields> columns_;
  Texts texts_;
  std::map<uint32_t, uint32_t> stacks_;  // Numbers by id.
  std::string stack_list_ = "[]";
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_PAGE_PAGE_H_
