#include "tools/views/trace.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/views/event_words.h"

namespace twinmmu {
namespace {

using record::Event;
using record::EventKind;
using record::Stack;

// Behind the ids of threads, which have tracks of their own.
constexpr uint64_t kTrackOfOthers = 999'999'999;
constexpr uint64_t kFirstTrack = 1'000'000'000;

// The format counts in microseconds.
double Micros(uint64_t ns) { return static_cast<double>(ns) / 1000; }

std::string Hex(uint64_t value) { return absl::StrCat("0x", absl::Hex(value)); }

nlohmann::ordered_json FramesOf(const Stack& stack) {
  nlohmann::ordered_json frames = nlohmann::ordered_json::array();
  for (const record::Frame& frame : stack) frames.push_back(InWords(frame));
  return frames;
}

}  // namespace

Trace::Trace(std::ostream* out, size_t most_tracks) : out_(*out), most_tracks_(most_tracks) {
  out_ << "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"producer\":\"TwinMMU\"},"
          "\"traceEvents\":[";
}

void Trace::Write(const Json& json) {
  out_ << (std::exchange(first_, false) ? "\n" : ",\n")
       << json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void Trace::Finish() {
  std::vector<LiveObject> left;
  memory_.ForEach([&](const LiveObject& object) { left.push_back(object); });
  for (const LiveObject& object : left) WriteEnded(object, last_ns_);
  out_ << "\n]}\n";
}

void Trace::AddProcess(const record::ProcessInfo& process) {
  const std::string name = process.program.substr(process.program.rfind('/') + 1);
  Write({{"ph", "M"},
         {"name", "process_name"},
         {"pid", process.id},
         {"tid", 0},
         {"args", {{"name", name}}}});
}

uint64_t Trace::TrackOf(uint32_t process, const std::string& name) {
  const auto known = tracks_.find({process, name});
  if (known != tracks_.end()) return known->second;
  if (tracks_.size() == most_tracks_) {
    if (without_track_++ == 0) NameTrack(process, kTrackOfOthers, "all others");
    return kTrackOfOthers;
  }
  const uint64_t track = kFirstTrack + tracks_.size();
  tracks_.emplace(std::pair(process, name), track);
  NameTrack(process, track, name);
  return track;
}

void Trace::NameTrack(uint32_t process, uint64_t track, const std::string& name) {
  Write({{"ph", "M"},
         {"name", "thread_name"},
         {"pid", process},
         {"tid", track},
         {"args", {{"name", name}}}});
}

std::string Trace::LeftOut() const {
  if (without_track_ == 0) return memory_.LeftOut();
  return absl::StrCat("the tracks of ", without_track_, " slices: it has ", most_tracks_);
}

Trace::Json Trace::Common(const Event& event, const char* phase, const std::string& name,
                          uint64_t track) const {
  return {{"ph", phase},          {"name", name}, {"cat", std::string(record::Word(event.kind))},
          {"pid", event.process}, {"tid", track}, {"ts", Micros(event.time_ns)}};
}

void Trace::WriteAsync(const LiveObject& object, const char* phase, uint64_t time_ns) {
  const bool is_allocation = object.kind == LiveKind::kAllocation;
  Json json = {{"ph", phase},
               {"name", absl::StrCat(WordOf(object.kind), " ", Hex(object.address))},
               {"cat", WordOf(object.kind)},
               {"id", Hex(object.id)},
               {"pid", object.process},
               {"tid", 0},
               {"ts", Micros(time_ns)}};
  if (*phase == 'b') {
    json["args"] = {{"bytes", object.bytes}, {"device", InWords(object.device)}};
    if (!is_allocation && object.allocation != 0) {
      json["args"]["allocation"] = Hex(object.allocation);
      json["args"]["offset"] = object.offset;
    }
    json["args"]["stack"] = FramesOf(*object.stack);
  }
  Write(json);
}

// At its end: a slice is written whole.
void Trace::WriteReservation(const LiveObject& object, uint64_t end_ns) {
  const uint64_t track = TrackOf(object.process, absl::StrCat("reservation ", Hex(object.address)));
  Write({{"ph", "X"},
         {"name", absl::StrCat("reserved ", SizeInWords(object.bytes))},
         {"cat", "reservation"},
         {"pid", object.process},
         {"tid", track},
         {"ts", Micros(object.made_ns)},
         {"dur", Micros(end_ns - std::min(end_ns, object.made_ns))},
         {"args",
          {{"address", Hex(object.address)},
           {"bytes", object.bytes},
           {"stack", FramesOf(*object.stack)}}}});
}

void Trace::WriteEnded(const LiveObject& object, uint64_t time_ns) {
  if (object.kind == LiveKind::kReservation) return WriteReservation(object, time_ns);
  WriteAsync(object, "e", time_ns);
}

void Trace::WriteCounters(const Event& event) {
  const MemoryTotals totals = memory_.TotalsOf(event.process);
  Write({{"ph", "C"},
         {"name", "bytes"},
         {"pid", event.process},
         {"tid", 0},
         {"ts", Micros(event.time_ns)},
         {"args",
          {{"reserved", totals.reserved},
           {"mapped", totals.mapped},
           {"created", totals.created},
           {"allocated", totals.allocated}}}});
}

void Trace::WriteInstant(const Event& event, const Stack& stack) {
  const std::string name =
      event.code.empty() ? absl::StrCat(TitleOf(event), " failed") : std::string(event.code);
  Json json = Common(event, "i", name, event.thread);
  json["s"] = "t";
  json["args"] = {{"text", std::string(event.text)}, {"stack", FramesOf(stack)}};
  if (event.address != 0) json["args"]["address"] = Hex(event.address);
  Write(json);
}

void Trace::WriteWork(const Event& event, const Stack& stack) {
  const std::string stream =
      event.stream == 0 ? "default stream" : absl::StrCat("stream ", event.stream);
  Json json = Common(event, "X", TitleOf(event),
                     TrackOf(event.process, absl::StrCat(InWords(event.device), ", ", stream)));
  json["dur"] = Micros(event.duration_ns);
  json["args"] = {{"stack", FramesOf(stack)}};
  if (event.kind != EventKind::kLaunch) {
    json["args"]["bytes"] = event.bytes;
    json["args"]["written"] = Hex(event.address);
    if (event.kind == EventKind::kCopy) json["args"]["read"] = Hex(event.from);
  }
  Write(json);
}

// An arrow goes from slice to slice; so there are short ones.
void Trace::WriteShared(const Event& event, const Stack& stack) {
  Json slice = Common(event, "X", TitleOf(event), event.thread);
  slice["dur"] = 1;
  slice["args"] = {{"allocation", Hex(event.allocation)}, {"stack", FramesOf(stack)}};
  Write(slice);
  if (event.kind == EventKind::kExport) {
    if (exports_.size() < kMostExports)
      exports_.emplace(event.shared, Place{event.process, event.thread, Micros(event.time_ns)});
    return;
  }
  const auto from = exports_.find(event.shared);
  if (from == exports_.end()) return;
  const std::string id = Hex(++arrows_);
  Write({{"ph", "s"},
         {"name", "shared"},
         {"cat", "shared"},
         {"id", id},
         {"pid", from->second.process},
         {"tid", from->second.track},
         {"ts", from->second.at}});
  Write({{"ph", "f"},
         {"bp", "e"},
         {"name", "shared"},
         {"cat", "shared"},
         {"id", id},
         {"pid", event.process},
         {"tid", event.thread},
         {"ts", Micros(event.time_ns)}});
}

void Trace::Add(const Event& event, const Stack& stack) {
  last_ns_ = std::max(last_ns_, event.time_ns + event.duration_ns);
  switch (event.kind) {
    case EventKind::kLaunch:
    case EventKind::kCopy:
    case EventKind::kFill:
      return WriteWork(event, stack);
    case EventKind::kFault:
    case EventKind::kDiagnostic:
      return WriteInstant(event, stack);
    default:
      break;
  }
  if (event.severity == record::Severity::kError) return WriteInstant(event, stack);
  if (event.kind == EventKind::kExport || event.kind == EventKind::kImport)
    WriteShared(event, stack);
  const MemoryChange change = memory_.Apply(event, stack);
  for (const LiveObject& object : change.ended) WriteEnded(object, event.time_ns);
  for (const LiveObject* const made : change.made) {
    if (made->kind != LiveKind::kReservation) WriteAsync(*made, "b", event.time_ns);
  }
  if (!change.made.empty() || !change.ended.empty()) WriteCounters(event);
}

}  // namespace twinmmu
