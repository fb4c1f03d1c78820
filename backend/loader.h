// Loads the driver's library.

#ifndef TWINMMU_BACKEND_LOADER_H_
#define TWINMMU_BACKEND_LOADER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backend/driver_table.h"

namespace twinmmu {

inline constexpr absl::string_view kDriverLibrary = "libcuda.so.1";

// Opens `path` and looks every function up: by cuGetProcAddress in the version needed, and by dlsym
// where the library has no cuGetProcAddress, or that does not know the name. Functions that are not
// there are null in the table and fail nothing here. Calls nothing that initialises the driver.
// FailedPrecondition: the library cannot be loaded; the message says where it was looked for.
//
// The library stays loaded until the process ends: a driver has threads and exit handlers of its
// own, and pointers into it may be anywhere.
absl::StatusOr<DriverTable> LoadDriver(absl::string_view path = kDriverLibrary);

}  // namespace twinmmu

#endif  // TWINMMU_BACKEND_LOADER_H_
