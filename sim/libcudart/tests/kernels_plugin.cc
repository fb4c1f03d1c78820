// A library with device code of its own, which is loaded and unloaded while the program runs.

#include "sim/libcudart/testing/vector_kernels.h"

namespace {

void** module = nullptr;

__attribute__((constructor)) void Register() { module = RegisterVectorKernels(); }
__attribute__((destructor)) void Unregister() { __cudaUnregisterFatBinary(module); }

}  // namespace

// Launches a kernel that adds nothing.
extern "C" cudaError_t LaunchOfPlugin() {
  void* none = nullptr;
  int count = 0;
  void* arguments[] = {&none, &none, &none, &count};
  return cudaLaunchKernel(&Add, {1, 1, 1}, {32, 1, 1}, arguments, 0, nullptr);
}
