/* Two processes hand buffers to each other, and only their streams wait: a producer fills a slot
 * and counts it in a word of shared memory; the stream of a consumer waits for that count, adds up
 * the slot, and counts it as free again, which the stream of the producer waits for. All of it is
 * queued beforehand; each process synchronises once, at the end. */

#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/examples/check.h"

enum { kSlots = 4, kRounds = 40, kWords = 1024 };

/* Memory of the host that both processes have. */
struct shared {
  uint32_t filled; /* how many slots were, so far */
  uint32_t freed;
  uint32_t slots[kSlots][kWords];
};

/* Adds the words of a slot to a sum. */
static const char kPtx[] =
    ".version 7.0\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry add(.param .u64 sum, .param .u64 slot) {\n"
    "  .reg .b64 %sum, %slot, %at;\n"
    "  .reg .b32 %thread, %word;\n"
    "  ld.param.u64 %sum, [sum];\n"
    "  ld.param.u64 %slot, [slot];\n"
    "  mov.u32 %thread, %tid.x;\n"
    "  mul.wide.u32 %at, %thread, 4;\n"
    "  add.u64 %at, %slot, %at;\n"
    "  ld.global.u32 %word, [%at];\n"
    "  red.global.add.u32 [%sum], %word;\n"
    "  ret;\n"
    "}\n";

static struct shared* shared;
static pid_t producer = -1;

/* Whatever goes wrong, nobody is left. */
static void kill_producer(void) {
  if (producer != -1) kill(producer, SIGKILL);
}

static CUdeviceptr address_of(void* memory) {
  CUdeviceptr address;
  CHECK(cuMemHostGetDevicePointer(&address, memory, 0));
  return address;
}

static CUstream begin(void) {
  CUstream stream;
  CHECK(cuInit(0));
  use_device(0);
  CHECK(cuMemHostRegister(shared, sizeof(*shared), 0));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

static void end(CUstream stream) {
  CHECK(cuStreamDestroy(stream));
  CHECK(cuMemHostUnregister(shared));
  CHECK(cuDevicePrimaryCtxRelease(0));
}

static void produce(void) {
  const CUstream stream = begin();
  const CUdeviceptr filled = address_of(&shared->filled);
  const CUdeviceptr freed = address_of(&shared->freed);
  unsigned int round;
  for (round = 0; round < kRounds; ++round) {
    if (round >= kSlots) { /* The slot is still in use. */
      CHECK(cuStreamWaitValue32(stream, freed, round - kSlots + 1, CU_STREAM_WAIT_VALUE_GEQ));
    }
    CHECK(cuMemsetD32Async(address_of(shared->slots[round % kSlots]), round + 1, kWords, stream));
    /* Whoever sees the count sees the slot. */
    CHECK(cuStreamWriteValue32(stream, filled, round + 1, CU_STREAM_WRITE_VALUE_DEFAULT));
  }
  CHECK(cuStreamSynchronize(stream));
  end(stream);
}

static void consume(void) {
  const CUstream stream = begin();
  const CUdeviceptr freed = address_of(&shared->freed);
  CUdeviceptr filled = address_of(&shared->filled);
  CUdeviceptr sum;
  CUmodule module;
  CUfunction add;
  uint32_t result = 0;
  unsigned int round;
  CHECK(cuModuleLoadData(&module, kPtx));
  CHECK(cuModuleGetFunction(&add, module, "add"));
  CHECK(cuMemAlloc(&sum, 2 * sizeof(result)));
  CHECK(cuMemsetD32Async(sum, 0, 2, stream));
#ifdef PLANTED_BUG
  filled = sum + sizeof(result); /* Wrong: the producer does not know this word. */
#endif
  for (round = 0; round < kRounds; ++round) {
    CUdeviceptr slot = address_of(shared->slots[round % kSlots]);
    void* arguments[] = {&sum, &slot};
    /* Reported: */
    CHECK(cuStreamWaitValue32(stream, filled, round + 1, CU_STREAM_WAIT_VALUE_GEQ));
    CHECK(cuLaunchKernel(add, 1, 1, 1, kWords, 1, 1, 0, stream, arguments, NULL));
    CHECK(cuStreamWriteValue32(stream, freed, round + 1, CU_STREAM_WRITE_VALUE_DEFAULT));
  }
  /* Reported: */
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemcpyDtoH(&result, sum, sizeof(result)));
  printf("%d slots are consumed, and their words add up to %u\n", kRounds, result);
  CHECK(cuMemFree(sum));
  CHECK(cuModuleUnload(module));
  end(stream);
}

int main(void) {
  int status = 0;
  shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT(shared != MAP_FAILED, "no memory");
  producer = fork(); /* Before cuInit: a driver does not outlive a fork. */
  EXPECT(producer != -1, "no process");
  if (producer == 0) {
    produce();
    return 0;
  }
  atexit(kill_producer);
  consume();
  EXPECT(waitpid(producer, &status, 0) == producer && status == 0, "the producer failed");
  producer = -1;
  return 0;
}
