#include "sim/host/foreign_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "sim/host/memory_label.h"

namespace twinmmu {
namespace {

absl::Status NotReached(int error) {
  if (IsOfTheHost(error)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the host refused a look at it: ", std::strerror(error)));
  }
  if (error == EACCES || error == EPERM) {
    return absl::NotFoundError("the host does not allow it: is it a process of another user?");
  }
  return absl::NotFoundError("it is not there");
}

}  // namespace

uint64_t ProcessNamespace() {
  struct stat space;
  return stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
}

absl::StatusOr<OwnedDescriptor> OpenForeignFile(pid_t process, int descriptor,
                                                const FileIdentity& identity) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/fd/%d", process, descriptor);
  const OwnedDescriptor place(open(path, O_PATH | O_CLOEXEC));
  if (!place.is_open()) return NotReached(errno);
  const absl::StatusOr<FileIdentity> found = IdentifyFile(place.get());
  if (!found.ok()) return found.status();
  if (*found != identity) return NotReached(ENOENT);
  std::snprintf(path, sizeof(path), "/proc/self/fd/%d", place.get());
  OwnedDescriptor file(open(path, O_RDWR | O_CLOEXEC));
  if (!file.is_open()) return NotReached(errno);
  return file;
}

}  // namespace twinmmu
