// The simulated driver's library, our NVML's and our runtime's, as bytes of this program: they are
// written to wherever they are needed, and the program stays one file.

#ifndef TWINMMU_TOOLS_RUN_DRIVER_LIBRARY_H_
#define TWINMMU_TOOLS_RUN_DRIVER_LIBRARY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace twinmmu {

struct Library {
  const char* file;  // as programs ask for it
  absl::string_view content;
};
// The driver's first: libcuda.so.1. Then NVML, and libcudart of each version.
std::vector<Library> Libraries();

// A name under which this process can load the driver's, as long as it runs; nothing is left on the
// host. ResourceExhausted: the host has no memory for it.
absl::StatusOr<std::string> LoadableDriverLibrary();

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_RUN_DRIVER_LIBRARY_H_
