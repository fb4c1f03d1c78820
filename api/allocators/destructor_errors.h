// What becomes of an error that a destructor meets.
//
// Owners (api/allocators/owners.h) and pools give back what they hold when they are destroyed. The
// driver may refuse, and a destructor has nobody to return that to: it goes to one hook of the
// process. Call Close() where the answer matters.
//
//   SetDestructorErrorHook([](const absl::Status& error) { MyLog(error.ToString()); });

#ifndef TWINMMU_API_ALLOCATORS_DESTRUCTOR_ERRORS_H_
#define TWINMMU_API_ALLOCATORS_DESTRUCTOR_ERRORS_H_

#include "absl/status/status.h"

namespace twinmmu {

// Gets each error, in the thread whose destructor met it; several threads may call it at once. The
// error carries the driver's (api/driver_error.h). It must not throw.
using DestructorErrorHook = void (*)(const absl::Status&);

// Every later error goes to `hook`; null: to the default, which writes one line to stderr. Returns
// the hook that was set before; null: the default. Any thread, at any time.
DestructorErrorHook SetDestructorErrorHook(DestructorErrorHook hook);

// For destructors: gives `status` to the hook, unless it is OK. Any thread, at any time; hold no
// lock that a hook could want.
void ReportFromDestructor(const absl::Status& status);

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATORS_DESTRUCTOR_ERRORS_H_
