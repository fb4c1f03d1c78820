// Two processes that share memory of a pool and an event: the parent fills its memory, the child,
// which has the pool by its descriptor, waits for the event and adds to every value. What they tell
// each other goes through a socket.

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "tools/examples/runtime/runtime_check.h"

namespace {

__global__ void AddNumber(int* values, int count, int number) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += number;
}

constexpr int kCount = 1 << 16;
constexpr size_t kSize = kCount * sizeof(int);

struct Offer {
  cudaMemPoolPtrExportData memory;
  cudaIpcEventHandle_t filled;
};

// A message, with a descriptor for the other process if it is not -1.
template <typename T>
void Send(int socket, T value, int descriptor) {
  iovec bytes = {&value, sizeof(value)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  if (sendmsg(socket, &message, 0) != sizeof(value)) _exit(3);
}

template <typename T>
T Receive(int socket, int* descriptor) {
  T value;
  iovec bytes = {&value, sizeof(value)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (recvmsg(socket, &message, 0) != sizeof(value)) _exit(3);
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr) std::memcpy(descriptor, CMSG_DATA(header), sizeof(int));
  return value;
}

int Child(int socket) {
  int descriptor = -1;
  Offer offer = Receive<Offer>(socket, &descriptor);
  cudaMemPool_t pool = nullptr;
  void* opened = nullptr;
  cudaEvent_t filled = nullptr;
  CHECK(cudaMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void*>(uintptr_t(descriptor)),
                                             cudaMemHandleTypePosixFileDescriptor, 0));
  close(descriptor);
  cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};
  CHECK(cudaMemPoolSetAccess(pool, &access, 1));
  CHECK(cudaMemPoolImportPointer(&opened, pool, &offer.memory));
  CHECK(cudaIpcOpenEventHandle(&filled, offer.filled));
  CHECK(cudaStreamWaitEvent(nullptr, filled, 0));
  int* const values = static_cast<int*>(opened);
  int first = 0;
  CHECK(cudaMemcpy(&first, values, sizeof(first), cudaMemcpyDeviceToHost));
#ifdef PLANTED_BUG
  const int count = kCount << 12;
#else
  const int count = kCount;
#endif
  AddNumber<<<count / 256, 256>>>(values, count, 5);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaEventDestroy(filled));
  CHECK(cudaFree(opened));
  CHECK(cudaMemPoolDestroy(pool));
  Send(socket, first, -1);
  return 0;
}

cudaMemPool_t MakePool() {
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.handleTypes = cudaMemHandleTypePosixFileDescriptor;
  properties.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t pool = nullptr;
  CHECK(cudaMemPoolCreate(&pool, &properties));
  return pool;
}

void Parent(int socket) {
  int* values = nullptr;
  int descriptor = -1;
  cudaEvent_t filled = nullptr;
  Offer offer = {};
  cudaMemPool_t pool = MakePool();
  CHECK(cudaMallocFromPoolAsync(&values, kSize, pool, nullptr));
  CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming | cudaEventInterprocess));
  CHECK(cudaMemPoolExportToShareableHandle(&descriptor, pool, cudaMemHandleTypePosixFileDescriptor,
                                           0));
  CHECK(cudaMemPoolExportPointer(&offer.memory, values));
  CHECK(cudaIpcGetEventHandle(&offer.filled, filled));
  cudaEvent_t own = nullptr;
  std::printf("a handle, opened by who made it: %s\n",
              cudaGetErrorName(cudaIpcOpenEventHandle(&own, offer.filled)));
  cudaGetLastError();
  CHECK(cudaMemsetAsync(values, 0, kSize, nullptr));
  AddNumber<<<kCount / 256, 256>>>(values, kCount, 37);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(filled, nullptr));
  Send(socket, offer, descriptor);
  close(descriptor);
  int nothing = -1;
  const int seen = Receive<int>(socket, &nothing);
  int last = 0;
  CHECK(cudaMemcpy(&last, values + kCount - 1, sizeof(last), cudaMemcpyDeviceToHost));
  std::printf("the child saw %d, the parent now sees %d\n", seen, last);
  CHECK(cudaEventDestroy(filled));
  CHECK(cudaFreeAsync(values, nullptr));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemPoolDestroy(pool));
}

}  // namespace

int main() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) return 2;
  // Before the first call: a child of a process that has used CUDA cannot use it.
  const pid_t child = fork();
  close(ends[child == 0 ? 0 : 1]);
  if (child == 0) std::exit(Child(ends[1]));
  Parent(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("the child ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  return 0;
}
