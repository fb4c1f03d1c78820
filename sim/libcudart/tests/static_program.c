/* A C program that the runtime is linked into: copies, a kernel, and an error that has a name. */

#include <stdio.h>
#include <string.h>

#include "sim/libcudart/testing/vector_kernels.h"
#include "third_party/cuda_abi/cudart_abi.h"

/* static_neighbour.cc */
int HasItsOwnLibraries(void);

int main(void) {
  enum { kCount = 256 };
  static int host[kCount];
  const twinmmu_dim3 grid = {2, 1, 1};
  const twinmmu_dim3 block = {kCount / 2, 1, 1};
  int count = kCount;
  void* memory = NULL;
  void* arguments[] = {&memory, &memory, &memory, &count};
  for (int i = 0; i < kCount; ++i) host[i] = i;
  RegisterVectorKernels();
  if (cudaMalloc(&memory, sizeof(host)) != cudaSuccess) return 1;
  cudaMemcpy(memory, host, sizeof(host), cudaMemcpyHostToDevice);
  cudaLaunchKernel(&Add, grid, block, arguments, 0, NULL);
  if (cudaMemcpy(host, memory, sizeof(host), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  for (int i = 0; i < kCount; ++i) {
    if (host[i] != 4 * i) return 3;
  }
  if (cudaFree(host) == cudaSuccess ||
      strcmp(cudaGetErrorName(cudaGetLastError()), "cudaErrorInvalidValue") != 0) {
    return 4;
  }
  if (cudaFree(memory) != cudaSuccess || !HasItsOwnLibraries()) return 5;
  puts("passed");
  return 0;
}
