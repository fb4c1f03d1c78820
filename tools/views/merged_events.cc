#include "tools/views/merged_events.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "api/record/event_writer.h"
#include "sim/libcuda/report/report_reader.h"
#include "tools/run/symbolize.h"

namespace twinmmu {
namespace {

using record::EventReader;
using record::Frame;
using record::Place;

// Of places in all files together: a process has some thousand. Who reads more of them gives
// UnknownFrame.
constexpr size_t kMostPlaces = 1 << 17;

// The names of places, once they are known.
using Names = std::map<std::pair<std::string, uint64_t>, Frame>;

// "/src/pool.cc:42" is a file and a line.
Frame FrameOf(const libcuda::Site& site) {
  Frame frame = record::UnknownFrame({site.module, site.offset});
  if (!site.symbol.empty()) frame.function = site.symbol;
  const size_t colon = site.source.rfind(':');
  if (colon == std::string::npos) return frame;
  frame.file = site.source.substr(0, colon);
  if (!absl::SimpleAtoi(site.source.substr(colon + 1), &frame.line)) frame.line = 0;
  return frame;
}

// A run may have more processes than a process may usually open files.
void AllowOpenFiles(size_t count) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = limit.rlim_cur + count;
  if (wanted < limit.rlim_cur) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Asks all at once: to symbolise is slow.
void FindNames(Names* names) {
  std::vector<libcuda::Site> sites(names->size());
  std::vector<libcuda::Site*> pointers;
  for (const auto& [place, frame] : *names) {
    libcuda::Site& site = sites[pointers.size()];
    site.module = place.first;
    site.offset = place.second;
    pointers.push_back(&site);
  }
  Symbolize(pointers);
  auto site = sites.begin();
  for (auto& [place, frame] : *names) frame = FrameOf(*site++);
}

// Notes all places of what a process wrote.
absl::Status LookThrough(const std::string& path, Names* names) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is what a process wrote, which is read twice: name a file, not a pipe"));
  }
  const auto note = [&](const Place& place) {
    if (names->size() < kMostPlaces) names->try_emplace({place.module, place.offset});
    return Frame();
  };
  const absl::StatusOr<std::unique_ptr<EventReader>> reader = EventReader::Open(path, note);
  if (!reader.ok()) return reader.status();
  record::Event event;
  const record::Stack* stack = nullptr;
  while ((*reader)->Next(&event, &stack)) {
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<MergedEvents>> MergedEvents::Open(
    const std::vector<std::string>& paths) {
  AllowOpenFiles(paths.size());
  std::unique_ptr<MergedEvents> merged(new MergedEvents);
  const auto names = std::make_shared<Names>();
  const auto symbolizer = [names](const Place& place) {
    const auto found = names->find({place.module, place.offset});
    return found == names->end() ? record::UnknownFrame(place) : found->second;
  };
  uint64_t begin_ns = ~uint64_t{0};
  for (const std::string& path : paths) {
    absl::StatusOr<std::unique_ptr<EventReader>> reader = EventReader::Open(path, symbolizer);
    if (!reader.ok()) return reader.status();
    const absl::Status looked =
        (*reader)->is_raw() ? LookThrough(path, names.get()) : absl::OkStatus();
    if (!looked.ok()) return looked;
    begin_ns = std::min(begin_ns, (*reader)->start_ns());
    merged->sources_.push_back({*std::move(reader), {}, nullptr, {}});
  }
  FindNames(names.get());
  for (size_t i = 0; i < merged->sources_.size(); ++i) {
    EventReader& reader = *merged->sources_[i].reader;
    reader.SetBegin(begin_ns);
    reader.ReadAhead();
    const std::vector<record::ProcessInfo>& processes = reader.processes();
    merged->processes_.insert(merged->processes_.end(), processes.begin(), processes.end());
    merged->Advance(i);
  }
  return merged;
}

absl::StatusOr<std::unique_ptr<MergedEvents>> MergedEvents::OpenFolder(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    // A pipe there would be waited for.
    if (!absl::StartsWith(name, record::kEventsPrefix) || !entry.is_regular_file(error)) continue;
    if (EventReader::Open(entry.path().string()).ok()) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return Open(paths);
}

absl::StatusOr<std::unique_ptr<MergedEvents>> MergedEvents::OpenAny(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? OpenFolder(path) : Open({path});
}

void MergedEvents::Advance(size_t source) {
  Source& next = sources_[source];
  if (!next.reader->Next(&next.event, &next.stack)) return;
  if (next.stack->empty()) {
    next.event.stack = 0;  // one that the record does not explain, of which there may be any number
  } else if (next.event.stack != 0) {
    const auto [known, is_new] = next.stacks.emplace(next.event.stack, last_stack_ + 1);
    last_stack_ += is_new ? 1 : 0;
    next.event.stack = known->second;
  }
  turns_.emplace(next.event.time_ns + next.event.duration_ns, source);
}

bool MergedEvents::Next(record::Event* event, const record::Stack** stack) {
  // Not before: the texts of an event live until its reader goes on.
  if (given_ >= 0) Advance(static_cast<size_t>(given_));
  given_ = -1;
  if (turns_.empty()) return false;
  const size_t source = turns_.top().second;
  turns_.pop();
  given_ = static_cast<int>(source);
  *event = sources_[source].event;
  *stack = sources_[source].stack;
  return true;
}

void MergedEvents::Feed(const std::vector<record::EventSink*>& sinks) {
  record::Event event;
  const record::Stack* stack = nullptr;
  while (Next(&event, &stack)) {
    for (record::EventSink* const sink : sinks) sink->Add(event, *stack);
  }
}

uint64_t MergedEvents::lost() const {
  uint64_t lost = 0;
  for (const Source& source : sources_) lost += source.reader->lost();
  return lost;
}

std::vector<std::string> MergedEvents::warnings() const {
  std::vector<std::string> all;
  for (const Source& source : sources_) {
    const std::vector<std::string>& of_file = source.reader->warnings();
    all.insert(all.end(), of_file.begin(), of_file.end());
  }
  if (lost() != 0) all.push_back(absl::StrCat(lost(), " events found no room, and are not shown"));
  all.insert(all.end(), warnings_.begin(), warnings_.end());
  return all;
}

}  // namespace twinmmu
