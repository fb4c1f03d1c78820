/* Device code for tests of the runtime, and its registration as the compilers' code does it. The
 * addresses of these objects stand for what is on the device:
 *
 *   __device__ int scale = 2;
 *   __constant__ int offset[2];
 *   __global__ void Add(const int* a, const int* b, int* c, int n);   // c = scale * (a + b) +
 * offset[1]
 */

#ifndef TWINMMU_SIM_LIBCUDART_TESTING_VECTOR_KERNELS_H_
#define TWINMMU_SIM_LIBCUDART_TESTING_VECTOR_KERNELS_H_

#include "sim/libcudart/testing/fat_binary_image.h"
#include "third_party/cuda_abi/cudart_abi.h"

TWINMMU_FAT_BINARY(kVectorKernels, 70,
                   ".version 7.0\n"
                   ".target sm_70\n"
                   ".address_size 64\n"
                   ".visible .global .align 4 .u32 scale = 2;\n"
                   ".visible .const .align 4 .b8 offset[8];\n"
                   ".visible .entry Add(.param .u64 Add_a, .param .u64 Add_b, .param .u64 Add_c,\n"
                   "                    .param .u32 Add_n) {\n"
                   "  .reg .pred %p;\n"
                   "  .reg .b32 %r<10>;\n"
                   "  .reg .b64 %rd<10>;\n"
                   "  ld.param.u64 %rd1, [Add_a];\n"
                   "  ld.param.u64 %rd2, [Add_b];\n"
                   "  ld.param.u64 %rd3, [Add_c];\n"
                   "  ld.param.u32 %r1, [Add_n];\n"
                   "  mov.u32 %r2, %ctaid.x;\n"
                   "  mov.u32 %r3, %ntid.x;\n"
                   "  mov.u32 %r4, %tid.x;\n"
                   "  mad.lo.s32 %r5, %r2, %r3, %r4;\n"
                   "  setp.ge.s32 %p, %r5, %r1;\n"
                   "  @%p bra DONE;\n"
                   "  mul.wide.s32 %rd4, %r5, 4;\n"
                   "  add.s64 %rd1, %rd1, %rd4;\n"
                   "  add.s64 %rd2, %rd2, %rd4;\n"
                   "  add.s64 %rd3, %rd3, %rd4;\n"
                   "  ld.global.u32 %r6, [%rd1];\n"
                   "  ld.global.u32 %r7, [%rd2];\n"
                   "  add.s32 %r6, %r6, %r7;\n"
                   "  ld.global.u32 %r8, [scale];\n"
                   "  ld.const.u32 %r9, [offset+4];\n"
                   "  mad.lo.s32 %r6, %r6, %r8, %r9;\n"
                   "  st.global.u32 [%rd3], %r6;\n"
                   "DONE:\n"
                   "  ret;\n"
                   "}\n");

static int scale;
static int offset[2];
static char Add; /* a kernel is an address, no more */

static inline void** RegisterVectorKernels(void) {
  void** const module = __cudaRegisterFatBinary(&kVectorKernels);
  __cudaRegisterFunction(module, &Add, &Add, "Add", -1, 0, 0, 0, 0, 0);
  __cudaRegisterVar(module, (char*)&scale, (char*)&scale, "scale", 0, sizeof(scale), 0, 0);
  __cudaRegisterVar(module, (char*)offset, (char*)offset, "offset", 0, sizeof(offset), 1, 0);
  __cudaRegisterFatBinaryEnd(module);
  return module;
}

#endif /* TWINMMU_SIM_LIBCUDART_TESTING_VECTOR_KERNELS_H_ */
