#include "api/sharing/pidfd.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/sharing/system_error.h"

namespace twinmmu {
namespace {

// Debian's C library has no functions for these two.
OwnedDescriptor OpenPidfd(pid_t pid) {
  return OwnedDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0u)));
}
OwnedDescriptor GetDescriptor(const OwnedDescriptor& process, int descriptor) {
  return OwnedDescriptor(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), descriptor, 0u)));
}

absl::Status Refused(const char* call, pid_t pid, int descriptor) {
  const std::string what =
      absl::StrCat("descriptor ", descriptor, " of process ", pid, " cannot be taken: ");
  switch (errno) {
    case ESRCH:
      return absl::NotFoundError(absl::StrCat(what, "there is no such process"));
    case EBADF:
      return absl::NotFoundError(absl::StrCat(what, "it is not open there"));
    case EPERM:
      return absl::PermissionDeniedError(absl::StrCat(
          what, "the system does not allow it (", call,
          ": EPERM). Both processes must be of one user. Where /proc/sys/kernel/yama/ptrace_scope "
          "is 1, process ",
          pid, " must also call prctl(PR_SET_PTRACER, ", getpid(),
          "). A container may need the capability SYS_PTRACE. Or use SendShareableHandle, which "
          "needs none of this"));
    case ENOSYS:
      return absl::UnimplementedError(
          absl::StrCat(what, "the kernel has no ", call,
                       ", which Linux has from 5.6 on. Use SendShareableHandle"));
    default:
      return SystemError(absl::StrCat(what, call), errno);
  }
}

}  // namespace

absl::StatusOr<OwnedDescriptor> ReceiveByPidfd(pid_t pid, int descriptor) {
  if (pid <= 0) {
    return absl::InvalidArgumentError(absl::StrCat("pid is ", pid, ": it must be positive"));
  }
  if (descriptor < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("descriptor is ", descriptor, ": it must not be negative"));
  }
  const OwnedDescriptor process = OpenPidfd(pid);
  if (!process.is_open()) return Refused("pidfd_open", pid, descriptor);
  OwnedDescriptor taken = GetDescriptor(process, descriptor);
  if (!taken.is_open()) return Refused("pidfd_getfd", pid, descriptor);
  return taken;
}

}  // namespace twinmmu
