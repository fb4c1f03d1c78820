// Sends a shareable handle to another process through a Unix socket: a file descriptor as ancillary
// data, a fabric handle as its 64 bytes, and the size of the memory with either.
//
// The exporter:
//   auto handle = vmm.ExportShareableHandle(allocation, HandleType::kPosixFileDescriptor);
//   status = SendShareableHandle(socket, *handle, size);
//   close(handle->file_descriptor);
// The importer, which then reserves and maps received->size:
//   auto received = ReceiveShareableHandle(socket);
//   auto allocation = vmm.ImportShareableHandle(received->handle);
//
// Sockets are connected Unix sockets of type SOCK_STREAM or SOCK_SEQPACKET, such as those of
// socketpair(), blocking or not, and still belong to the caller. Datagram sockets are refused: the
// other side would not see them close. Both processes use these two functions.
//
// One message carries one handle. Between messages the caller may use the socket. After an error of
// either call it is unknown how much of a message is in transit: close the socket.
//
// Error messages say what happened; they carry no driver code.
//   InvalidArgument     not such a socket; a size of 0, a handle that cannot be sent; what came is
//                       not a shareable handle
//   Unavailable         the other end is closed: the other process has ended, or closed it
//   DeadlineExceeded    the deadline has passed
//   PermissionDenied    the sender is not who was asked for
//   ResourceExhausted   this process can have no more descriptors, or too many are under way
//   Internal            anything else that the system refuses
//
// Each call is EINTR-safe, raises no SIGPIPE, and starts no thread. Several threads may use
// different sockets at once; a socket allows one receiver and one sender at a time.

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

// How long each side waits at most by default.
inline constexpr std::chrono::milliseconds kSharingTimeout = std::chrono::seconds(30);

struct SendOptions {
  // For the whole call; 0 or less: do not wait.
  std::chrono::milliseconds timeout = kSharingTimeout;
};

struct ReceiveOptions {
  // For the whole call, however many pieces arrive; 0 or less: do not wait.
  std::chrono::milliseconds timeout = kSharingTimeout;
  // The required sender, as identified by the kernel: the effective user, the process. Not set:
  // anybody. A sender that the kernel cannot identify, for example in another PID namespace, is
  // refused if a process is required.
  std::optional<uid_t> sender_uid;
  std::optional<pid_t> sender_pid;
};

// What was received from a socket. Move-only.
struct ReceivedMemory {
  // Can be imported as long as `descriptor` is open.
  ShareableHandle handle;
  // As sent; Vmm::Map needs it, and no driver reports it. Map refuses a wrong one.
  Bytes size;
  // Owns handle.file_descriptor, which is never 0 and is close-on-exec; holds nothing for other
  // types. May be closed after the import: the handle then keeps the allocation. [SHARE-7]
  OwnedDescriptor descriptor;
};

// Sends `handle`, with the size of its memory. The other process gets its own descriptor: the one
// in `handle` stays open, still belongs to the caller, and may be closed at once.
// handle: of type kPosixFileDescriptor, open, or kFabric. size: more than 0.
// After an error the other process has no handle, or closed its end before reading all of it.
absl::Status SendShareableHandle(int socket, const ShareableHandle& handle, Bytes size,
                                 const SendOptions& options = {});

// Waits for a handle sent by SendShareableHandle. After an error, all received descriptors are
// closed.
absl::StatusOr<ReceivedMemory> ReceiveShareableHandle(int socket,
                                                      const ReceiveOptions& options = {});

}  // namespace twinmmu

#endif  // TWINMMU_API_SHARING_SOCKET_H_
