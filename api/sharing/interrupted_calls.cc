#include "api/sharing/interrupted_calls.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace twinmmu::interrupted_calls {
namespace {

constexpr int kNever = -1;
int countdown = kNever;
int error_then = 0;
const char* failed = "";

bool Fails(const char* call) {
  if (countdown == kNever || countdown-- > 0) return false;
  failed = call;
  countdown = kNever;
  if (error_then == kKilled) kill(getpid(), SIGKILL);
  errno = error_then;
  return true;
}

// The same message, cut off.
struct Piece {
  explicit Piece(const msghdr& message) : header(message), bytes(*message.msg_iov) {
    bytes.iov_len = std::min<size_t>(bytes.iov_len, kPiece);
    header.msg_iov = &bytes;
  }

  msghdr header;
  iovec bytes;
};

}  // namespace

void InterruptAt(int n, int error) {
  countdown = n;
  error_then = error;
  failed = "";
}

std::string EndInterruptions() {
  countdown = kNever;
  return failed;
}

// The linker sends the calls of the whole program to the __wrap_ functions.
extern "C" {

int __real_getsockopt(int socket, int level, int name, void* value, socklen_t* length);
int __wrap_getsockopt(int socket, int level, int name, void* value, socklen_t* length) {
  return Fails("getsockopt") ? -1 : __real_getsockopt(socket, level, name, value, length);
}

int __real_setsockopt(int socket, int level, int name, const void* value, socklen_t length);
int __wrap_setsockopt(int socket, int level, int name, const void* value, socklen_t length) {
  return Fails("setsockopt") ? -1 : __real_setsockopt(socket, level, name, value, length);
}

int __real_getpeername(int socket, sockaddr* address, socklen_t* length);
int __wrap_getpeername(int socket, sockaddr* address, socklen_t* length) {
  return Fails("getpeername") ? -1 : __real_getpeername(socket, address, length);
}

int __real_poll(pollfd* waits, nfds_t count, int timeout);
int __wrap_poll(pollfd* waits, nfds_t count, int timeout) {
  return Fails("poll") ? -1 : __real_poll(waits, count, timeout);
}

ssize_t __real_sendmsg(int socket, const msghdr* message, int flags);
ssize_t __wrap_sendmsg(int socket, const msghdr* message, int flags) {
  if (Fails("sendmsg")) return -1;
  const Piece piece(*message);
  return __real_sendmsg(socket, &piece.header, flags);
}

ssize_t __real_recvmsg(int socket, msghdr* message, int flags);
ssize_t __wrap_recvmsg(int socket, msghdr* message, int flags) {
  if (Fails("recvmsg")) return -1;
  Piece piece(*message);
  const ssize_t received = __real_recvmsg(socket, &piece.header, flags);
  piece.header.msg_iov = message->msg_iov;
  *message = piece.header;
  return received;
}

}  // extern "C"

}  // namespace twinmmu::interrupted_calls
