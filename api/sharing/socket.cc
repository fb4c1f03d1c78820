#include "api/sharing/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/sharing/message.h"
#include "api/sharing/system_error.h"

namespace twinmmu {
namespace {

using Clock = std::chrono::steady_clock;

class Deadline {
 public:
  explicit Deadline(std::chrono::milliseconds timeout)
      : end_(Clock::now() + std::clamp(timeout, std::chrono::milliseconds(0), kLongest)) {}

  bool is_over() const { return Clock::now() >= end_; }
  // For poll(), which counts whole milliseconds: never too early.
  int Left() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, 1'000'000));
  }

 private:
  // A century; more would overflow the clock.
  static constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 36525);

  Clock::time_point end_;
};

// Until the socket is ready for `events`, or has an error or an end to tell. False: the time is
// over first.
absl::StatusOr<bool> WaitFor(int socket, int16_t events, const Deadline& deadline) {
  for (;;) {
    pollfd polled = {socket, events, 0};
    const int ready = poll(&polled, 1, deadline.Left());
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return SystemError("waiting for a socket", errno);
    if (deadline.is_over()) return false;
  }
}

bool IsForLater(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

bool IsGone(int error) { return error == EPIPE || error == ECONNRESET; }

absl::Status Gone(int socket, absl::string_view consequence) {
  return absl::UnavailableError(absl::StrCat("the other end of socket ", socket,
                                             " is closed: the other process has ended, or has let "
                                             "go of it; ",
                                             consequence));
}

// The type of the socket.
absl::StatusOr<int> CheckSocket(int socket) {
  int domain = 0;
  int type = 0;
  socklen_t length = sizeof(int);
  if (getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 ||
      getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &length) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("socket is ", socket, ", which is ",
                     errno == EBADF ? "not an open descriptor" : "not a socket"));
  }
  if (domain != AF_UNIX || (type != SOCK_STREAM && type != SOCK_SEQPACKET)) {
    return absl::InvalidArgumentError(
        absl::StrCat("socket is ", socket, ", which is not a Unix socket of type SOCK_STREAM or ",
                     "SOCK_SEQPACKET: no other kind passes descriptors and reports its end"));
  }
  sockaddr_un peer;
  length = sizeof(peer);
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &length) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("socket is ", socket, ", which is not connected"));
  }
  return type;
}

absl::Status CheckHandle(const ShareableHandle& handle, Bytes size) {
  if (!DescriptorsOf(handle.type).has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("handle is of type ", ToString(handle.type),
                     ": only a POSIX file descriptor or a fabric handle can be sent"));
  }
  if (handle.type == HandleType::kPosixFileDescriptor &&
      fcntl(handle.file_descriptor, F_GETFD) == -1) {
    return absl::InvalidArgumentError(
        absl::StrCat("handle is descriptor ", handle.file_descriptor, ", which is not open"));
  }
  if (size == Bytes(0)) return absl::InvalidArgumentError("size is 0: it must be the memory's");
  return absl::OkStatus();
}

template <typename T>
void Append(msghdr& header, int type, const T& value) {
  auto* const part =
      reinterpret_cast<cmsghdr*>(static_cast<char*>(header.msg_control) + header.msg_controllen);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = type;
  part->cmsg_len = CMSG_LEN(sizeof(T));
  std::memcpy(CMSG_DATA(part), &value, sizeof(T));
  header.msg_controllen += CMSG_SPACE(sizeof(T));
}

// One try. What goes beside the bytes goes with the first of them.
ssize_t SendPart(int socket, const ShareableHandle& handle, const HandleMessage& message,
                 size_t from) {
  HandleMessage bytes = message;
  iovec rest = {reinterpret_cast<char*>(&bytes) + from, sizeof(bytes) - from};
  msghdr header = {};
  header.msg_iov = &rest;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int))] = {};
  header.msg_control = control;
  // Said by the sender and checked by the kernel: so they are there even if the receiver asks for
  // them only after the message was sent.
  Append(header, SCM_CREDENTIALS, ucred{getpid(), geteuid(), getegid()});
  if (from == 0 && handle.type == HandleType::kPosixFileDescriptor) {
    Append(header, SCM_RIGHTS, handle.file_descriptor);
  }
  return sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// SO_PASSCRED as long as the object lives: the kernel then says with each message who sent it.
class SenderIsTold {
 public:
  SenderIsTold(int socket, bool wanted) : socket_(socket), wanted_(wanted) {}
  SenderIsTold(const SenderIsTold&) = delete;
  SenderIsTold& operator=(const SenderIsTold&) = delete;
  ~SenderIsTold() {
    if (changed_) Set(0);
  }

  absl::Status Start() {
    int before = 0;
    socklen_t length = sizeof(before);
    if (!wanted_) return absl::OkStatus();
    if (getsockopt(socket_, SOL_SOCKET, SO_PASSCRED, &before, &length) != 0 || !Set(1)) {
      return SystemError("asking who sends through a socket", errno);
    }
    changed_ = before == 0;
    return absl::OkStatus();
  }

 private:
  bool Set(int on) { return setsockopt(socket_, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0; }

  const int socket_;
  const bool wanted_;
  bool changed_ = false;
};

// What came beside the bytes of a message. Whatever happens, the descriptors are owned.
struct Ancillary {
  std::vector<OwnedDescriptor> descriptors;
  std::optional<ucred> sender;
};

void Collect(msghdr& header, Ancillary& ancillary) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET) continue;
    const size_t bytes = part->cmsg_len - CMSG_LEN(0);
    if (part->cmsg_type == SCM_RIGHTS) {
      for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
        int descriptor = -1;
        std::memcpy(&descriptor, CMSG_DATA(part) + at, sizeof(int));
        ancillary.descriptors.emplace_back(descriptor);
      }
    } else if (part->cmsg_type == SCM_CREDENTIALS && bytes >= sizeof(ucred)) {
      std::memcpy(&ancillary.sender.emplace(), CMSG_DATA(part), sizeof(ucred));
    }
  }
}

absl::Status CheckSender(const ReceiveOptions& options, const std::optional<ucred>& sender) {
  // The kernel says process 0 and "nobody" where it does not know; a sender that nobody told of is
  // not the user "nobody".
  const bool known = sender.has_value() && sender->pid != 0;
  const bool right =
      (!options.sender_uid.has_value() || (known && sender->uid == *options.sender_uid)) &&
      (!options.sender_pid.has_value() || (known && sender->pid == *options.sender_pid));
  if (right) return absl::OkStatus();
  std::string text = "the shareable handle was refused: it was sent by ";
  if (known) {
    absl::StrAppend(&text, "process ", sender->pid, " of user ", sender->uid);
  } else {
    absl::StrAppend(&text, "a process that the kernel does not tell");
  }
  absl::StrAppend(&text, ", and is to come from");
  if (options.sender_pid.has_value()) absl::StrAppend(&text, " process ", *options.sender_pid);
  if (options.sender_uid.has_value()) absl::StrAppend(&text, " user ", *options.sender_uid);
  return absl::PermissionDeniedError(text);
}

// The same file under a number other than 0, which a driver takes for a null pointer [SHARE-13]; a
// process without standard input gets that number first. Holds nothing, and errno says why, if
// there is no other.
OwnedDescriptor AboveZero(OwnedDescriptor descriptor) {
  if (descriptor.get() != 0) return descriptor;
  return OwnedDescriptor(fcntl(0, F_DUPFD_CLOEXEC, 1));
}

// A message as it comes in, piece by piece.
class Incoming {
 public:
  Incoming(int socket, bool in_packets, const ReceiveOptions& options)
      : socket_(socket), in_packets_(in_packets), options_(options) {}

  bool is_complete() const { return received_ == sizeof(message_); }

  // How much there is of the message, in words.
  std::string Progress() const {
    if (received_ == 0) return "no shareable handle";
    return absl::StrCat("only ", received_, " of the ", sizeof(message_),
                        " bytes of a shareable handle");
  }

  // Takes what is there, and not more than the message. False: nothing was there.
  absl::StatusOr<bool> ReceivePart() {
    // Room for all descriptors that a message can have (SCM_MAX_FD), so that none is lost but for
    // the lack of a number; and for what else the socket may be set to tell.
    alignas(cmsghdr) char control[CMSG_SPACE(253 * sizeof(int)) + CMSG_SPACE(sizeof(ucred)) + 512];
    iovec rest = {reinterpret_cast<char*>(&message_) + received_, sizeof(message_) - received_};
    msghdr header = {};
    header.msg_iov = &rest;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    const ssize_t bytes = recvmsg(socket_, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (bytes < 0) {
      if (IsForLater(errno)) return false;
      if (IsGone(errno)) return Ended();
      return SystemError(absl::StrCat("receiving through socket ", socket_), errno);
    }
    ancillary_.sender.reset();  // each piece says anew who sent it
    Collect(header, ancillary_);
    if (bytes == 0) return Ended();
    const absl::Status checked = Check(static_cast<size_t>(bytes), header.msg_flags);
    if (!checked.ok()) return checked;
    return true;
  }

  absl::StatusOr<ReceivedMemory> Take() {
    ReceivedMemory memory;
    memory.handle.type = static_cast<HandleType>(message_.type);
    memory.handle.fabric = message_.fabric;
    memory.size = Bytes(message_.size);
    if (!ancillary_.descriptors.empty()) {
      memory.descriptor = AboveZero(std::move(ancillary_.descriptors.front()));
      if (!memory.descriptor.is_open()) return NoNumber(errno);
      memory.handle.file_descriptor = memory.descriptor.get();
    }
    return memory;
  }

 private:
  static absl::Status NoNumber(int error) {
    return SystemError("a shareable handle came, and its descriptor could not be taken", error);
  }

  absl::Status Ended() const { return Gone(socket_, absl::StrCat(Progress(), " came")); }

  absl::Status Check(size_t bytes, int flags) {
    if (options_.sender_uid.has_value() || options_.sender_pid.has_value()) {
      const absl::Status sender = CheckSender(options_, ancillary_.sender);
      if (!sender.ok()) return sender;
    }
    received_ += bytes;
    // A descriptor that cannot get a number does not come at all; the message is not to blame.
    if ((flags & MSG_CTRUNC) != 0) return NoNumber(EMFILE);
    const auto flaw = Flaw(message_, received_, ancillary_.descriptors.size());
    if (flaw.has_value()) return NotAHandle(socket_, *flaw);
    const bool is_longer = (flags & MSG_TRUNC) != 0;
    if (!in_packets_ || (is_complete() && !is_longer)) return absl::OkStatus();
    return NotAHandle(socket_,
                      absl::StrCat("a message of ", is_longer ? "more than " : "", received_,
                                   " bytes, and a handle has ", sizeof(message_)));
  }

  const int socket_;
  const bool in_packets_;
  const ReceiveOptions& options_;
  HandleMessage message_;
  size_t received_ = 0;
  Ancillary ancillary_;
};

absl::Status TooLate(const std::string& what, std::chrono::milliseconds timeout) {
  return absl::DeadlineExceededError(
      absl::StrCat(what, " within ", std::max<int64_t>(timeout.count(), 0), " ms"));
}

}  // namespace

absl::Status SendShareableHandle(int socket, const ShareableHandle& handle, Bytes size,
                                 const SendOptions& options) {
  const absl::StatusOr<int> type = CheckSocket(socket);
  if (!type.ok()) return type.status();
  const absl::Status sendable = CheckHandle(handle, size);
  if (!sendable.ok()) return sendable;
  const Deadline deadline(options.timeout);
  const HandleMessage message = MakeMessage(handle, size);
  size_t sent = 0;
  while (sent < sizeof(message)) {
    const absl::StatusOr<bool> ready = WaitFor(socket, POLLOUT, deadline);
    if (!ready.ok()) return ready.status();
    const ssize_t bytes = *ready ? SendPart(socket, handle, message, sent) : 0;
    if (bytes > 0) {
      sent += static_cast<size_t>(bytes);
    } else if (!*ready || (IsForLater(errno) && deadline.is_over())) {
      return TooLate(absl::StrCat("the other process did not read, and socket ", socket,
                                  " took no shareable handle"),
                     options.timeout);
    } else if (IsGone(errno)) {
      return Gone(socket, "the shareable handle was not sent");
    } else if (!IsForLater(errno)) {
      return SystemError(absl::StrCat("sending a shareable handle through socket ", socket), errno);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ReceivedMemory> ReceiveShareableHandle(int socket, const ReceiveOptions& options) {
  const absl::StatusOr<int> type = CheckSocket(socket);
  if (!type.ok()) return type.status();
  SenderIsTold sender(socket, options.sender_uid.has_value() || options.sender_pid.has_value());
  const absl::Status told = sender.Start();
  if (!told.ok()) return told;
  const Deadline deadline(options.timeout);
  Incoming incoming(socket, *type == SOCK_SEQPACKET, options);
  while (!incoming.is_complete()) {
    const absl::StatusOr<bool> ready = WaitFor(socket, POLLIN, deadline);
    if (!ready.ok()) return ready.status();
    const absl::StatusOr<bool> came = *ready ? incoming.ReceivePart() : false;
    if (!came.ok()) return came.status();
    if (*came || (*ready && !deadline.is_over())) continue;
    return TooLate(absl::StrCat(incoming.Progress(), " came through socket ", socket),
                   options.timeout);
  }
  return incoming.Take();
}

}  // namespace twinmmu
