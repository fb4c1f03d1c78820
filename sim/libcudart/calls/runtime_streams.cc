// Streams and events, as far as they are not the driver's functions.

#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {

extern "C" cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return InContext([&] { return driver.cuStreamCreate(stream, cudaStreamDefault); });
}

extern "C" cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return InContext([&] { return driver.cuEventCreate(event, cudaEventDefault); });
}

extern "C" cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode) {
  return InContext([&] { return driver.cuStreamBeginCapture_v2(stream, mode); });
}

extern "C" cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, int mode) {
  return InContext([&] { return driver.cuStreamBeginCapture_v2_ptsz(stream, mode); });
}

}  // namespace twinmmu::cudart
