/* Two processes share memory of a device: one creates it and sends a descriptor of it through a
 * socket, the other holds that. As long as it does, the memory stays, whatever the first one
 * releases.
 *
 * With the argument "import" the other process also maps the memory, and reads what is there. */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/examples/check.h"

static const unsigned char kContent = 42;

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

/* Releases all of its own; returns the descriptor. */
static int export_memory(CUdevice device) {
  CUmemAllocationProp properties = memory_of(device);
  CUmemGenericAllocationHandle handle;
  CUdeviceptr address;
  int descriptor = -1;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CHECK(cuMemCreate(&handle, shared_size(device), &properties, 0));
  address = map_shared(device, handle);
  CHECK(cuMemsetD8(address, kContent, shared_size(device)));
  CHECK(cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                     0));
  unmap_shared(device, address);
  CHECK(cuMemRelease(handle));
  return descriptor;
}

/* What the memory holds, seen from the other process. */
static int import_memory(int descriptor) {
  CUmemGenericAllocationHandle handle;
  CUdeviceptr address;
  CUdevice device;
  unsigned char content = 0;
  CHECK(cuInit(0));
  device = use_device(0);
  CHECK(cuMemImportFromShareableHandle(&handle, (void*)(size_t)descriptor,
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  address = map_shared(device, handle);
  CHECK(cuMemcpyDtoH(&content, address + shared_size(device) - 1, 1));
  unmap_shared(device, address);
  CHECK(cuMemRelease(handle));
  CHECK(cuDevicePrimaryCtxRelease(device));
  return content;
}

static void hold_memory(int socket, int imports) {
  const int descriptor = await_done(socket);
  EXPECT(descriptor != -1, "no descriptor came");
  if (imports) {
    EXPECT(import_memory(descriptor) == kContent, "the importer reads something else");
  }
  send_done(socket, -1);
  await_done(socket);
  close(descriptor);
  send_done(socket, -1);
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

static void share_memory(int socket) {
  size_t before;
  int descriptor;
  CUdevice device;
  CHECK(cuInit(0));
  device = use_device(0);
  warm_up(device);
  before = free_memory();
  descriptor = export_memory(device);
  send_done(socket, descriptor);
#ifndef PLANTED_BUG
  close(descriptor);
#else
  /* Wrong: sending is not giving away. The descriptor stays open here too, and keeps the memory. */
#endif
  await_done(socket);
  printf("all is released, the other process holds the memory: %zu granules taken\n",
         taken(before, device, 4));
  send_done(socket, -1);
  await_done(socket);
  printf("the other process has let go: %zu granules taken\n", taken(before, device, 0));
  CHECK(cuDevicePrimaryCtxRelease(device));
}

int main(int argc, char** argv) {
  const int imports = argc > 1 && strcmp(argv[1], "import") == 0;
  int sockets[2];
  int status = 0;
  pid_t other;
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0, "no socket");
  other = fork(); /* Before cuInit: a driver does not outlive a fork. */
  EXPECT(other != -1, "no process");
  if (other == 0) {
    close(sockets[0]);
    hold_memory(sockets[1], imports);
    return 0;
  }
  close(sockets[1]);
  share_memory(sockets[0]);
  close(sockets[0]);
  EXPECT(waitpid(other, &status, 0) == other && status == 0, "the other process failed");
  if (imports) printf("the other process has read what was written\n");
  return 0;
}
