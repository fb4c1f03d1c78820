// Calls the runtime where the current context has ended, for runtime_report_test.sh: one of the
// calls fails for that.

#include <cstddef>

#include "third_party/cuda_abi/cudart_abi.h"
#include "third_party/cuda_abi/include/cuda.h"

namespace {

// The runtime makes a new primary one.
bool UseAfterAReset() {
  void* memory = nullptr;
  return cudaFree(nullptr) == cudaSuccess && cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS &&
         cudaMalloc(&memory, 64) == cudaSuccess && cudaFree(memory) == cudaSuccess;
}

bool SetNoAccess() {
  cudaMemPool_t pool = nullptr;
  return cudaDeviceGetMemPool(&pool, 0) == cudaSuccess &&
         cudaMemPoolSetAccess(pool, nullptr, 0) == cudaSuccess;
}

// Work in a stream of another context goes on. A call for the current one fails.
bool UseAStreamOfAnother() {
  cudaStream_t stream = nullptr;
  CUcontext other = nullptr;
  void* memory = nullptr;
  size_t free = 0;
  size_t total = 0;
  return cudaStreamCreate(&stream) == cudaSuccess && cuCtxCreate(&other, 0, 0) == CUDA_SUCCESS &&
         cudaFree(nullptr) == cudaSuccess && cuCtxPushCurrent(other) == CUDA_SUCCESS &&
         cuCtxDestroy(other) == CUDA_SUCCESS && cuCtxSetCurrent(other) == CUDA_SUCCESS &&
         cudaMallocAsync(&memory, 64, stream) == cudaSuccess &&
         cudaFreeAsync(memory, stream) == cudaSuccess &&
         cudaMemGetInfo(&free, &total) == cudaErrorDeviceUninitialized;
}

}  // namespace

int main() { return UseAfterAReset() && SetNoAccess() && UseAStreamOfAnother() ? 0 : 1; }
