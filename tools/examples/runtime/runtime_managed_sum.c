/* The program of runtime_managed_sum.cu as nvcc makes it: its variable is a pointer, which is set
 * when the module is initialised. So it is built without nvcc. */

#include <stdio.h>
#include <stdlib.h>

#include "sim/libcudart/testing/managed_kernels.h"
#include "third_party/cuda_abi/cudart_abi.h"

/* As CUDA 13 has them. */
cudaError_t cudaMemAdvise(const void* memory, size_t size, int advice,
                          struct cudaMemLocation location);
cudaError_t cudaMemPrefetchAsync(const void* memory, size_t size, struct cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream);

enum { kReadMostly = 1, kLastPrefetchLocation = 4, kCount = 1000, kSize = kCount * sizeof(int) };

#define CHECK(call) check((call), #call)

static void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "%s failed: %s, %s\n", call, cudaGetErrorName(error), cudaGetErrorString(error));
  exit(1);
}

static void** module;

static void unregister(void) { __cudaUnregisterFatBinary(module); }

__attribute__((constructor)) static void register_kernels(void) {
  module = RegisterManagedKernels();
  atexit(unregister);
}

/* What stands on the host for a use of the variable. */
static int* the_total(void) {
  if (total == NULL) __cudaInitModule(module);
  return total;
}

static int last_prefetch(const void* memory) {
  int where = 0;
  CHECK(cudaMemRangeGetAttribute(&where, sizeof(where), kLastPrefetchLocation, memory, kSize));
  return where;
}

int main(void) {
  const struct cudaMemLocation device = {1, 0};
  const struct cudaMemLocation cpu = {2, 0};
  const twinmmu_dim3 grid = {(kCount + 127) / 128, 1, 1};
  const twinmmu_dim3 block = {128, 1, 1};
  int count = kCount;
  int* values;
  void* arguments[] = {&values, &count};
  /* Reported: */
  CHECK(cudaMallocManaged((void**)&values, kSize, cudaMemAttachGlobal));
  for (int i = 0; i < kCount; ++i) values[i] = i;
  printf("total is %d, ", *the_total());
  *the_total() = 0;
  CHECK(cudaMemAdvise(values, kSize, kReadMostly, device));
  CHECK(cudaMemPrefetchAsync(values, kSize, device, 0, NULL));
  printf("the values go to %d, ", last_prefetch(values));
  CHECK(cudaLaunchKernel(&Sum, grid, block, arguments, 0, NULL));
  CHECK(cudaDeviceSynchronize());
  printf("total is %d, ", *the_total());
  CHECK(cudaMemPrefetchAsync(values, kSize, cpu, 0, NULL));
  printf("the values go to %d\n", last_prefetch(values));
#ifndef PLANTED_BUG
  CHECK(cudaFree(values));
#endif
  return 0;
}
