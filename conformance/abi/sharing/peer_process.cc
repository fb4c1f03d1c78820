#include "conformance/abi/sharing/peer_process.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace twinmmu::abi {
namespace {

// One byte, and room for a descriptor.
struct DescriptorMessage {
  DescriptorMessage() {
    part = {&byte, 1};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }

  char byte = 'd';
  iovec part = {};
  msghdr header = {};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
};

}  // namespace

Peer::~Peer() { close(socket_); }

void Peer::SendBytes(const void* bytes, size_t size) {
  EXPECT_EQ(send(socket_, bytes, size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
}

void Peer::ReceiveBytes(void* bytes, size_t size) {
  EXPECT_EQ(recv(socket_, bytes, size, MSG_WAITALL), static_cast<ssize_t>(size));
}

void Peer::SendDescriptor(int descriptor) {
  DescriptorMessage message;
  cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(descriptor));
  std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(descriptor));
  EXPECT_EQ(sendmsg(socket_, &message.header, MSG_NOSIGNAL), 1);
}

int Peer::ReceiveDescriptor() {
  DescriptorMessage message;
  EXPECT_EQ(recvmsg(socket_, &message.header, MSG_CMSG_CLOEXEC), 1);
  int descriptor = -1;
  const cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
  if (rights == nullptr) {
    ADD_FAILURE() << "no descriptor came";
  } else {
    std::memcpy(&descriptor, CMSG_DATA(rights), sizeof(descriptor));
  }
  return descriptor;
}

void Peer::Meet() {
  Send('m');
  EXPECT_EQ(Receive<char>(), 'm');
}

void Peer::AwaitEnd() {
  char byte = 0;
  EXPECT_EQ(recv(socket_, &byte, 1, 0), 0);
}

CUcontext TwoProcessesTest::Initialise() {
  CUcontext context = nullptr;
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  return context;
}

void TwoProcessesTest::Run(const std::function<void(Peer&)>& first,
                           const std::function<void(Peer&)>& second) {
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
  const auto run = [&](int own, const std::function<void(Peer&)>& body) {
    close(sockets[1 - own]);
    Peer peer(sockets[own]);
    Initialise();
    body(peer);
  };
  const pid_t child = fork();
  if (child == 0) {
    run(1, second);
    std::fflush(nullptr);
    std::_Exit(HasFailure() ? 1 : 0);
  }
  run(0, first);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the second process failed";
}

unsigned int WordAt(CUdeviceptr address) {
  unsigned int word = 0;
  EXPECT_EQ(cuMemcpyDtoH(&word, address, sizeof(word)), CUDA_SUCCESS);
  return word;
}

bool CanBeRead(CUdeviceptr address) {
  unsigned int word = 0;
  return cuMemcpyDtoH(&word, address, sizeof(word)) == CUDA_SUCCESS;
}

void SetWords(CUdeviceptr address, unsigned int value, size_t count) {
  EXPECT_EQ(cuMemsetD32(address, value, count), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

}  // namespace twinmmu::abi
