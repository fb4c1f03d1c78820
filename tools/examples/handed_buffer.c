/* A producer fills a buffer and hands it to a process that reads it. Neither waits for the other on
 * the host: an event of both processes says when the buffer is full. */

#define _GNU_SOURCE
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/examples/check.h"

enum { kSize = 1 << 20, kContent = 7 };

struct offer {
  CUipcMemHandle buffer;
  CUipcEventHandle full;
};

static void produce(int socket) {
  struct offer offer;
  CUdeviceptr buffer;
  CUevent full;
  CUstream stream;
  CUdevice device;
  char done;
  CHECK(cuInit(0));
  device = use_device(0);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&full, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  CHECK(cuMemAlloc(&buffer, kSize));
  CHECK(cuIpcGetMemHandle(&offer.buffer, buffer));
  CHECK(cuIpcGetEventHandle(&offer.full, full));

#ifdef PLANTED_BUG
  /* Wrong: the event stands for what its stream was given before, and that is nothing. */
  CHECK(cuEventRecord(full, stream));
#endif
  CHECK(cuMemsetD8Async(buffer, kContent, kSize, stream));
#ifndef PLANTED_BUG
  CHECK(cuEventRecord(full, stream));
#endif
  EXPECT(send(socket, &offer, sizeof(offer), MSG_NOSIGNAL) == sizeof(offer), "nobody takes it");
  EXPECT(recv(socket, &done, 1, 0) == 1, "the consumer is gone");

  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemFree(buffer));
  CHECK(cuEventDestroy(full));
  CHECK(cuStreamDestroy(stream));
  CHECK(cuDevicePrimaryCtxRelease(device));
}

static void consume(int socket) {
  static unsigned char content[kSize];
  struct offer offer;
  CUdeviceptr buffer;
  CUevent full;
  CUstream stream;
  CUdevice device;
  CHECK(cuInit(0));
  device = use_device(0);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  EXPECT(recv(socket, &offer, sizeof(offer), MSG_WAITALL) == sizeof(offer), "no buffer came");
  CHECK(cuIpcOpenMemHandle(&buffer, offer.buffer, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  CHECK(cuIpcOpenEventHandle(&full, offer.full));

  CHECK(cuStreamWaitEvent(stream, full, 0));
  /* Reported: */
  CHECK(cuMemcpyDtoHAsync(content, buffer, kSize, stream));
  CHECK(cuStreamSynchronize(stream));
  printf("the last byte: %d\n", content[kSize - 1]);

  CHECK(cuIpcCloseMemHandle(buffer));
  CHECK(cuEventDestroy(full));
  CHECK(cuStreamDestroy(stream));
  CHECK(cuDevicePrimaryCtxRelease(device));
  EXPECT(send(socket, "", 1, MSG_NOSIGNAL) == 1, "the producer is gone");
}

int main(void) {
  int ends[2];
  int status;
  pid_t consumer;
  EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "no sockets");
  consumer = fork(); /* Before the driver is used: a child cannot use what its parent has of it. */
  EXPECT(consumer >= 0, "no second process");
  if (consumer == 0) {
    close(ends[0]);
    consume(ends[1]);
    return 0;
  }
  close(ends[1]);
  produce(ends[0]);
  EXPECT(waitpid(consumer, &status, 0) == consumer && status == 0, "the consumer failed");
  return 0;
}
