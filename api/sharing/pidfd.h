// A descriptor taken from another process, without a socket: pidfd_getfd of Linux 5.6.

#ifndef TWINMMU_API_SHARING_PIDFD_H_
#define TWINMMU_API_SHARING_PIDFD_H_

#include <sys/types.h>

#include "absl/status/statusor.h"
#include "api/sharing/owned_descriptor.h"

namespace twinmmu {

// A duplicate of descriptor `descriptor` of process `pid`, close-on-exec, and never 0, which no
// driver imports:
//
//   auto taken = ReceiveByPidfd(pid, number);
//   if (!taken.ok()) return taken.status();
//   auto allocation = vmm.ImportShareableHandle(ShareableHandle::FileDescriptor(taken->get()));
//
// The other process sends its pid, the number and the size in any way, and keeps the descriptor
// open until it is told that it was taken; it notices nothing itself. It must live until then: the
// pid of a process that has ended may be reused. Only the import checks that the descriptor is of
// memory.
//
// An error leaves nothing open. Its message says what to do. It carries no driver code.
//   InvalidArgument     pid is not positive, descriptor is negative
//   NotFound            there is no such process, or it has no such descriptor
//   PermissionDenied    the system does not allow this process to look into that one
//   ResourceExhausted   this process, or the system, can have no more descriptors
//   Unimplemented       the kernel has no pidfd_getfd
//   Internal            anything else that the system refuses
// Any thread, at any time.
absl::StatusOr<OwnedDescriptor> ReceiveByPidfd(pid_t pid, int descriptor);

}  // namespace twinmmu

#endif  // TWINMMU_API_SHARING_PIDFD_H_
