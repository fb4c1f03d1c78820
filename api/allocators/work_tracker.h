// WorkTracker: tells allocators that do their own waiting when work is done, for example to reuse a
// block of memory after it.
//
//   absl::StatusOr<WorkTracker::Mark> mark = tracker.Set({stream, event});
//   ...
//   if (tracker.IsOver(*mark).value_or(false)) {
//     tracker.Drop(*mark);
//     ...
//   }

#ifndef TWINMMU_API_ALLOCATORS_WORK_TRACKER_H_
#define TWINMMU_API_ALLOCATORS_WORK_TRACKER_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/allocators/last_use.h"
#include "api/executor.h"

namespace twinmmu {

// Marks work with its own events and streams, which it reuses. Its destructor destroys them; all
// marks must be dropped by then. Thread safety: one thread at a time.
class WorkTracker {
 public:
  // One use, marked by an object that nobody else records again or destroys: an event after the
  // work of a stream, or a stream that waits for an event.
  struct Use {
    LastUse own;
    std::optional<Stream> stream;  // whose work it is, if known
  };
  // Some work. Empty: no work, which counts as done.
  using Mark = std::vector<Use>;

  // `executor` must outlive this object; it may be null if no work is ever marked.
  explicit WorkTracker(Executor* executor) : executor_(executor) {}
  ~WorkTracker();
  WorkTracker(const WorkTracker&) = delete;
  WorkTracker& operator=(const WorkTracker&) = delete;

  // Marks this work as it is now (last_use.h). FailedPrecondition: there is work, but no executor.
  // Executor errors: those of CreateEvent, RecordEvent, CreateStream, WaitEvent.
  absl::StatusOr<Mark> Set(absl::Span<const LastUse> work);

  // Whether all of it is done. IsOver never waits. Errors of queries and synchronisation usually
  // mean that the contexts are lost (see ContextsAreLost). `mark` stays valid in any case.
  absl::StatusOr<bool> IsOver(const Mark& mark) {
    std::vector<Stream> busy;
    return IsOver(mark, busy);
  }
  // For checking many marks in the order in which they were set: `busy` has the streams whose work
  // is not done. Later marks in them are not done either, and need no driver call.
  absl::StatusOr<bool> IsOver(const Mark& mark, std::vector<Stream>& busy);
  absl::Status Wait(const Mark& mark);

  // Later work on `stream` waits for `work`; the host does not. Errors: as Set.
  absl::Status LetWait(Stream stream, absl::Span<const LastUse> work);

  // Takes back the mark's objects; it is empty afterwards.
  void Drop(Mark& mark);

 private:
  absl::StatusOr<Use> Follow(Stream theirs);
  absl::StatusOr<Use> Follow(Event theirs);

  Executor* executor_;
  std::vector<Event> spare_events_;
  std::vector<Stream> spare_streams_;
};

// Whether an error while waiting for work means that the contexts are lost, and the work with them,
// so nothing uses the memory any more.
bool ContextsAreLost(const absl::Status& status);

// Waits for all work of `stream`. True: it uses no memory any more; it is done, or lost with the
// contexts. False: unknown, because the executor could not wait; the memory it uses must stay.
bool WaitUntilOver(Executor& executor, Stream stream);

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATORS_WORK_TRACKER_H_
