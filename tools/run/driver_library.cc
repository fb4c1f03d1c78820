#include "tools/run/driver_library.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

// Of driver_library_bytes.S and its like.
#define TWINMMU_LIBRARY(name)                             \
  extern "C" const char twinmmu_##name##_library_begin[]; \
  extern "C" const char twinmmu_##name##_library_end[];
TWINMMU_LIBRARY(driver)
TWINMMU_LIBRARY(audit)
TWINMMU_LIBRARY(nvml)
TWINMMU_LIBRARY(runtime_11)
TWINMMU_LIBRARY(runtime_12)
TWINMMU_LIBRARY(runtime_13)
#undef TWINMMU_LIBRARY

namespace twinmmu {
namespace {

absl::string_view Between(const char* begin, const char* end) {
  return absl::string_view(begin, static_cast<size_t>(end - begin));
}

}  // namespace

std::vector<Library> Libraries() {
#define TWINMMU_LIBRARY(file, name) \
  { file, Between(twinmmu_##name##_library_begin, twinmmu_##name##_library_end) }
  return {TWINMMU_LIBRARY("libcuda.so.1", driver),
          TWINMMU_LIBRARY(kAuditLibrary, audit),
          TWINMMU_LIBRARY("libnvidia-ml.so.1", nvml),
          TWINMMU_LIBRARY("libcudart.so.11.0", runtime_11),
          TWINMMU_LIBRARY("libcudart.so.12", runtime_12),
          TWINMMU_LIBRARY("libcudart.so.13", runtime_13)};
#undef TWINMMU_LIBRARY
}

absl::StatusOr<std::string> LoadableDriverLibrary() {
  const int file = memfd_create("libcuda.so.1", MFD_CLOEXEC);
  absl::string_view rest = Libraries().front().content;
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
