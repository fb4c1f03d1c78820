// Separate compilation: the kernel is here, what it calls is in runtime_separate_device.cu, and
// nvcc links both for the device (-rdc=true).

#include "tools/examples/runtime/runtime_check.h"
#include "tools/examples/runtime/runtime_separate.cuh"

namespace {

__global__ void Apply(int* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef PLANTED_BUG
  count *= 1 << 20;
#endif
  if (i < count) values[i] = Multiply(i, i % 4) + operation(1, 3);
}

constexpr int kCount = 64;

}  // namespace

int main() {
  int* values = nullptr;
  int host[kCount];
  const int factor = 11;
  CHECK(cudaMalloc(&values, sizeof(host)));
  CHECK(cudaMemcpyToSymbol(factors, &factor, sizeof(factor), sizeof(factor)));
#ifdef PLANTED_BUG
  Apply<<<1 << 20, kCount>>>(values, kCount);
#else
  Apply<<<1, kCount>>>(values, kCount);
#endif
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(host, values, sizeof(host), cudaMemcpyDeviceToHost));
  int called = 0;
  CHECK(cudaMemcpyFromSymbol(&called, calls, sizeof(called)));
  std::printf("%d %d %d %d, %d calls\n", host[60], host[61], host[62], host[63], called);
  CHECK(cudaFree(values));
  return 0;
}
