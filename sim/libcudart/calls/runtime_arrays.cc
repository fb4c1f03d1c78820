// Arrays, and copies from and to them.

#include "sim/libcudart/array_formats.h"
#include "sim/libcudart/copy_parameters.h"
#include "sim/libcudart/runtime.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::cudart {
namespace {

using cuda_abi::CUDA_ARRAY3D_DESCRIPTOR;
using cuda_abi::CUDA_MEMCPY3D;

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

template <typename... At>
cudaError_t Copy(const CUDA_MEMCPY3D& copy, At... at) {
  if constexpr (sizeof...(at) == 0) {
    return driver.cuMemcpy3D_v2(&copy);
  } else {
    return driver.cuMemcpy3DAsync_v2(&copy, at...);
  }
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
