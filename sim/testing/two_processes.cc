#include "sim/testing/two_processes.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <utility>

#include "gtest/gtest.h"

namespace twinmmu {
namespace {

union Control {
  char bytes[CMSG_SPACE(sizeof(int))];
  cmsghdr aligned;
};

}  // namespace

bool Line::Send(const void* data, size_t size, int descriptor) const {
  iovec part = {const_cast<void*>(data), size};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Control control = {};
  if (descriptor != -1) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof(control.bytes);
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(int));
  }
  return sendmsg(socket_, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

bool Line::Receive(void* data, size_t size, int* descriptor) const {
  iovec part = {data, size};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Control control = {};
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof(control.bytes);
  if (recvmsg(socket_, &message, MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(size)) return false;
  int received = -1;
  const cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  if (rights != nullptr) std::memcpy(&received, CMSG_DATA(rights), sizeof(int));
  if (descriptor != nullptr) {
    *descriptor = received;
  } else if (received != -1) {
    close(received);
  }
  return true;
}

void Line::Close() {
  if (socket_ != -1) close(std::exchange(socket_, -1));
}

OtherProcess::OtherProcess(const std::function<void(Line&)>& role) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) return;
  process_ = fork();
  if (process_ == 0) {
    close(sockets[0]);
    Line line(sockets[1]);
    role(line);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  close(sockets[1]);
  line_.emplace(sockets[0]);
}

void OtherProcess::Kill() {
  if (process_ == -1) return;
  kill(process_, SIGKILL);
  waitpid(std::exchange(process_, -1), nullptr, 0);
}

bool OtherProcess::Succeeds() {
  if (process_ == -1) return false;
  int status = 0;
  waitpid(std::exchange(process_, -1), &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace twinmmu
