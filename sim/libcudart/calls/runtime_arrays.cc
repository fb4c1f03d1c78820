// Arrays, and copies from and to them.

#include <cstdint>

#include "sim/libcudart/array_formats.h"
#include "sim/libcudart/runtime.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::cudart {
namespace {

using cuda_abi::CUDA_ARRAY3D_DESCRIPTOR;
using cuda_abi::CUDA_MEMCPY3D;

constexpr int kArrayMemory = 3;

cudaError_t Describe(const cudaChannelFormatDesc* channels, const cudaExtent& extent,
                     unsigned int flags, CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  ChannelFormat format;
  if (channels == nullptr) return cudaErrorInvalidValue;
  if (!FormatOf(*channels, &format)) return cudaErrorInvalidChannelDescriptor;
  *descriptor = {};
  descriptor->Width = extent.width;
  descriptor->Height = extent.height;
  descriptor->Depth = extent.depth;
  descriptor->Format = format.format;
  descriptor->NumChannels = format.channels;
  descriptor->Flags = flags;
  return cudaSuccess;
}

cudaError_t Create(cudaArray_t* array, const cudaChannelFormatDesc* channels,
                   const cudaExtent& extent, unsigned int flags) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  const cudaError_t error = Describe(channels, extent, flags, &descriptor);
  return error == cudaSuccess ? driver.cuArray3DCreate_v2(array, &descriptor) : error;
}

// The bytes of an element.
cudaError_t ElementOf(const cudaArray* array, size_t* bytes) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  const cudaError_t error = driver.cuArray3DGetDescriptor_v2(&descriptor, array);
  if (error != cudaSuccess) return error;
  *bytes = static_cast<size_t>(BitsOf(descriptor.Format) / 8) * descriptor.NumChannels;
  return cudaSuccess;
}

int MemoryOf(cudaMemcpyKind kind, bool written) {
  if (kind == cudaMemcpyDefault) return kUnifiedMemory;
  const bool host = written ? kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost
                            : kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost;
  return host ? kHostMemory : kDeviceMemory;
}

bool Exists(cudaMemcpyKind kind) {
  return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
}

// The ends of a copy; x is in bytes.
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

template <typename... At>
cudaError_t Copy(const CUDA_MEMCPY3D& copy, At... at) {
  if constexpr (sizeof...(at) == 0) {
    return driver.cuMemcpy3D_v2(&copy);
  } else {
    return driver.cuMemcpy3DAsync_v2(&copy, at...);
  }
}

// cudaMemcpy3D counts x in elements: those of an array, or bytes where there is none.
cudaError_t Translate(const cudaMemcpy3DParms& from, CUDA_MEMCPY3D* copy) {
  *copy = {};
  if (!Exists(from.kind)) return cudaErrorInvalidMemcpyDirection;
  size_t source = 1;
  size_t destination = 1;
  cudaError_t error = cudaSuccess;
  if (from.srcArray != nullptr) error = ElementOf(from.srcArray, &source);
  if (error == cudaSuccess && from.dstArray != nullptr) {
    error = ElementOf(from.dstArray, &destination);
  }
  if (error != cudaSuccess) return error;
  const size_t element = from.srcArray != nullptr ? source : destination;
  if (from.srcPos.x > SIZE_MAX / source || from.dstPos.x > SIZE_MAX / destination ||
      from.extent.width > SIZE_MAX / element) {
    return cudaErrorInvalidValue;
  }
  if (from.srcArray != nullptr) {
    SetFrom(copy, from.srcArray, from.srcPos.x * source, from.srcPos.y, from.srcPos.z);
  } else {
    SetFrom(copy, from.kind, from.srcPtr);
    copy->srcXInBytes = from.srcPos.x;
    copy->srcY = from.srcPos.y;
    copy->srcZ = from.srcPos.z;
  }
  if (from.dstArray != nullptr) {
    SetTo(copy, from.dstArray, from.dstPos.x * destination, from.dstPos.y, from.dstPos.z);
  } else {
    SetTo(copy, from.kind, from.dstPtr);
    copy->dstXInBytes = from.dstPos.x;
    copy->dstY = from.dstPos.y;
    copy->dstZ = from.dstPos.z;
  }
  copy->WidthInBytes = from.extent.width * element;
  copy->Height = from.extent.height;
  copy->Depth = from.extent.depth;
  return cudaSuccess;
}

template <typename... At>
TWINMMU_INLINE cudaError_t CopyBox(const cudaMemcpy3DParms* parameters, At... at) {
  return InContext([&]() -> cudaError_t {
    if (parameters == nullptr) return cudaErrorInvalidValue;
    CUDA_MEMCPY3D copy;
    const cudaError_t error = Translate(*parameters, &copy);
    return error == cudaSuccess ? Copy(copy, at...) : error;
  });
}

CUDA_MEMCPY3D RowsOf(size_t width, size_t height) {
  CUDA_MEMCPY3D copy = {};
  copy.WidthInBytes = width;
  copy.Height = height;
  copy.Depth = 1;
  return copy;
}

template <typename... At>
TWINMMU_INLINE cudaError_t CopyTo(cudaArray_t to, size_t x, size_t y, const void* from,
                                  size_t pitch, size_t width, size_t height, cudaMemcpyKind kind,
                                  At... at) {
  return InContext([&]() -> cudaError_t {
    if (!Exists(kind)) return cudaErrorInvalidMemcpyDirection;
    CUDA_MEMCPY3D copy = RowsOf(width, height);
    SetTo(&copy, to, x, y, 0);
    SetFrom(&copy, kind, {const_cast<void*>(from), pitch, width, height});
    return Copy(copy, at...);
  });
}

template <typename... At>
TWINMMU_INLINE cudaError_t CopyFrom(void* to, size_t pitch, const cudaArray* from, size_t x,
                                    size_t y, size_t width, size_t height, cudaMemcpyKind kind,
                                    At... at) {
  return InContext([&]() -> cudaError_t {
    if (!Exists(kind)) return cudaErrorInvalidMemcpyDirection;
    CUDA_MEMCPY3D copy = RowsOf(width, height);
    SetFrom(&copy, from, x, y, 0);
    SetTo(&copy, kind, {to, pitch, width, height});
    return Copy(copy, at...);
  });
}

}  // namespace

extern "C" cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                       cudaChannelFormatKind f) {
  return {x, y, z, w, f};
}

extern "C" cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* channels,
                                       size_t width, size_t height, unsigned int flags) {
  return InContext([&] { return Create(array, channels, {width, height, 0}, flags); });
}

extern "C" cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* channels,
                                         cudaExtent extent, unsigned int flags) {
  return InContext([&] { return Create(array, channels, extent, flags); });
}

extern "C" cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* mipmap,
                                                const cudaChannelFormatDesc* channels,
                                                cudaExtent extent, unsigned int levels,
                                                unsigned int flags) {
  return InContext([&] {
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    const cudaError_t error = Describe(channels, extent, flags, &descriptor);
    return error == cudaSuccess ? driver.cuMipmappedArrayCreate(mipmap, &descriptor, levels)
                                : error;
  });
}

extern "C" cudaError_t cudaFreeArray(cudaArray_t array) {
  return InContext([&] { return array == nullptr ? cudaSuccess : driver.cuArrayDestroy(array); });
}

extern "C" cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmap) {
  return InContext(
      [&] { return mipmap == nullptr ? cudaSuccess : driver.cuMipmappedArrayDestroy(mipmap); });
}

extern "C" cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* channels, cudaExtent* extent,
                                        unsigned int* flags, cudaArray_t array) {
  return InContext([&]() -> cudaError_t {
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
    const cudaError_t error = driver.cuArray3DGetDescriptor_v2(&descriptor, array);
    if (error != cudaSuccess) return error;
    if (channels != nullptr) *channels = ChannelsOf(descriptor.Format, descriptor.NumChannels);
    if (extent != nullptr) *extent = {descriptor.Width, descriptor.Height, descriptor.Depth};
    if (flags != nullptr) *flags = descriptor.Flags;
    return cudaSuccess;
  });
}

extern "C" cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* channels, const cudaArray* array) {
  return InContext([&]() -> cudaError_t {
    if (channels == nullptr) return cudaErrorInvalidValue;
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
    const cudaError_t error = driver.cuArray3DGetDescriptor_v2(&descriptor, array);
    if (error == cudaSuccess) *channels = ChannelsOf(descriptor.Format, descriptor.NumChannels);
    return error;
  });
}

extern "C" cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t to_x, size_t to_y,
                                           const void* from, size_t pitch, size_t width,
                                           size_t height, cudaMemcpyKind kind) {
  return CopyTo(to, to_x, to_y, from, pitch, width, height, kind);
}

extern "C" cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t to_x, size_t to_y,
                                                const void* from, size_t pitch, size_t width,
                                                size_t height, cudaMemcpyKind kind,
                                                cudaStream_t stream) {
  return CopyTo(to, to_x, to_y, from, pitch, width, height, kind, stream);
}

extern "C" cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, const cudaArray* from,
                                             size_t from_x, size_t from_y, size_t width,
                                             size_t height, cudaMemcpyKind kind) {
  return CopyFrom(to, pitch, from, from_x, from_y, width, height, kind);
}

extern "C" cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, const cudaArray* from,
                                                  size_t from_x, size_t from_y, size_t width,
                                                  size_t height, cudaMemcpyKind kind,
                                                  cudaStream_t stream) {
  return CopyFrom(to, pitch, from, from_x, from_y, width, height, kind, stream);
}

extern "C" cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y,
                                                const cudaArray* from, size_t from_x, size_t from_y,
                                                size_t width, size_t height, cudaMemcpyKind kind) {
  return InContext([&]() -> cudaError_t {
    if (kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) {
      return cudaErrorInvalidMemcpyDirection;
    }
    CUDA_MEMCPY3D copy = RowsOf(width, height);
    SetTo(&copy, to, to_x, to_y, 0);
    SetFrom(&copy, from, from_x, from_y, 0);
    return Copy(copy);
  });
}

extern "C" cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* copy) { return CopyBox(copy); }

extern "C" cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* copy, cudaStream_t stream) {
  return CopyBox(copy, stream);
}

}  // namespace twinmmu::cudart
