#include "tools/run/driver_library.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

// Of driver_library_bytes.S.
extern "C" const char twinmmu_driver_library_begin[];
extern "C" const char twinmmu_driver_library_end[];

namespace twinmmu {

absl::string_view DriverLibrary() {
  return absl::string_view(
      twinmmu_driver_library_begin,
      static_cast<size_t>(twinmmu_driver_library_end - twinmmu_driver_library_begin));
}

absl::StatusOr<std::string> LoadableDriverLibrary() {
  const int file = memfd_create("libcuda.so.1", MFD_CLOEXEC);
  absl::string_view rest = DriverLibrary();
  while (file >= 0 && !rest.empty()) {
    const ssize_t written = write(file, rest.data(), rest.size());
    if (written <= 0) break;
    rest.remove_prefix(static_cast<size_t>(written));
  }
  if (rest.empty()) return absl::StrCat("/proc/self/fd/", file);
  const int error = errno;
  if (file >= 0) close(file);
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot place the simulated driver in memory: ", std::strerror(error)));
}

}  // namespace twinmmu
