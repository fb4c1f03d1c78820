// Adds two vectors: an ordinary program for the CUDA runtime, and nothing in it knows where it
// runs.
//
//   nvcc -I. -cudart shared -gencode arch=compute_90,code=compute_90 \
//       tools/examples/runtime/runtime_vector_add.cu -o vector_add
//   twinmmu run -- ./vector_add

#include <vector>

#include "tools/examples/runtime/runtime_check.h"

__device__ int scale = 2;
__constant__ int offset[2];

__global__ void Add(const int* a, const int* b, int* c, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef PLANTED_BUG
  count = 1 << 20;
#endif
  if (i < count) c[i] = (a[i] + b[i]) * scale + offset[1];
}

int main() {
  constexpr int kCount = 1000;
  constexpr size_t kSize = kCount * sizeof(int);
  std::vector<int> host(kCount);
  for (int i = 0; i < kCount; ++i) host[i] = i;
  int* a = nullptr;
  int* b = nullptr;
  int* c = nullptr;
  cudaStream_t stream = nullptr;
  CHECK(cudaMalloc(&a, kSize));
  CHECK(cudaMalloc(&b, kSize));
  CHECK(cudaMalloc(&c, kSize));
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMemcpy(a, host.data(), kSize, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyAsync(b, a, kSize, cudaMemcpyDeviceToDevice, stream));
  const int three = 3;
  const int offsets[] = {0, 10};
  CHECK(cudaMemcpyToSymbol(scale, &three, sizeof(three)));
  CHECK(cudaMemcpyToSymbol(offset, offsets, sizeof(offsets)));
#ifdef PLANTED_BUG
  Add<<<1 << 13, 128, 0, stream>>>(a, b, c, kCount);
#else
  Add<<<(kCount + 127) / 128, 128, 0, stream>>>(a, b, c, kCount);
#endif
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemcpy(host.data(), c, kSize, cudaMemcpyDeviceToHost));
  std::printf("c[1] is %d, c[999] is %d\n", host[1], host[999]);
  Add<<<1, 2000>>>(a, b, c, kCount);
  std::printf("a block of 2000 threads: %s\n", cudaGetErrorName(cudaGetLastError()));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  CHECK(cudaFree(c));
  return 0;
}
