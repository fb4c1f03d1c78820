// A library that runtime_plugins.cu loads: built twice, with PLUGIN as its number. Everything in it
// has the same names in both.

#include "tools/examples/runtime/runtime_check.h"

namespace {

__device__ int counter = 100 * PLUGIN;

template <typename T, int kStep>
__global__ void Count(T* result) {
  static __device__ T seen = T(PLUGIN);
  seen += T(kStep);
  counter += kStep;
  *result = seen + T(counter);
}

template <typename T, int kStep>
double Run() {
  T* result = nullptr;
  T host = T();
  CHECK(cudaMalloc(&result, sizeof(T)));
  Count<T, kStep><<<1, 1>>>(result);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(&host, result, sizeof(T), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(result));
  return double(host);
}

}  // namespace

extern "C" double RunWhole() { return Run<int, 3>(); }
extern "C" double RunReal() { return Run<float, PLUGIN>(); }
extern "C" const void* KernelOfPlugin() { return reinterpret_cast<const void*>(&Count<int, 3>); }
