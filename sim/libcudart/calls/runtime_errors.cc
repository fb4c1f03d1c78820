// Errors and versions.

#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {
namespace {

struct ErrorInfo {
  cudaError_t code;
  const char* name;
  const char* text;
};
constexpr ErrorInfo kErrors[] = {
#define TWINMMU_CUDART_ERROR(name, code, text) {code, #name, text},
#include "third_party/cuda_abi/cudart_errors.inc"
};

const ErrorInfo* Find(cudaError_t error) {
  for (const ErrorInfo& info : kErrors) {
    if (info.code == error) return &info;
  }
  return nullptr;
}

constexpr char kUnknown[] = "unrecognized error code";

}  // namespace

extern "C" cudaError_t cudaGetLastError() {
  const cudaError_t error = thread_state.last_error;
  thread_state.last_error = cudaSuccess;
  return error;
}

extern "C" cudaError_t cudaPeekAtLastError() { return thread_state.last_error; }

extern "C" const char* cudaGetErrorName(cudaError_t error) {
  const ErrorInfo* const info = Find(error);
  return info != nullptr ? info->name : kUnknown;
}

extern "C" const char* cudaGetErrorString(cudaError_t error) {
  const ErrorInfo* const info = Find(error);
  return info != nullptr ? info->text : kUnknown;
}

extern "C" cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) return Record(cudaErrorInvalidValue);
  // Without a driver it is 0, and no error.
  *version = 0;
  if (Initialize() == cudaErrorInsufficientDriver) return cudaSuccess;
  return Record(driver.cuDriverGetVersion(version));
}

namespace {

TWINMMU_INLINE cudaError_t FindEntryPoint(const char* symbol, void** function, unsigned int version,
                                          unsigned long long flags, int* found) {
  return Anywhere([&] {
    int ignored = 0;
    return driver.cuGetProcAddress_v2(symbol, function, static_cast<int>(version), flags,
                                      found != nullptr ? found : &ignored);
  });
}

}  // namespace

extern "C" cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                                        unsigned int version,
                                                        unsigned long long flags, int* found) {
  return FindEntryPoint(symbol, function, version, flags, found);
}

extern "C" cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char* symbol, void** function,
                                                             unsigned int version,
                                                             unsigned long long flags, int* found) {
  if (flags == cudaEnableDefault) flags = cudaEnablePerThreadDefaultStream;
  return FindEntryPoint(symbol, function, version, flags, found);
}

}  // namespace twinmmu::cudart
