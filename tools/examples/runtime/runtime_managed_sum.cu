// Managed memory and a managed variable: the CPU and a kernel use both at the same address, without
// copies. runtime_managed_sum.c is what nvcc makes of it, in C.

#include "tools/examples/runtime/runtime_check.h"

__managed__ int total = 3;

__global__ void Sum(const int* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&total, values[i]);
}

// Of hints, the device, or the CPU if it is -1. CUDA 13 takes any location.
#if CUDART_VERSION >= 13000
static cudaMemLocation Place(int device) {
  cudaMemLocation place = {};
  place.type = device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  place.id = device < 0 ? 0 : device;
  return place;
}
#define PREFETCH(memory, size, device) cudaMemPrefetchAsync(memory, size, Place(device), 0, nullptr)
#else
static int Place(int device) { return device; }
#define PREFETCH(memory, size, device) cudaMemPrefetchAsync(memory, size, device, nullptr)
#endif

static int LastPrefetch(const void* memory, size_t size) {
  int where = 0;
  CHECK(cudaMemRangeGetAttribute(&where, sizeof(where), cudaMemRangeAttributeLastPrefetchLocation,
                                 memory, size));
  return where;
}

int main() {
  constexpr int kCount = 1000;
  constexpr size_t kSize = kCount * sizeof(int);
  int* values = nullptr;
  CHECK(cudaMallocManaged(&values, kSize));
  for (int i = 0; i < kCount; ++i) values[i] = i;
  std::printf("total is %d, ", total);
  total = 0;
  CHECK(cudaMemAdvise(values, kSize, cudaMemAdviseSetReadMostly, Place(0)));
  CHECK(PREFETCH(values, kSize, 0));
  std::printf("the values go to %d, ", LastPrefetch(values, kSize));
  Sum<<<(kCount + 127) / 128, 128>>>(values, kCount);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::printf("total is %d, ", total);
  CHECK(PREFETCH(values, kSize, -1));
  std::printf("the values go to %d\n", LastPrefetch(values, kSize));
#ifndef PLANTED_BUG
  CHECK(cudaFree(values));
#endif
}
