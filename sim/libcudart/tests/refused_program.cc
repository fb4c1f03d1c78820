// Calls what the runtime refuses, for runtime_report_test.sh.

#include "third_party/cuda_abi/cudart_abi.h"

extern "C" cudaError_t cudaGraphicsMapResources(int count, void** resources, cudaStream_t stream);

int main() {
  static const char kernel = 0;
  const bool refused = cudaGraphicsMapResources(0, nullptr, nullptr) == cudaErrorNotSupported &&
                       cudaGraphicsMapResources(0, nullptr, nullptr) == cudaGetLastError();
  const cudaError_t unknown = cudaLaunchKernel(&kernel, {1, 1, 1}, {1, 1, 1}, nullptr, 0, nullptr);
  return refused && unknown == cudaErrorInvalidResourceHandle ? 0 : 1;
}
