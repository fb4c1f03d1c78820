/* A pool that hands out zeroed blocks: it zeroes a block on a stream of its own, and its user reads
 * it on another one, which does not wait for the null stream. */

#include "tools/examples/check.h"

enum { kThreads = 256, kSize = kThreads * sizeof(unsigned int) };

/* Each thread adds its number to its word. */
static const char kAddNumbers[] =
    ".version 7.5\n"
    ".target sm_70\n"
    ".address_size 64\n"
    ".visible .entry add_numbers(.param .u64 block) {\n"
    "  .reg .b64 %rd<3>;\n"
    "  .reg .b32 %r<4>;\n"
    "  ld.param.u64 %rd1, [block];\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  mul.wide.u32 %rd2, %r1, 4;\n"
    "  add.s64 %rd2, %rd1, %rd2;\n"
    "  ld.global.u32 %r2, [%rd2];\n"
    "  add.u32 %r3, %r1, %r2;\n"
    "  st.global.u32 [%rd2], %r3;\n"
    "  ret;\n"
    "}\n";

/* A block of zeros, for work on `stream`. */
static CUdeviceptr take_block(CUstream stream) {
  CUdeviceptr block;
  CHECK(cuMemAlloc(&block, kSize));
#ifdef PLANTED_BUG
  /* Wrong: a stream made with CU_STREAM_NON_BLOCKING does not wait for the null stream. */
  (void)stream;
  /* Reported: */
  CHECK(cuMemsetD8Async(block, 0, kSize, 0));
#else
  CHECK(cuMemsetD8Async(block, 0, kSize, stream));
#endif
  return block;
}

int main(void) {
  unsigned int words[kThreads];
  CUdeviceptr block;
  CUfunction function;
  CUmodule module;
  CUstream stream;
  CUdevice device;
  void* arguments[] = {&block};
  CHECK(cuInit(0));
  device = use_device(0);
  CHECK(cuModuleLoadData(&module, kAddNumbers));
  CHECK(cuModuleGetFunction(&function, module, "add_numbers"));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));

  block = take_block(stream);
  /* Reported: */
  CHECK(cuLaunchKernel(function, 1, 1, 1, kThreads, 1, 1, 0, stream, arguments, NULL));
  CHECK(cuMemcpyDtoHAsync(words, block, kSize, stream));
  CHECK(cuStreamSynchronize(stream));
  printf("the last word: %u\n", words[kThreads - 1]);

  CHECK(cuMemFree(block));
  CHECK(cuStreamDestroy(stream));
  CHECK(cuModuleUnload(module));
  CHECK(cuDevicePrimaryCtxRelease(device));
  return 0;
}
