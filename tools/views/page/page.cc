#include "tools/views/page/page.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/views/event_words.h"
#include "tools/views/page/page_texts.h"
#include "tools/views/page/script_text.h"
#include "tools/views/timeline/bands.h"

namespace twinmmu {
namespace {

using record::Event;
using record::EventKind;

// As in Page::Field.
constexpr const char* kFieldNames[] = {"kind",   "severity", "access",     "device", "process",
                                       "thread", "time",     "duration",   "stream", "address",
                                       "bytes",  "from",     "allocation", "offset", "shared",
                                       "text",   "code",     "stack"};

constexpr std::string_view kNoRoom = "(the page has no room for this text)";

}  // namespace

void Page::Column::Add(uint64_t value) {
  has_unusual |= value != 0;
  if (value < uint64_t{1} << 53) {
    absl::StrAppend(&text_, value, ",");
  } else {
    absl::StrAppend(&text_, "\"0x", absl::Hex(value), "\",");
  }
}

void Page::Column::AddSigned(int64_t value) {
  has_unusual |= value != 0;
  absl::StrAppend(&text_, value, ",");
}

std::string Page::Column::List() const {
  return has_unusual ? "[" + text_.substr(0, text_.size() - 1) + "]" : "[]";
}

uint32_t Page::Texts::NumberOf(std::string_view text) {
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  if (list_.size() + text.size() > most_ && text != kNoRoom) {
    ++left_out_;
    return NumberOf(kNoRoom);
  }
  const auto number = static_cast<uint32_t>(numbers_.size());
  numbers_.emplace(text, number);
  if (number > 0) list_ += ",";
  list_ += ScriptText(text);
  return number;
}

Page::Page(std::string title, size_t most_events, size_t most_text)
    : title_(std::move(title)), most_events_(most_events), texts_(most_text) {}

void Page::AddProcess(uint32_t id, std::string_view program) {
  absl::StrAppend(&programs_, programs_.empty() ? "" : ",", "[", id, ",", ScriptText(program), "]");
}

void Page::Add(const Event& event, const record::Stack& stack) {
  if (!HasRoomFor(event)) {
    ++left_out_;
    return;
  }
  timeline_.Add(event);
  columns_[kKind].Add(static_cast<uint64_t>(event.kind));
  columns_[kSeverity].Add(static_cast<uint64_t>(event.severity));
  columns_[kAccess].Add(event.access);
  columns_[kDevice].AddSigned(event.device);
  columns_[kProcess].Add(event.process);
  columns_[kThread].Add(event.thread);
  columns_[kTime].Add(event.time_ns);
  columns_[kDuration].Add(event.duration_ns);
  columns_[kStream].Add(event.stream);
  columns_[kAddress].Add(event.address);
  columns_[kBytes].Add(event.bytes);
  columns_[kFrom].Add(event.from);
  columns_[kAllocation].Add(event.allocation);
  columns_[kOffset].Add(event.offset);
  columns_[kShared].Add(event.shared);
  columns_[kText].Add(texts_.NumberOf(event.text));
  columns_[kCode].Add(texts_.NumberOf(event.code));
  columns_[kStack].Add(NumberOfStack(event.stack, stack));
}

bool Page::HasRoomFor(const Event& event) {
  const size_t events = timeline_.events();
  if (event.severity != record::Severity::kNone) return events < most_events_ + most_events_ / 10;
  const bool is_work = event.kind == EventKind::kLaunch || event.kind == EventKind::kCopy ||
                       event.kind == EventKind::kFill;
  if (events >= most_events_ || (is_work && work_ >= most_events_ / 2)) return false;
  work_ += is_work ? 1 : 0;
  return true;
}

std::string Page::LeftOut() const {
  if (left_out_ != 0) return absl::StrCat(left_out_, " events: it has room for ", most_events_);
  if (texts_.left_out() == 0) return "";
  return absl::StrCat(texts_.left_out(), " texts: it has room for ", SizeInWords(texts_.most()));
}

uint32_t Page::NumberOfStack(uint32_t id, const record::Stack& stack) {
  if (id == 0 || stack.empty()) return 0;
  const auto [entry, is_new] = stacks_.emplace(id, static_cast<uint32_t>(stacks_.size() + 1));
  if (is_new) {
    stack_list_ += ",[";
    for (const record::Frame& frame : stack) {
      if (&frame != &stack.front()) stack_list_ += ",";
      const uint32_t function = texts_.NumberOf(frame.function);
      absl::StrAppend(&stack_list_, "[", function, ",", texts_.NumberOf(frame.file), ",",
                      frame.line, "]");
    }
    stack_list_ += "]";
  }
  return entry->second;
}

std::string Page::EventsText() const {
  std::string text = absl::StrCat("{\"count\":", timeline_.events());
  for (size_t i = 0; i < kFields; ++i)
    absl::StrAppend(&text, ",\n\"", kFieldNames[i], "\":", columns_[i].List());
  return text + "}";
}

std::string Page::SpansText(const std::vector<int32_t>& bands) const {
  Column kind, aliased, process, device, begin, end, memory, address, bytes, offset, band;
  for (size_t i = 0; i < timeline_.spans().size(); ++i) {
    const Span& span = timeline_.spans()[i];
    kind.Add(static_cast<uint64_t>(span.kind));
    aliased.Add(span.aliased ? 1 : 0);
    process.Add(span.process);
    device.AddSigned(span.device);
    begin.Add(span.begin);
    end.Add(span.end == kStillThere ? timeline_.events() : span.end);
    memory.Add(span.memory);
    address.Add(span.address);
    bytes.Add(span.bytes);
    offset.Add(span.offset);
    band.AddSigned(bands[i]);
  }
  std::string text = absl::StrCat("{\"count\":", timeline_.spans().size());
  const std::pair<const char*, const Column*> columns[] = {
      {"kind", &kind},   {"aliased", &aliased}, {"process", &process}, {"device", &device},
      {"begin", &begin}, {"end", &end},         {"memory", &memory},   {"address", &address},
      {"bytes", &bytes}, {"offset", &offset},   {"band", &band}};
  for (const auto& [name, column] : columns)
    absl::StrAppend(&text, ",\n\"", name, "\":", column->List());
  Column span, event;
  for (const AccessChange& change : timeline_.access_changes()) {
    span.Add(change.span);
    event.Add(change.event);
  }
  return absl::StrCat(text, ",\n\"changes\":", timeline_.access_changes().size(),
                      ",\n\"changedSpan\":", span.List(), ",\n\"changedBy\":", event.List(), "}");
}

std::string Page::Finish() {
  const Bands bands = BandsOf(timeline_);
  std::string kinds;
#define TWINMMU_EVENT_WORD(name, word) \
  absl::StrAppend(&kinds, kinds.empty() ? "" : ",", ScriptText(word));
  TWINMMU_EVENT_KINDS(TWINMMU_EVENT_WORD)
#undef TWINMMU_EVENT_WORD
  std::string band_list;
  for (const Band& band : bands.bands) {
    Column numbers;
    numbers.has_unusual = true;
    numbers.Add(static_cast<uint64_t>(band.kind));
    numbers.Add(band.reserved ? 1 : 0);
    numbers.Add(band.process);
    numbers.Add(band.address);
    numbers.Add(band.bytes);
    for (const Stretch& stretch : band.stretches) {
      numbers.Add(stretch.address);
      numbers.Add(stretch.bytes);
      numbers.Add(stretch.skipped ? 1 : 0);
    }
    absl::StrAppend(&band_list, band_list.empty() ? "" : ",\n", numbers.List());
  }
  return absl::StrCat(kPageBeforeData, "{\"title\":", ScriptText(title_),
                      ",\"leftOut\":", left_out_, ",\"programs\":[", programs_, "]", ",\"kinds\":[",
                      kinds, "],\n\"texts\":", texts_.List(), ",\n\"stacks\":[", stack_list_,
                      "],\n\"events\":", EventsText(), ",\n\"spans\":", SpansText(bands.of_span),
                      ",\n\"bands\":[", band_list, "]}\n", kPageAfterData);
}

}  // namespace twinmmu
