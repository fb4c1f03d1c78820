// EventWriter: writes what happens in this process into a file, as it happens.
//
//   absl::StatusOr<std::unique_ptr<EventWriter>> events = EventWriter::Create("run.events");
//   SimulatorOptions options;
//   options.events = events->get();

#ifndef TWINMMU_API_RECORD_EVENT_WRITER_H_
#define TWINMMU_API_RECORD_EVENT_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/record/entry.h"
#include "api/record/event.h"

namespace twinmmu::record {

struct EventWriterOptions {
  // Frames of each event's stack, at most kMaxDepth. 1: the place of the call alone, which is much
  // faster than to unwind a stack. 0: none.
  size_t stack_depth = 1;
  // The file grows to this size; what happens then is only counted.
  uint64_t limit = uint64_t{4} << 30;
  // Where the program made the call that runs in this thread; null: not known. A null function: the
  // stack begins at the caller of Add.
  const void* (*caller)() = nullptr;
};

// The file is whole at any time: whatever ends the process, all that was added is in it. It costs
// the process a window of 4 MiB. Thread-safe; in a child made by fork it does nothing any more.
class EventWriter {
 public:
  // A new file in place of what was there. ResourceExhausted: the host refused.
  static absl::StatusOr<std::unique_ptr<EventWriter>> Create(const std::string& path,
                                                             EventWriterOptions options = {});
  // The same in `folder`: "events.PID.NUMBER".
  static absl::StatusOr<std::unique_ptr<EventWriter>> CreateIn(const std::string& folder,
                                                               EventWriterOptions options = {});
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  // By the clock of events, for Event::time_ns of what takes time.
  static uint64_t Now();
  // The stack of this thread, for an event that will be added later; 0: not known.
  uint32_t Stack() noexcept;

  // Adds it as it is, but for `process`, and for time, thread and stack, which become those of now
  // and here where they are 0. An event with a duration is added at its end, its time is that of
  // its beginning. Never fails: what finds no room is counted.
  void Add(const Event& event) noexcept;
  // The process comes to its end by itself. What is added later is still written.
  void Finish() noexcept;

  uint64_t lost() const;

 private:
  EventWriter(std::string path, EventWriterOptions options, uint64_t generation);

  // With mutex_ held, all of them.
  bool Start();
  uint32_t StackOf(const uint64_t* addresses, size_t depth);
  void DescribePlace(uint64_t address);
  void DescribeProcess();
  bool Write(const EntryBuffer& entry);
  bool NextWindow();
  void CloseWindow();
  bool IsForked() const;

  const std::string path_;
  const EventWriterOptions options_;
  const uint64_t generation_;  // of the process, which a fork changes
  mutable std::mutex mutex_;
  EntryBuffer entry_;
  char* window_ = nullptr;
  uint64_t window_begin_ = 0;  // in the file
  uint64_t window_size_ = 0;
  uint64_t used_ = 0;  // of the window
  bool full_ = false;  // the file cannot grow
  uint64_t lost_ = 0;
  // Of stacks and places that are in the file: open tables, 0 for a free slot.
  struct KnownStack {
    uint64_t hash;
    uint32_t id;
  };
  std::vector<KnownStack> stacks_;
  std::vector<uint64_t> places_;
  uint32_t stack_count_ = 0;
};

// How the files of a folder are called: "events.PID.NUMBER".
inline constexpr char kEventsPrefix[] = "events.";

}  // namespace twinmmu::record

#endif  // TWINMMU_API_RECORD_EVENT_WRITER_H_
