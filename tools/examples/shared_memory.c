/* Two processes share memory of a device. One creates it, exports it, and sends a descriptor of it
 * through a socket; the other one imports it, and maps it for itself. Each sees what the other
 * writes. The memory stays as long as one of them has it, whatever the first one releases. */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/examples/check.h"

static const unsigned char kQuestion = 41;
static const unsigned char kAnswer = 42;

/* A byte to say that something is done, and a descriptor with it if that is not -1. */
static void send_done(int socket, int descriptor) {
  char byte = 0;
  struct iovec data = {&byte, 1};
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr aligned;
  } control;
  struct msghdr message;
  memset(&message, 0, sizeof(message));
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (descriptor != -1) {
    struct cmsghdr* header;
    memset(&control, 0, sizeof(control));
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof(control.bytes);
    header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  EXPECT(sendmsg(socket, &message, MSG_NOSIGNAL) == 1, "the other process is gone");
}

/* Waits for send_done; returns the descriptor, or -1. */
static int await_done(int socket) {
  char byte;
  struct iovec data = {&byte, 1};
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr aligned;
  } control;
  struct cmsghdr* header;
  struct msghdr message;
  int descriptor = -1;
  memset(&message, 0, sizeof(message));
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof(control.bytes);
  EXPECT(recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1, "the other process is gone");
  header = CMSG_FIRSTHDR(&message);
  if (header != NULL && header->cmsg_type == SCM_RIGHTS) {
    memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
  }
  return descriptor;
}

static size_t shared_size(CUdevice device) { return 4 * granularity_of(device); }

static CUdeviceptr map_shared(CUdevice device, CUmemGenericAllocationHandle handle) {
  const CUmemAccessDesc grant = grant_to(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  const size_t size = shared_size(device);
  CUdeviceptr address;
  CHECK(cuMemAddressReserve(&address, size, 0, 0, 0));
  CHECK(cuMemMap(address, size, 0, handle, 0));
  CHECK(cuMemSetAccess(address, size, &grant, 1));
  return address;
}

static void unmap_shared(CUdevice device, CUdeviceptr address) {
  CHECK(cuCtxSynchronize()); /* What still uses the memory must come to its end. */
  CHECK(cuMemUnmap(address, shared_size(device)));
  CHECK(cuMemAddressFree(address, shared_size(device)));
}

static void write_all(CUdevice device, CUdeviceptr address, unsigned char content) {
  CHECK(cuMemsetD8(address, content, shared_size(device)));
  CHECK(cuCtxSynchronize()); /* Another process does not wait for the streams of this one. */
}

static unsigned char read_last(CUdevice device, CUdeviceptr address) {
  unsigned char content = 0;
  CHECK(cuMemcpyDtoH(&content, address + shared_size(device) - 1, 1));
  return content;
}

static void import_memory(int socket) {
  CUmemGenericAllocationHandle handle;
  CUdeviceptr address;
  CUdevice device;
  int descriptor;
  CHECK(cuInit(0));
  device = use_device(0);
  warm_up(device);
  send_done(socket, -1);
  descriptor = await_done(socket);
  EXPECT(descriptor != -1, "no descriptor came");
  CHECK(cuMemImportFromShareableHandle(&handle, (void*)(size_t)descriptor,
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(descriptor);
  address = map_shared(device, handle);
  EXPECT(read_last(device, address) == kQuestion, "the importer reads something else");
  write_all(device, address, kAnswer);
  send_done(socket, -1);
  await_done(socket);
  unmap_shared(device, address);
  CHECK(cuMemRelease(handle));
  send_done(socket, -1);
  await_done(socket);
  CHECK(cuDevicePrimaryCtxRelease(device));
}

/* In granules; waits a second at most for `expected`, as a driver may free memory a little later.
 */
static size_t taken(size_t free_before, CUdevice device, size_t expected) {
  const struct timespec moment = {0, 10 * 1000 * 1000};
  size_t granules = 0;
  int tries;
  for (tries = 0; tries < 100; ++tries) {
    granules = (free_before - free_memory()) / granularity_of(device);
    if (granules == expected) break;
    nanosleep(&moment, NULL);
  }
  return granules;
}

static void export_memory(int socket) {
  CUmemAllocationProp properties;
  CUmemGenericAllocationHandle handle;
  CUdeviceptr address;
  CUdevice device;
  size_t before;
  int descriptor = -1;
  CHECK(cuInit(0));
  device = use_device(0);
  warm_up(device);
  await_done(socket); /* Until the other process has its context, which takes memory, too. */
  before = free_memory();

  properties = memory_of(device);
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CHECK(cuMemCreate(&handle, shared_size(device), &properties, 0));
  address = map_shared(device, handle);
  write_all(device, address, kQuestion);
  /* Reported: */
  CHECK(cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                     0));
  send_done(socket, descriptor);
#ifndef PLANTED_BUG
  close(descriptor);
#else
  /* Wrong: sending is not giving away. The descriptor stays open here too, and keeps the memory. */
#endif
  await_done(socket);
  EXPECT(read_last(device, address) == kAnswer, "the exporter reads something else");
  printf("each process has read what the other one wrote\n");

  unmap_shared(device, address);
  CHECK(cuMemRelease(handle));
  printf("all is released here, the other process has it mapped: %zu granules taken\n",
         taken(before, device, 4));
  send_done(socket, -1);
  await_done(socket);
  printf("the other process has let go: %zu granules taken\n", taken(before, device, 0));
  send_done(socket, -1);
  CHECK(cuDevicePrimaryCtxRelease(device));
}

int main(void) {
  int sockets[2];
  int status = 0;
  pid_t other;
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0, "no socket");
  other = fork(); /* Before cuInit: a driver does not outlive a fork. */
  EXPECT(other != -1, "no process");
  if (other == 0) {
    close(sockets[0]);
    import_memory(sockets[1]);
    return 0;
  }
  close(sockets[1]);
  export_memory(sockets[0]);
  close(sockets[0]);
  EXPECT(waitpid(other, &status, 0) == other && status == 0, "the other process failed");
  return 0;
}
