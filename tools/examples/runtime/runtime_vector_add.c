/* The program of runtime_vector_add.cu as nvcc makes it: device code in a fat binary, which is
 * registered before main, and launches in two halves. So it is built without nvcc. */

#include <stdio.h>
#include <stdlib.h>

#include "sim/libcudart/testing/vector_kernels.h"
#include "third_party/cuda_abi/cudart_abi.h"

#define CHECK(call) check((call), #call)

static void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "%s failed: %s, %s\n", call, cudaGetErrorName(error), cudaGetErrorString(error));
  exit(1);
}

static void** module;

static void unregister(void) { __cudaUnregisterFatBinary(module); }

__attribute__((constructor)) static void register_kernels(void) {
  module = RegisterVectorKernels();
  atexit(unregister);
}

/* What stands on the host for the kernel Add. */
static cudaError_t add(const void* a, const void* b, void* c, int count) {
  void* arguments[] = {&a, &b, &c, &count};
  twinmmu_dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
  const cudaError_t error = __cudaPopCallConfiguration(&grid, &block, &shared, &stream);
  if (error != cudaSuccess) return error;
  /* Reported: */
  return cudaLaunchKernel(&Add, grid, block, arguments, shared, stream);
}

int main(void) {
#ifdef PLANTED_BUG
  enum { kCount = 1000, kAdded = 1 << 20 };
#else
  enum { kCount = 1000, kAdded = kCount };
#endif
  static int host[kCount];
  void *a, *b, *c;
  cudaStream_t stream;
  const int three = 3;
  const int offsets[] = {0, 10};
  const twinmmu_dim3 grid = {(kAdded + 127) / 128, 1, 1};
  const twinmmu_dim3 block = {128, 1, 1};
  const twinmmu_dim3 one = {1, 1, 1};
  const twinmmu_dim3 too_many = {2000, 1, 1};
  for (int i = 0; i < kCount; ++i) host[i] = i;
  CHECK(cudaMalloc(&a, sizeof(host)));
  CHECK(cudaMalloc(&b, sizeof(host)));
  CHECK(cudaMalloc(&c, sizeof(host)));
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMemcpy(a, host, sizeof(host), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyAsync(b, a, sizeof(host), cudaMemcpyDeviceToDevice, stream));
  CHECK(cudaMemcpyToSymbol(&scale, &three, sizeof(three), 0, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyToSymbol(offset, offsets, sizeof(offsets), 0, cudaMemcpyHostToDevice));
  if (__cudaPushCallConfiguration(grid, block, 0, stream) == 0) add(a, b, c, kAdded);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemcpy(host, c, sizeof(host), cudaMemcpyDeviceToHost));
  printf("c[1] is %d, c[999] is %d\n", host[1], host[999]);
  if (__cudaPushCallConfiguration(one, too_many, 0, 0) == 0) add(a, b, c, kCount);
  printf("a block of 2000 threads: %s\n", cudaGetErrorName(cudaGetLastError()));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaFree(c));
  return 0;
}
