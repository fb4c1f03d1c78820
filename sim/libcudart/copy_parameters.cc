#include "sim/libcudart/copy_parameters.h"

#include <cstdint>

#include "sim/libcudart/array_formats.h"
#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {
namespace {

using cuda_abi::CUDA_ARRAY3D_DESCRIPTOR;
using cuda_abi::CUDA_MEMCPY3D;

constexpr int kHostMemory = 1;
constexpr int kArrayMemory = 3;
constexpr int kUnifiedMemory = 4;

// The bytes of an element.
cudaError_t ElementOf(const cudaArray* array, size_t* bytes) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  const cudaError_t error = driver.cuArray3DGetDescriptor_v2(&descriptor, array);
  if (error != cudaSuccess) return error;
  *bytes = static_cast<size_t>(BitsOf(descriptor.Format) / 8) * descriptor.NumChannels;
  return cudaSuccess;
}

// Of an end of a copy that is memory.
void* MemoryAt(int type, const void* host, cuda_abi::CUdeviceptr device) {
  return type == kHostMemory ? const_cast<void*>(host) : reinterpret_cast<void*>(device);
}

cudaMemcpyKind KindOf(int from, int to) {
  if (from == kUnifiedMemory || to == kUnifiedMemory) return cudaMemcpyDefault;
  if (from == kHostMemory) return to == kHostMemory ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
  return to == kHostMemory ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

// Whether the rows of a box lie apart in that memory. Where in it, the driver looks at.
bool CanHold(const cudaPitchedPtr& memory, const cudaExtent& extent) {
  if (extent.depth > 1 && memory.ysize < extent.height) return false;
  return (extent.height <= 1 && extent.depth <= 1) || memory.pitch >= extent.width;
}

}  // namespace

CUDA_MEMCPY3D RowsOf(size_t width, size_t height) {
  CUDA_MEMCPY3D copy = {};
  copy.WidthInBytes = width;
  copy.Height = height;
  copy.Depth = 1;
  return copy;
}

void SetFrom(CUDA_MEMCPY3D* copy, const cudaArray* array, size_t x, size_t y, size_t z) {
  copy->srcMemoryType = kArrayMemory;
  copy->srcArray = reinterpret_cast<cuda_abi::CUarray>(const_cast<cudaArray*>(array));
  copy->srcXInBytes = x;
  copy->srcY = y;
  copy->srcZ = z;
}
void SetTo(CUDA_MEMCPY3D* copy, cudaArray_t array, size_t x, size_t y, size_t z) {
  copy->dstMemoryType = kArrayMemory;
  copy->dstArray = reinterpret_cast<cuda_abi::CUarray>(array);
  copy->dstXInBytes = x;
  copy->dstY = y;
  copy->dstZ = z;
}
void SetFrom(CUDA_MEMCPY3D* copy, cudaMemcpyKind kind, const cudaPitchedPtr& memory) {
  copy->srcMemoryType = MemoryOf(kind, /*written=*/false);
  copy->srcHost = memory.ptr;
  copy->srcDevice = reinterpret_cast<cuda_abi::CUdeviceptr>(memory.ptr);
  copy->srcPitch = memory.pitch;
  copy->srcHeight = memory.ysize;
}
void SetTo(CUDA_MEMCPY3D* copy, cudaMemcpyKind kind, const cudaPitchedPtr& memory) {
  copy->dstMemoryType = MemoryOf(kind, /*written=*/true);
  copy->dstHost = memory.ptr;
  copy->dstDevice = reinterpret_cast<cuda_abi::CUdeviceptr>(memory.ptr);
  copy->dstPitch = memory.pitch;
  copy->dstHeight = memory.ysize;
}

cudaError_t Translate(const cudaMemcpy3DParms& from, CUDA_MEMCPY3D* copy) {
  *copy = {};
  if (!Exists(from.kind)) return cudaErrorInvalidMemcpyDirection;
  const bool from_host = from.kind == cudaMemcpyHostToHost || from.kind == cudaMemcpyHostToDevice;
  if ((from.srcArray != nullptr && (from.srcPtr.ptr != nullptr || from_host)) ||
      (from.dstArray != nullptr && from.dstPtr.ptr != nullptr)) {
    return cudaErrorInvalidValue;
  }
  // The width counts as it is, in elements or bytes.
  if ((from.srcArray == nullptr && !CanHold(from.srcPtr, from.extent)) ||
      (from.dstArray == nullptr && !CanHold(from.dstPtr, from.extent))) {
    return cudaErrorInvalidPitchValue;
  }
  // Of memory beside an array all is counted in its elements, too.
  size_t element = 1;
  size_t other = 0;
  cudaError_t error = cudaSuccess;
  if (from.srcArray != nullptr) error = ElementOf(from.srcArray, &element);
  if (error == cudaSuccess && from.dstArray != nullptr) error = ElementOf(from.dstArray, &other);
  if (error != cudaSuccess) return error;
  if (from.srcArray == nullptr && from.dstArray != nullptr) element = other;
  if (from.dstArray != nullptr && other != element) return cudaErrorInvalidValue;
  const size_t most = SIZE_MAX / element;
  if (from.srcPos.x > most || from.dstPos.x > most || from.extent.width > most) {
    return cudaErrorInvalidValue;
  }
  if (from.srcArray != nullptr) {
    SetFrom(copy, from.srcArray, from.srcPos.x * element, from.srcPos.y, from.srcPos.z);
  } else {
    SetFrom(copy, from.kind, from.srcPtr);
    copy->srcXInBytes = from.srcPos.x * element;
    copy->srcY = from.srcPos.y;
    copy->srcZ = from.srcPos.z;
  }
  if (from.dstArray != nullptr) {
    SetTo(copy, from.dstArray, from.dstPos.x * element, from.dstPos.y, from.dstPos.z);
  } else {
    SetTo(copy, from.kind, from.dstPtr);
    copy->dstXInBytes = from.dstPos.x * element;
    copy->dstY = from.dstPos.y;
    copy->dstZ = from.dstPos.z;
  }
  copy->WidthInBytes = from.extent.width * element;
  copy->Height = from.extent.height;
  copy->Depth = from.extent.depth;
  return cudaSuccess;
}

cudaError_t TranslateBack(const CUDA_MEMCPY3D& from, cudaMemcpy3DParms* copy) {
  *copy = {};
  size_t source = 1;
  size_t destination = 1;
  copy->kind = KindOf(from.srcMemoryType, from.dstMemoryType);
  if (from.srcMemoryType == kArrayMemory) {
    copy->srcArray = reinterpret_cast<cudaArray_t>(from.srcArray);
    const cudaError_t error = ElementOf(copy->srcArray, &source);
    if (error != cudaSuccess) return error;
  } else {
    copy->srcPtr = {MemoryAt(from.srcMemoryType, from.srcHost, from.srcDevice), from.srcPitch, 0,
                    from.srcHeight};
  }
  if (from.dstMemoryType == kArrayMemory) {
    copy->dstArray = reinterpret_cast<cudaArray_t>(from.dstArray);
    const cudaError_t error = ElementOf(copy->dstArray, &destination);
    if (error != cudaSuccess) return error;
  } else {
    copy->dstPtr = {MemoryAt(from.dstMemoryType, from.dstHost, from.dstDevice), from.dstPitch, 0,
                    from.dstHeight};
  }
  copy->srcPos = {from.srcXInBytes / source, from.srcY, from.srcZ};
  copy->dstPos = {from.dstXInBytes / destination, from.dstY, from.dstZ};
  const size_t element = copy->srcArray != nullptr ? source : destination;
  copy->extent = {from.WidthInBytes / element, from.Height, from.Depth};
  return cudaSuccess;
}

}  // namespace twinmmu::cudart
