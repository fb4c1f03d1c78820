// Calls functions of the runtime from one place, as ctypes of Python does, for
// runtime_report_test.sh: it leaks what they make.

#include <cstddef>
#include <initializer_list>

#include "third_party/cuda_abi/cudart_abi.h"

int main() {
  using Allocate = cudaError_t (*)(void**, size_t);
  for (const Allocate each : {&cudaMalloc, &cudaMallocHost}) {
    const volatile Allocate allocate = each;
    void* memory = nullptr;
    if (allocate(&memory, 512) != cudaSuccess) return 1;
  }
  return 0;
}
