/* Scratch memory in the order of streams: a producer allocates and fills it, a consumer on another
 * stream reads it, and the producer frees it. The host waits for nobody until the end; the pool
 * gives the same addresses out again and again. */

#include <stdio.h>

#include "tools/examples/check.h"

enum { kRounds = 4, kSize = 4096 };

int main(void) {
  CUstream producer, consumer;
  CUevent filled, read;
  CUdeviceptr scratch[kRounds];
  unsigned char* result;
  void* memory;
  CUdevice device;
  int round, places = 0;
  CHECK(cuInit(0));
  device = use_device(0);
  CHECK(cuStreamCreate(&producer, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&consumer, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&filled, CU_EVENT_DISABLE_TIMING));
  CHECK(cuEventCreate(&read, CU_EVENT_DISABLE_TIMING));
  CHECK(cuMemAllocHost(&memory, kRounds * kSize));
  result = memory;

  for (round = 0; round < kRounds; ++round) {
    CHECK(cuMemAllocAsync(&scratch[round], kSize, producer));
    CHECK(cuMemsetD8Async(scratch[round], (unsigned char)(round + 1), kSize, producer));
    CHECK(cuEventRecord(filled, producer));
    CHECK(cuStreamWaitEvent(consumer, filled, 0));
    /* Reported: */
    CHECK(cuMemcpyDtoHAsync(result + round * kSize, scratch[round], kSize, consumer));
#ifdef PLANTED_BUG
    /* Wrong: nothing orders the free behind the copy of the other stream. */
#else
    CHECK(cuEventRecord(read, consumer));
    CHECK(cuStreamWaitEvent(producer, read, 0));
#endif
    /* Reported: */
    CHECK(cuMemFreeAsync(scratch[round], producer));
  }
  CHECK(cuStreamSynchronize(producer));
  CHECK(cuStreamSynchronize(consumer));

  for (round = 0; round < kRounds; ++round) {
    places += scratch[round] != scratch[0];
    printf("round %d: %d\n", round, result[round * kSize + kSize - 1]);
  }
  printf("addresses: %d\n", places + 1);

  CHECK(cuMemFreeHost(memory));
  CHECK(cuEventDestroy(filled));
  CHECK(cuEventDestroy(read));
  CHECK(cuStreamDestroy(producer));
  CHECK(cuStreamDestroy(consumer));
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
