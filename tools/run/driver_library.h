// The simulated driver's library, our NVML's and our runtime's, and the one that leads programs to
// them, as bytes of this program: they are written to wherever they are needed, and the program
// stays one file.

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
// The driver's first: libcuda.so.1. Then the audit library, NVML, and libcudart of each version.
std::vector<Library> Libraries();

// audit_library.c: where LD_AUDIT names it, programs find the others of its folder however they
// ask.
inline constexpr char kAuditLibrary[] = "libtwinmmu_audit.so";

// A name under which this process can load the driver's, as long as it runs; nothing is left on the
// host. ResourceExhausted: the host has no memory for it.
absl::StatusOr<std::string> LoadableDriverLibrary();

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_RUN_DRIVER_LIBRARY_H_
