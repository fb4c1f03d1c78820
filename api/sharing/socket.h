// A shareable handle on its way to another process, through a Unix socket: a file descriptor as
// ancillary data, a fabric handle as its 64 bytes, and the size of the memory with either.
//
// The exporter:
//   auto handle = vmm.ExportShareableHandle(allocation, HandleType::kPosixFileDescriptor);
//   status = SendShareableHandle(socket, *handle, size);
//   close(handle->file_descriptor);
// The importer, which then reserves and maps received->size:
//   auto received = ReceiveShareableHandle(socket);
//   auto allocation = vmm.ImportShareableHandle(received->handle);
//
// Sockets are connected Unix sockets of type SOCK_STREAM or SOCK_SEQPACKET, such as socketpair()
// makes, blocking or not, and stay the caller's. Datagram sockets are refused: the other side would
// not see that they are closed. Both processes use these two functions.
//
// One message is one handle. Between messages the socket is the caller's to use. After an error of
// either call nobody knows how much of a message is under way: close the socket.
//
// Errors say in words what happened, and carry no driver's code.
//   InvalidArgument     not such a socket; a size of 0, a handle that cannot be sent; what came is
//                       not a shareable handle
//   Unavailable         the other end is closed: the other process has ended, or closed it
//   DeadlineExceeded    the deadline has passed
//   PermissionDenied    the sender is not who was asked for
//   ResourceExhausted   this process can have no more descriptors, or too many are under way
//   Internal            anything else that the system refuses
//
// Each is EINTR safe, raises no SIGPIPE, and starts no thread. Several threads may use different
// sockets at once; one socket is for one receiver and one sender at a time.

#ifndef TWINMMU_API_SHARING_SOCKET_H_
#define TWINMMU_API_SHARING_SOCKET_H_

#include <sys/types.h>

#include <chrono>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/sharing/owned_descriptor.h"

namespace twinmmu {

// How long both sides wait at most, unless they say otherwise.
inline constexpr std::chrono::milliseconds kSharingTimeout = std::chrono::seconds(30);

struct SendOptions {
  // For the whole call; 0 or less: does not wait.
  std::chrono::milliseconds timeout = kSharingTimeout;
};

struct ReceiveOptions {
  // For the whole call, however many pieces come; 0 or less: does not wait.
  std::chrono::milliseconds timeout = kSharingTimeout;
  // Who must have sent the message, by what the kernel says: the effective user, the process. Not
  // set: anybody. A sender that the kernel cannot identify, such as one of another PID namespace,
  // is refused if a process is required.
  std::optional<uid_t> sender_uid;
  std::optional<pid_t> sender_pid;
};

// What came through a socket. Move-only.
struct ReceivedMemory {
  // To be imported, as long as `descriptor` is open.
  ShareableHandle handle;
  // As the sender says; Vmm::Map needs it, and no driver gives it. Map refuses a wrong one.
  Bytes size;
  // Owns handle.file_descriptor, which is never 0, and is closed on exec; holds nothing for other
  // types. May be closed after the import: the allocation then lives by the handle alone. [SHARE-7]
  OwnedDescriptor descriptor;
};

// Sends `handle`, with the size of its memory. The other process gets a descriptor of its own: the
// one in `handle` stays open and the caller's, and may be closed at once.
// handle: of type kPosixFileDescriptor, open, or kFabric. size: more than 0.
// After an error the other process has no handle, or closes its end before it read all of it.
absl::Status SendShareableHandle(int socket, const ShareableHandle& handle, Bytes size,
                                 const SendOptions& options = {});

// Waits for a handle that SendShareableHandle sent. After an error, all descriptors that came are
// closed.
absl::StatusOr<ReceivedMemory> ReceiveShareableHandle(int socket,
                                                      const ReceiveOptions& options = {});

}  // namespace twinmmu

#endif  // TWINMMU_API_SHARING_SOCKET_H_
