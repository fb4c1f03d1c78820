// Boxes of memory: fills, and copies from device to device.

#include <cstring>

#include "sim/libcudart/copy_parameters.h"
#include "sim/libcudart/runtime.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::cudart {
namespace {

using cuda_abi::CUDA_MEMCPY3D;
using cuda_abi::CUDA_MEMCPY3D_PEER;
static_assert(sizeof(CUDA_MEMCPY3D) == sizeof(CUDA_MEMCPY3D_PEER));

// Calls fill(to, height) for each layer, or once where the layers follow each other without gaps.
template <typename Fill>
TWINMMU_INLINE cudaError_t FillBox(const cudaPitchedPtr& to, const cudaExtent& extent,
                                   const Fill& fill) {
  return InContext([&]() -> cudaError_t {
    if (IsEmpty(extent)) return cudaSuccess;
    size_t height = 0;
    size_t layer = 0;
    if (extent.height > to.ysize) return cudaErrorInvalidValue;
    if (extent.depth > 1 && extent.width > to.pitch) return cudaErrorInvalidValue;
    if (__builtin_mul_overflow(extent.height, extent.depth, &height) ||
        __builtin_mul_overflow(to.pitch, to.ysize, &layer)) {
      return cudaErrorInvalidValue;
    }
    if (extent.height == to.ysize) return fill(to.ptr, height);
    char* at = static_cast<char*>(to.ptr);
    for (size_t i = 0; i < extent.depth; ++i, at += layer) {
      const cudaError_t error = fill(at, extent.height);
      if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
  });
}

cudaError_t Describe(const cudaMemcpy3DPeerParms& from, CUDA_MEMCPY3D_PEER* copy) {
  CUcontext source = nullptr;
  CUcontext target = nullptr;
  cudaError_t error = PrimaryContext(from.srcDevice, &source);
  if (error == cudaSuccess) error = PrimaryContext(from.dstDevice, &target);
  if (error != cudaSuccess) return error;
  cudaMemcpy3DParms same = {};
  same.srcArray = from.srcArray;
  same.srcPos = from.srcPos;
  same.srcPtr = from.srcPtr;
  same.dstArray = from.dstArray;
  same.dstPos = from.dstPos;
  same.dstPtr = from.dstPtr;
  same.extent = from.extent;
  same.kind = cudaMemcpyDeviceToDevice;
  CUDA_MEMCPY3D described = {};
  if (!IsEmpty(from.extent)) error = Translate(same, &described);
  if (error != cudaSuccess) return error;
  std::memcpy(copy, &described, sizeof(*copy));
  copy->srcContext = reinterpret_cast<cuda_abi::CUcontext>(source);
  copy->dstContext = reinterpret_cast<cuda_abi::CUcontext>(target);
  return cudaSuccess;
}

template <typename By>
TWINMMU_INLINE cudaError_t CopyToPeer(const cudaMemcpy3DPeerParms* parameters, const By& by) {
  return InContext([&]() -> cudaError_t {
    if (parameters == nullptr) return cudaErrorInvalidValue;
    CUDA_MEMCPY3D_PEER copy = {};
    const cudaError_t error = Describe(*parameters, &copy);
    return error == cudaSuccess ? by(&copy) : error;  // captures may forbid even an empty box
  });
}

}  // namespace

extern "C" cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
  return FillBox(to, extent, [&](void* at, size_t height) {
    return driver.cuMemsetD2D8_v2(at, to.pitch, static_cast<unsigned char>(value), extent.width,
                                  height);
  });
}

extern "C" cudaError_t cudaMemset3D_ptds(cudaPitchedPtr to, int value, cudaExtent extent) {
  return FillBox(to, extent, [&](void* at, size_t height) {
    return driver.cuMemsetD2D8_v2_ptds(at, to.pitch, static_cast<unsigned char>(value),
                                       extent.width, height);
  });
}

extern "C" cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent,
                                         cudaStream_t stream) {
  return FillBox(to, extent, [&](void* at, size_t height) {
    return driver.cuMemsetD2D8Async(at, to.pitch, static_cast<unsigned char>(value), extent.width,
                                    height, stream);
  });
}

extern "C" cudaError_t cudaMemset3DAsync_ptsz(cudaPitchedPtr to, int value, cudaExtent extent,
                                              cudaStream_t stream) {
  return FillBox(to, extent, [&](void* at, size_t height) {
    return driver.cuMemsetD2D8Async_ptsz(at, to.pitch, static_cast<unsigned char>(value),
                                         extent.width, height, stream);
  });
}

extern "C" cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* copy) {
  return CopyToPeer(copy, [](const void* same) { return driver.cuMemcpy3DPeer(same); });
}

extern "C" cudaError_t cudaMemcpy3DPeer_ptds(const cudaMemcpy3DPeerParms* copy) {
  return CopyToPeer(copy, [](const void* same) { return driver.cuMemcpy3DPeer_ptds(same); });
}

extern "C" cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* copy,
                                             cudaStream_t stream) {
  return CopyToPeer(copy,
                    [&](const void* same) { return driver.cuMemcpy3DPeerAsync(same, stream); });
}

extern "C" cudaError_t cudaMemcpy3DPeerAsync_ptsz(const cudaMemcpy3DPeerParms* copy,
                                                  cudaStream_t stream) {
  return CopyToPeer(
      copy, [&](const void* same) { return driver.cuMemcpy3DPeerAsync_ptsz(same, stream); });
}

}  // namespace twinmmu::cudart
