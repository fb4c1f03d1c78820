// LastUse: the work after which memory may go.
//
// Unmapping does not wait for work. Work that still uses the memory when it runs faults, and takes
// all contexts of the process with it: the commonest bug of allocators. So each call that takes
// memory away (deallocate, shrink, decommit, sleep) also takes its last uses, and the memory goes
// only after them, while the host does not wait:
//
//   pool->Deallocate(offset, size, {stream});         // after all that is in the stream by now
//   pool->Deallocate(offset, size, {stream, event});  // after that, and what the event stands for
//   pool->Deallocate(offset, size);                   // at once: the caller knows nothing uses it
//
// The memory is gone for its user at once, whichever form; only the driver's part comes later, in a
// later call of the same object that finds the work done. Who gets the same memory again before
// that, and gives it up again, must name all its last uses anew: the former ones are forgotten.
//
// Until the work is done, a stream costs an event of the driver, and an event costs a stream.

#ifndef TWINMMU_API_ALLOCATORS_LAST_USE_H_
#define TWINMMU_API_ALLOCATORS_LAST_USE_H_

#include <variant>

#include "api/executor.h"

namespace twinmmu {

// All work that a stream has been given by now, or all that an event stands for now. It is read
// when it is passed: the stream may go on and be destroyed, the event be recorded anew or
// destroyed.
class LastUse {
 public:
  LastUse(Stream stream) : work_(stream) {}  // NOLINT: {stream} is how it is meant to be written
  LastUse(Event event) : work_(event) {}     // NOLINT: likewise

  const std::variant<Stream, Event>& work() const { return work_; }

 private:
  std::variant<Stream, Event> work_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATORS_LAST_USE_H_
