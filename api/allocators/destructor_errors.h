// What happens to errors in destructors.
//
// Owners (api/allocators/owners.h) and pools give back what they hold when they are destroyed. The
// driver may refuse, and a destructor cannot return an error: it goes to one hook of the process.
// Call Close() if the result matters.
//
//   SetDestructorErrorHook([](const absl::Status& error) { MyLog(error.ToString()); });

#ifndef TWINMMU_API_ALLOCATORS_DESTRUCTOR_ERRORS_H_
#define TWINMMU_API_ALLOCATORS_DESTRUCTOR_ERRORS_H_

#include "absl/status/status.h"

namespace twinmmu {

// Receives each error, in the destructor's thread; several threads may call it at once. The error
// carries the driver's (api/driver_error.h). It must not throw.
using DestructorErrorHook = void (*)(const absl::Status&);

// Sends every later error to `hook`; null: to the default, which writes one line to stderr. Returns
// the previous hook; null: the default. Any thread, at any time.
DestructorErrorHook SetDestructorErrorHook(DestructorErrorHook hook);

// For destructors: passes `status` to the hook, unless it is OK. Any thread, at any time; hold no
// lock that a hook might need.
void ReportFromDestructor(const absl::Status& status);

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATORS_DESTRUCTOR_ERRORS_H_
