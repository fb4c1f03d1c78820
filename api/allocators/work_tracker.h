// WorkTracker: tells when the work is over after which memory may go.

#ifndef TWINMMU_API_ALLOCATORS_WORK_TRACKER_H_
#define TWINMMU_API_ALLOCATORS_WORK_TRACKER_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/allocators/last_use.h"
#include "api/executor.h"

namespace twinmmu {

// Marks work with events of its own, which it keeps for the next mark. Destroys them at its end.
// Thread safety: one thread at a time.
class WorkTracker {
 public:
  // Some work. Empty: no work, which is over.
  using Mark = std::vector<Event>;

  // `executor` must outlive this object; it may be null as long as no work is to be marked.
  explicit WorkTracker(Executor* executor) : executor_(executor) {}
  ~WorkTracker();
  WorkTracker(const WorkTracker&) = delete;
  WorkTracker& operator=(const WorkTracker&) = delete;

  // FailedPrecondition: there is work, and no executor. Errors of the executor.
  absl::StatusOr<Mark> Set(absl::Span<const LastUse> work);

  // Never waits. After it was true or an error, `mark` stays valid.
  absl::StatusOr<bool> IsOver(const Mark& mark);
  absl::Status Wait(const Mark& mark);

  // Later work of `stream` waits for `work`; the host does not. Errors: as Set.
  absl::Status LetWait(Stream stream, absl::Span<const LastUse> work);

  // Takes the events of a mark back; it is empty then.
  void Drop(Mark& mark);

 private:
  absl::StatusOr<Event> TakeEvent(DeviceOrdinal device);
  absl::Status Record(Event event, const LastUse& use);
  // A stream of this object that stands behind an event of somebody else.
  absl::StatusOr<Stream> HelperStream(DeviceOrdinal device);

  Executor* executor_;
  std::vector<Event> spare_;
  absl::flat_hash_map<DeviceOrdinal, Stream> helper_streams_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATORS_WORK_TRACKER_H_
