// EventFile: the record of a whole run, as a file.

#ifndef TWINMMU_API_RECORD_EVENT_FILE_H_
#define TWINMMU_API_RECORD_EVENT_FILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "api/files/replaced_file.h"
#include "api/record/entry.h"
#include "api/record/event.h"
#include "api/record/event_reader.h"

namespace twinmmu::record {

// Writes events of any number of processes, with their stacks in words, so that nothing else is
// needed to read it.
class EventFile : public EventSink {
 public:
  explicit EventFile(const std::string& path);

  // Before its events.
  void AddProcess(const ProcessInfo& process);
  void Add(const Event& event, const Stack& stack) override;
  // Without it, what was at `path` stays. `lost`: events that found no room when they were written.
  // ResourceExhausted: the file cannot be written.
  absl::Status Finish(uint64_t lost);

 private:
  uint32_t StackId(const Stack& stack);
  uint64_t FrameId(const Frame& frame);
  void Write();

  ReplacedFile file_;
  EntryBuffer entry_;
  std::map<const Stack*, uint32_t> stacks_;  // a reader's, which stay
  std::map<std::string, uint64_t> frames_;   // by their text in the file
};

}  // namespace twinmmu::record

#endif  // TWINMMU_API_RECORD_EVENT_FILE_H_
