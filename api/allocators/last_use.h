// LastUse: the work after which memory may be taken.
//
// Unmapping does not wait for work. Work that still uses the memory when it runs faults, and takes
// all contexts of the process with it: the most common bug in allocators. So each call that takes
// memory away (deallocate, shrink, decommit, sleep) also takes its last uses, and the memory goes
// only after them; the host does not wait:
//
// pool->Deallocate(offset, size, {stream}); // after all work in the stream so far
// pool->Deallocate(offset, size, {stream, event}); // after that, and what the event stands for
// pool->Deallocate(offset, size); // at once: the caller knows nothing uses it
//
// In every form the memory is gone for its user at once; only the driver calls come later, in a
// later call on the same object that finds the work done. If the same memory is taken again before
// that, and given up again, name all its last uses again: the earlier ones are forgotten.
//
// Until the work is done, a stream costs a driver event, and an event costs a driver stream.

#ifndef TWINMMU_API_ALLOCATORS_LAST_USE_H_
#define TWINMMU_API_ALLOCATORS_LAST_USE_H_

#include <variant>

#include "api/executor.h"

namespace twinmmu {

// All work in a stream so far, or all that an event stands for now. It is read when passed:
// afterwards the stream may get more work or be destroyed, and the event may be recorded again or
// destroyed.
class LastUse {
 public:
  LastUse(Stream stream) : work_(stream) {}  // NOLINT: meant to be written {stream}
  LastUse(Event event) : work_(event) {}     // NOLINT: likewise

  const std::variant<Stream, Event>& work() const { return work_; }

 private:
  std::variant<Stream, Event> work_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATORS_LAST_USE_H_
