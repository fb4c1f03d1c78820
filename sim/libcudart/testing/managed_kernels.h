/* Device code with a managed variable, and its registration as the compilers' code does it:
 *
 *   __managed__ int total = 3;
 *   __global__ void Sum(const int* values, int n);   // total += values[0] + ... + values[n - 1]
 *
 * On the host, *total is that variable once the module is initialised.
 */

#ifndef TWINMMU_SIM_LIBCUDART_TESTING_MANAGED_KERNELS_H_
#define TWINMMU_SIM_LIBCUDART_TESTING_MANAGED_KERNELS_H_

#include "sim/libcudart/testing/fat_binary_image.h"
#include "third_party/cuda_abi/cudart_abi.h"

TWINMMU_FAT_BINARY(kManagedKernels, 70,
                   ".version 7.0\n"
                   ".target sm_70\n"
                   ".address_size 64\n"
                   ".visible .global .attribute(.managed) .align 4 .u32 total = 3;\n"
                   ".visible .entry Sum(.param .u64 Sum_values, .param .u32 Sum_n) {\n"
                   "  .reg .pred %p;\n"
                   "  .reg .b32 %r<10>;\n"
                   "  .reg .b64 %rd<10>;\n"
                   "  ld.param.u64 %rd1, [Sum_values];\n"
                   "  ld.param.u32 %r1, [Sum_n];\n"
                   "  mov.u32 %r2, %ctaid.x;\n"
                   "  mov.u32 %r3, %ntid.x;\n"
                   "  mov.u32 %r4, %tid.x;\n"
                   "  mad.lo.s32 %r5, %r2, %r3, %r4;\n"
                   "  setp.ge.s32 %p, %r5, %r1;\n"
                   "  @%p bra DONE;\n"
                   "  mul.wide.s32 %rd2, %r5, 4;\n"
                   "  add.s64 %rd1, %rd1, %rd2;\n"
                   "  ld.global.u32 %r6, [%rd1];\n"
                   "  red.global.add.u32 [total], %r6;\n"
                   "DONE:\n"
                   "  ret;\n"
                   "}\n");

static int* total;
static char Sum; /* a kernel is an address, no more */

static inline void** RegisterManagedKernels(void) {
  static char device_name[] = "total";
  void** const module = __cudaRegisterFatBinary(&kManagedKernels);
  __cudaRegisterFunction(module, &Sum, &Sum, "Sum", -1, 0, 0, 0, 0, 0);
  __cudaRegisterManagedVar(module, (void**)&total, device_name, "total", 0, sizeof(*total), 0, 0);
  __cudaRegisterFatBinaryEnd(module);
  return module;
}

#endif /* TWINMMU_SIM_LIBCUDART_TESTING_MANAGED_KERNELS_H_ */
