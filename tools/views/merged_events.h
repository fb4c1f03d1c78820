// MergedEvents: the events of all processes of a run, in order of time.

#ifndef TWINMMU_TOOLS_VIEWS_MERGED_EVENTS_H_
#define TWINMMU_TOOLS_VIEWS_MERGED_EVENTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "api/record/event.h"
#include "api/record/event_reader.h"

namespace twinmmu {

// Memory is bounded, whatever the size of the files.
class MergedEvents {
 public:
  // One file, or those of the processes of a run; their stacks are symbolised. As
  // EventReader::Open. What a process wrote is read twice, so it is no pipe: InvalidArgument.
  static absl::StatusOr<std::unique_ptr<MergedEvents>> Open(const std::vector<std::string>& paths);
  // The files in a folder that processes wrote. One that is none of events is passed over.
  static absl::StatusOr<std::unique_ptr<MergedEvents>> OpenFolder(const std::string& folder);
  // A file or such a folder.
  static absl::StatusOr<std::unique_ptr<MergedEvents>> OpenAny(const std::string& path);

  // The next one, in the order in which they ended; false at the end.
  bool Next(record::Event* event, const record::Stack** stack);
  // Gives all that is left to the sinks.
  void Feed(const std::vector<record::EventSink*>& sinks);

  const std::vector<record::ProcessInfo>& processes() const { return processes_; }
  uint64_t lost() const;
  // What is to be said of the record and of what was made of it, in words.
  std::vector<std::string> warnings() const;
  void AddWarning(std::string words) { warnings_.push_back(std::move(words)); }

 private:
  struct Source {
    std::unique_ptr<record::EventReader> reader;
    record::Event event;
    const record::Stack* stack = nullptr;
    std::unordered_map<uint32_t, uint32_t> stacks;  // ids among those of all sources, by its own
  };
  MergedEvents() = default;
  void Advance(size_t source);

  std::vector<Source> sources_;
  using Turn = std::pair<uint64_t, size_t>;  // when the next event of a source ended
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  uint32_t last_stack_ = 0;
  int given_ = -1;  // the source of the event that was given out
  std::vector<record::ProcessInfo> processes_;
  std::vector<std::string> warnings_;  // of what was made of it
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_MERGED_EVENTS_H_
