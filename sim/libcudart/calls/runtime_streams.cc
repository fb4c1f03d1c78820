// Streams and events, as far as they are not the driver's functions.

#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {

extern "C" cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return InContext([&] { return driver.cuStreamCreate(stream, cudaStreamDefault); });
}

extern "C" cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return InContext([&] { return driver.cuEventCreate(event, cudaEventDefault); });
}

namespace {

constexpr int kRelaxed = 2;  // the last of the modes of a capture
bool IsMode(int mode) { return mode >= 0 && mode <= kRelaxed; }

}  // namespace

// A mode that is none counts before a stream that cannot be captured.
extern "C" cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode) {
  return InContext([&]() -> cudaError_t {
    return IsMode(mode) ? driver.cuStreamBeginCapture_v2(stream, mode) : cudaErrorInvalidValue;
  });
}

extern "C" cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, int mode) {
  return InContext([&]() -> cudaError_t {
    return IsMode(mode) ? driver.cuStreamBeginCapture_v2_ptsz(stream, mode) : cudaErrorInvalidValue;
  });
}

extern "C" cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start,
                                            cudaEvent_t end) {
  return Anywhere([&] {
    return milliseconds != nullptr ? driver.cuEventElapsedTime(milliseconds, start, end)
                                   : cudaErrorInvalidValue;
  });
}

// An event that cannot be shared is what is wrong, even where there is no room for its handle.
extern "C" cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  return InContext([&] {
    cudaIpcEventHandle_t made = {};
    const cudaError_t error = driver.cuIpcGetEventHandle(&made, event);
    if (error == cudaSuccess && handle != nullptr) *handle = made;
    return error == cudaSuccess && handle == nullptr ? cudaErrorInvalidValue : error;
  });
}

}  // namespace twinmmu::cudart
