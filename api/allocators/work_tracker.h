// WorkTracker: tells when the work is over after which memory may go, for allocators that wait
// themselves, say to give out a block again.
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

// Marks work with events and streams of its own, which it keeps for the next mark. Destroys them at
// its end, when all marks must be dropped. Thread safety: one thread at a time.
class WorkTracker {
 public:
  // One use, marked by an object that nobody else records anew or destroys: an event behind the
  // work of a stream, or a stream behind an event.
  struct Use {
    LastUse own;
    std::optional<Stream> stream;  // whose work it is, where that is known
  };
  // Some work. Empty: no work, which is over.
  using Mark = std::vector<Use>;

  // `executor` must outlive this object; it may be null as long as no work is to be marked.
  explicit WorkTracker(Executor* executor) : executor_(executor) {}
  ~WorkTracker();
  WorkTracker(const WorkTracker&) = delete;
  WorkTracker& operator=(const WorkTracker&) = delete;

  // Stands for this work as it is now (last_use.h). FailedPrecondition: there is work, and no
  // executor. Errors of the executor: of CreateEvent, RecordEvent, CreateStream, WaitEvent.
  absl::StatusOr<Mark> Set(absl::Span<const LastUse> work);

  // Whether all of it is done. IsOver never waits. Errors of queries and synchronisation: the
  // contexts are lost, as a rule (ContextsAreLost tells). `mark` stays valid in any case.
  absl::StatusOr<bool> IsOver(const Mark& mark) {
    std::vector<Stream> busy;
    return IsOver(mark, busy);
  }
  // For asking about many marks in the order in which they were set: `busy` has the streams whose
  // work is not over. What was marked in them later is not over either, and the driver is not
  // asked.
  absl::StatusOr<bool> IsOver(const Mark& mark, std::vector<Stream>& busy);
  absl::Status Wait(const Mark& mark);

  // Later work of `stream` waits for `work`; the host does not. Errors: as Set.
  absl::Status LetWait(Stream stream, absl::Span<const LastUse> work);

  // Takes back what the mark consists of; it is empty then.
  void Drop(Mark& mark);

 private:
  absl::StatusOr<Use> Follow(Stream theirs);
  absl::StatusOr<Use> Follow(Event theirs);

  Executor* executor_;
  std::vector<Event> spare_events_;
  std::vector<Stream> spare_streams_;
};

// Whether an error of waiting for work means that the contexts are lost, and the work with them, so
// that nothing uses the memory any more.
bool ContextsAreLost(const absl::Status& status);

// Waits for all work of `stream`. True: nothing of it uses memory any more; it is done, or lost
// with the contexts. False: nobody knows, since the executor could not wait; what it uses must
// stay.
bool WaitUntilOver(Executor& executor, Stream stream);

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATORS_WORK_TRACKER_H_
