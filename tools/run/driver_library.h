// The simulated driver's library, as bytes of this program: it is written to wherever it is needed,
// and the program stays one file.

#ifndef TWINMMU_TOOLS_RUN_DRIVER_LIBRARY_H_
#define TWINMMU_TOOLS_RUN_DRIVER_LIBRARY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace twinmmu {

// The file libcuda.so.1.
absl::string_view DriverLibrary();

// A name under which this process can load it, as long as it runs; nothing is left on the host.
// ResourceExhausted: the host has no memory for it.
absl::StatusOr<std::string> LoadableDriverLibrary();

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_RUN_DRIVER_LIBRARY_H_
