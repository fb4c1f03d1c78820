// Arrays.

#include "sim/libcudart/array_formats.h"
#include "sim/libcudart/runtime.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::cudart {
namespace {

using cuda_abi::CUDA_ARRAY3D_DESCRIPTOR;

constexpr unsigned int kLayered = 1;
constexpr unsigned int kCubemap = 4;
constexpr size_t kFaces = 6;

// What is wrong with a shape that is wrong with elements of any kind. The rest is the driver's.
bool IsShape(const cudaExtent& extent, unsigned int flags) {
  const bool is_layered = (flags & kLayered) != 0;
  if (extent.width == 0) return false;
  if ((flags & kCubemap) != 0) {
    const bool has_faces =
        is_layered ? extent.depth != 0 && extent.depth % kFaces == 0 : extent.depth == kFaces;
    return extent.width == extent.height && has_faces;
  }
  return is_layered ? extent.depth != 0 : extent.height != 0 || extent.depth == 0;
}

cudaError_t Describe(const cudaChannelFormatDesc& channels, const cudaExtent& extent,
                     unsigned int flags, CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  ChannelFormat format;
  if (!IsShape(extent, flags)) return cudaErrorInvalidValue;
  if (!FormatOf(channels, &format)) return cudaErrorInvalidChannelDescriptor;
  *descriptor = {};
  descriptor->Width = extent.width;
  descriptor->Height = extent.height;
  descriptor->Depth = extent.depth;
  descriptor->Format = format.format;
  descriptor->NumChannels = format.channels;
  descriptor->Flags = flags;
  return cudaSuccess;
}

cudaError_t Create(cudaArray_t* array, const cudaChannelFormatDesc& channels,
                   const cudaExtent& extent, unsigned int flags) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor;
  const cudaError_t error = Describe(channels, extent, flags, &descriptor);
  return error == cudaSuccess ? driver.cuArray3DCreate_v2(array, &descriptor) : error;
}

// CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC.
struct ExternalMipmapDesc {
  unsigned long long offset;
  CUDA_ARRAY3D_DESCRIPTOR array;
  unsigned int levels;
  unsigned int zeros[16];
};

}  // namespace

extern "C" cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                       cudaChannelFormatKind f) {
  return {x, y, z, w, f};
}

extern "C" cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* channels,
                                       size_t width, size_t height, unsigned int flags) {
  if (array == nullptr || channels == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&] { return Create(array, *channels, {width, height, 0}, flags); });
}

extern "C" cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* channels,
                                         cudaExtent extent, unsigned int flags) {
  if (array == nullptr || channels == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&] { return Create(array, *channels, extent, flags); });
}

extern "C" cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* mipmap,
                                                const cudaChannelFormatDesc* channels,
                                                cudaExtent extent, unsigned int levels,
                                                unsigned int flags) {
  if (mipmap == nullptr || channels == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&] {
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    const cudaError_t error = Describe(*channels, extent, flags, &descriptor);
    return error == cudaSuccess ? driver.cuMipmappedArrayCreate(mipmap, &descriptor, levels)
                                : error;
  });
}

extern "C" cudaError_t cudaExternalMemoryGetMappedMipmappedArray(
    cudaMipmappedArray_t* mipmap, cudaExternalMemory_t memory,
    const cudaExternalMemoryMipmappedArrayDesc* description) {
  if (description == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&]() -> cudaError_t {
    ExternalMipmapDesc asked = {};
    const cudaError_t error =
        Describe(description->formatDesc, description->extent, description->flags, &asked.array);
    if (error != cudaSuccess) return error;
    asked.offset = description->offset;
    asked.levels = description->numLevels;
    return driver.cuExternalMemoryGetMappedMipmappedArray(mipmap, memory, &asked);
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
  return Anywhere([&]() -> cudaError_t {
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
  if (channels == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&] {
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
    const cudaError_t error = driver.cuArray3DGetDescriptor_v2(&descriptor, array);
    if (error == cudaSuccess) *channels = ChannelsOf(descriptor.Format, descriptor.NumChannels);
    return error;
  });
}

extern "C" cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* width,
                                                            const cudaChannelFormatDesc* channels,
                                                            int device) {
  return Anywhere([&]() -> cudaError_t {
    ChannelFormat format;
    if (channels == nullptr) return cudaErrorInvalidValue;
    if (!FormatOf(*channels, &format)) return cudaErrorInvalidChannelDescriptor;
    return driver.cuDeviceGetTexture1DLinearMaxWidth(width, format.format, format.channels, device);
  });
}

}  // namespace twinmmu::cudart
