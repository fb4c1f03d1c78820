/* Two servers of models share one device, and one set of weights: while one serves, the other one
 * sleeps. Asleep, a server has given back its cache, and keeps the addresses and the weights. The
 * first server makes the weights, and hands them to the second. */

#define _GNU_SOURCE
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/examples/check.h"

enum { kRounds = 3, kLayers = 4, kBlocks = 6 };

struct server {
  int other; /* a socket to the other server */
  CUdevice device;
  size_t granularity;
  CUdeviceptr weights;
  CUdeviceptr cache;
};

/* --- What the servers tell each other -----------------------------------------------------------
 */

static void send_turn(int other) { EXPECT(write(other, "t", 1) == 1, "the other server is gone"); }

static void await_turn(int other) {
  char turn;
  EXPECT(read(other, &turn, 1) == 1, "the other server is gone");
}

static void send_descriptor(int other, int descriptor) {
  char control[CMSG_SPACE(sizeof(int))] = {0};
  char byte = 'd';
  struct iovec data = {&byte, 1};
  struct msghdr message = {NULL, 0, &data, 1, control, sizeof(control), 0};
  struct cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  EXPECT(sendmsg(other, &message, 0) == 1, "the other server is gone");
}

static int receive_descriptor(int other) {
  char control[CMSG_SPACE(sizeof(int))] = {0};
  char byte;
  struct iovec data = {&byte, 1};
  struct msghdr message = {NULL, 0, &data, 1, control, sizeof(control), 0};
  int descriptor;
  EXPECT(recvmsg(other, &message, 0) == 1, "the other server is gone");
  memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
  return descriptor;
}

/* --- Memory -------------------------------------------------------------------------------------
 */

static void back(struct server* server, CUdeviceptr address, size_t size) {
  const CUmemAllocationProp properties = memory_of(server->device);
  const CUmemAccessDesc grant = grant_to(server->device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CUmemGenericAllocationHandle handle;
  CHECK(cuMemCreate(&handle, size, &properties, 0));
  /* Reported: */
  CHECK(cuMemMap(address, size, 0, handle, 0));
  CHECK(cuMemRelease(handle)); /* The mapping keeps the memory. */
  CHECK(cuMemSetAccess(address, size, &grant, 1));
}

static void load_weights(struct server* server) {
  const size_t size = kLayers * server->granularity;
  const CUmemAccessDesc grant = grant_to(server->device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CUmemAllocationProp properties = memory_of(server->device);
  CUmemGenericAllocationHandle handle;
  int descriptor = -1;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CHECK(cuMemCreate(&handle, size, &properties, 0));
  CHECK(cuMemMap(server->weights, size, 0, handle, 0));
  CHECK(cuMemSetAccess(server->weights, size, &grant, 1));
  CHECK(cuMemsetD8(server->weights, 7, size));
  CHECK(cuCtxSynchronize()); /* Another process does not wait for the streams of this one. */
  CHECK(cuMemExportToShareableHandle(&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                     0));
  CHECK(cuMemRelease(handle));
  send_descriptor(server->other, descriptor);
  close(descriptor);
}

static void map_weights(struct server* server) {
  const size_t size = kLayers * server->granularity;
  const CUmemAccessDesc grant = grant_to(server->device, CU_MEM_ACCESS_FLAGS_PROT_READ);
  const int descriptor = receive_descriptor(server->other);
  CUmemGenericAllocationHandle handle;
  CHECK(cuMemImportFromShareableHandle(&handle, (void*)(size_t)descriptor,
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(descriptor);
  CHECK(cuMemMap(server->weights, size, 0, handle, 0));
  CHECK(cuMemRelease(handle));
  CHECK(cuMemSetAccess(server->weights, size, &grant, 1));
}

/* --- A server -----------------------------------------------------------------------------------
 */

static void serve(struct server* server, int blocks) {
  int i;
  for (i = 0; i < blocks; ++i) {
    const CUdeviceptr block = server->cache + (size_t)i * server->granularity;
    back(server, block, server->granularity);
    CHECK(cuMemcpyDtoD(block, server->weights, server->granularity));
    usleep(2000);
  }
  CHECK(cuCtxSynchronize());
}

static void fall_asleep(struct server* server, int blocks) {
#ifdef PLANTED_BUG
  if (blocks == kBlocks) --blocks; /* Wrong: the last block of the largest cache stays. */
#endif
  CHECK(cuMemUnmap(server->cache, (size_t)blocks * server->granularity));
}

static void run_server(int other, int is_first) {
  struct server server = {other, 0, 0, 0, 0};
  int round;
  CHECK(cuInit(0));
  server.device = use_device(0);
  server.granularity = granularity_of(server.device);
  CHECK(cuMemAddressReserve(&server.weights, kLayers * server.granularity, 0, 0, 0));
  CHECK(cuMemAddressReserve(&server.cache, 2 * kBlocks * server.granularity, 0, 0, 0));
  if (is_first) load_weights(&server);
  if (!is_first) map_weights(&server);
  for (round = 0; round < kRounds; ++round) {
    const int blocks = kBlocks - kRounds + 1 + round;
    if (round != 0 || !is_first) await_turn(other);
    serve(&server, blocks);
    printf("server %d, round %d: %d blocks\n", is_first ? 1 : 2, round + 1, blocks);
    fflush(stdout);
    fall_asleep(&server, blocks);
    if (round + 1 != kRounds || is_first) send_turn(other);
  }
  CHECK(cuMemUnmap(server.weights, kLayers * server.granularity));
  CHECK(cuMemAddressFree(server.weights, kLayers * server.granularity));
#ifndef PLANTED_BUG
  CHECK(cuMemAddressFree(server.cache, 2 * kBlocks * server.granularity));
#endif
  CHECK(cuDevicePrimaryCtxRelease(server.device));
}

int main(void) {
  int sockets[2];
  int status = 0;
  pid_t second;
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0, "no sockets");
  second = fork(); /* Before cuInit: a child cannot use the driver of its parent. */
  EXPECT(second != -1, "no second process");
  if (second == 0) {
    close(sockets[0]);
    run_server(sockets[1], 0);
    return 0;
  }
  close(sockets[1]);
  run_server(sockets[0], 1);
  EXPECT(waitpid(second, &status, 0) == second && status == 0, "the second server failed");
  return 0;
}
