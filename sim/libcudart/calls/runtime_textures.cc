// Texture and surface objects: the driver's, under the runtime's descriptions.

#include <algorithm>
#include <cstring>
#include <iterator>

#include "sim/libcudart/array_formats.h"
#include "sim/libcudart/runtime.h"
#include "third_party/cuda_abi/texture_abi.h"

namespace twinmmu::cudart {
namespace {

using cuda_abi::CUDA_RESOURCE_DESC;
using cuda_abi::CUDA_TEXTURE_DESC;

cudaError_t ToDriver(const cudaResourceDesc& from, CUDA_RESOURCE_DESC* to) {
  *to = {};
  to->resType = from.resType;
  ChannelFormat format;
  switch (from.resType) {
    case cudaResourceTypeArray:
      to->res.array.hArray = reinterpret_cast<cuda_abi::CUarray>(from.res.array.array);
      return cudaSuccess;
    case cudaResourceTypeMipmappedArray:
      to->res.mipmap.hMipmappedArray =
          reinterpret_cast<cuda_abi::CUmipmappedArray>(from.res.mipmap.mipmap);
      return cudaSuccess;
    case cudaResourceTypeLinear:
      if (!FormatOf(from.res.linear.desc, &format)) return cudaErrorInvalidChannelDescriptor;
      to->res.linear.devPtr = reinterpret_cast<cuda_abi::CUdeviceptr>(from.res.linear.devPtr);
      to->res.linear.format = format.format;
      to->res.linear.numChannels = format.channels;
      to->res.linear.sizeInBytes = from.res.linear.sizeInBytes;
      return cudaSuccess;
    case cudaResourceTypePitch2D:
      if (!FormatOf(from.res.pitch2D.desc, &format)) return cudaErrorInvalidChannelDescriptor;
      to->res.pitch2D.devPtr = reinterpret_cast<cuda_abi::CUdeviceptr>(from.res.pitch2D.devPtr);
      to->res.pitch2D.format = format.format;
      to->res.pitch2D.numChannels = format.channels;
      to->res.pitch2D.width = from.res.pitch2D.width;
      to->res.pitch2D.height = from.res.pitch2D.height;
      to->res.pitch2D.pitchInBytes = from.res.pitch2D.pitchInBytes;
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}

// Earlier runtimes have no `flags`.
void FromDriver(const CUDA_RESOURCE_DESC& from, cudaResourceDesc* to) {
  std::memset(to, 0, offsetof(cudaResourceDesc, flags));
  to->resType = from.resType;
  switch (from.resType) {
    case cudaResourceTypeArray:
      to->res.array.array = reinterpret_cast<cudaArray_t>(from.res.array.hArray);
      break;
    case cudaResourceTypeMipmappedArray:
      to->res.mipmap.mipmap =
          reinterpret_cast<cudaMipmappedArray_t>(from.res.mipmap.hMipmappedArray);
      break;
    case cudaResourceTypeLinear:
      to->res.linear.devPtr = reinterpret_cast<void*>(from.res.linear.devPtr);
      to->res.linear.desc = ChannelsOf(from.res.linear.format, from.res.linear.numChannels);
      to->res.linear.sizeInBytes = from.res.linear.sizeInBytes;
      break;
    default:
      to->res.pitch2D.devPtr = reinterpret_cast<void*>(from.res.pitch2D.devPtr);
      to->res.pitch2D.desc = ChannelsOf(from.res.pitch2D.format, from.res.pitch2D.numChannels);
      to->res.pitch2D.width = from.res.pitch2D.width;
      to->res.pitch2D.height = from.res.pitch2D.height;
      to->res.pitch2D.pitchInBytes = from.res.pitch2D.pitchInBytes;
  }
}

// Before CUDA 12 `seamlessCubemap` is not there.
CUDA_TEXTURE_DESC ToDriver(const cudaTextureDesc& from) {
  CUDA_TEXTURE_DESC to = {};
  std::copy(std::begin(from.addressMode), std::end(from.addressMode), to.addressMode);
  to.filterMode = from.filterMode;
  if (from.readMode == cudaReadModeElementType) to.flags |= cuda_abi::CU_TRSF_READ_AS_INTEGER;
  if (from.normalizedCoords != 0) to.flags |= cuda_abi::CU_TRSF_NORMALIZED_COORDINATES;
  if (from.sRGB != 0) to.flags |= cuda_abi::CU_TRSF_SRGB;
  if (from.disableTrilinearOptimization != 0) {
    to.flags |= cuda_abi::CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
  }
  if (kRuntimeVersion >= 12000 && from.seamlessCubemap != 0) {
    to.flags |= cuda_abi::CU_TRSF_SEAMLESS_CUBEMAP;
  }
  to.maxAnisotropy = from.maxAnisotropy;
  to.mipmapFilterMode = from.mipmapFilterMode;
  to.mipmapLevelBias = from.mipmapLevelBias;
  to.minMipmapLevelClamp = from.minMipmapLevelClamp;
  to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
  std::copy(std::begin(from.borderColor), std::end(from.borderColor), to.borderColor);
  return to;
}

void FromDriver(const CUDA_TEXTURE_DESC& from, cudaTextureDesc* to) {
  const auto has = [&](unsigned int flag) { return (from.flags & flag) != 0 ? 1 : 0; };
  std::copy(std::begin(from.addressMode), std::end(from.addressMode), to->addressMode);
  to->filterMode = from.filterMode;
  to->readMode = has(cuda_abi::CU_TRSF_READ_AS_INTEGER) != 0 ? cudaReadModeElementType
                                                             : cudaReadModeNormalizedFloat;
  to->sRGB = has(cuda_abi::CU_TRSF_SRGB);
  std::copy(std::begin(from.borderColor), std::end(from.borderColor), to->borderColor);
  to->normalizedCoords = has(cuda_abi::CU_TRSF_NORMALIZED_COORDINATES);
  to->maxAnisotropy = from.maxAnisotropy;
  to->mipmapFilterMode = from.mipmapFilterMode;
  to->mipmapLevelBias = from.mipmapLevelBias;
  to->minMipmapLevelClamp = from.minMipmapLevelClamp;
  to->maxMipmapLevelClamp = from.maxMipmapLevelClamp;
  to->disableTrilinearOptimization = has(cuda_abi::CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION);
  if (kRuntimeVersion >= 12000) to->seamlessCubemap = has(cuda_abi::CU_TRSF_SEAMLESS_CUBEMAP);
}

bool HasArray(const cudaResourceDesc& resource) {
  switch (resource.resType) {
    case cudaResourceTypeArray:
      return resource.res.array.array != nullptr;
    case cudaResourceTypeMipmappedArray:
      return resource.res.mipmap.mipmap != nullptr;
    default:
      return true;
  }
}

// 0: not known.
cuda_abi::CUarray_format ElementsOf(const CUDA_RESOURCE_DESC& shown) {
  cudaArray_t array = nullptr;
  switch (shown.resType) {
    case cudaResourceTypeLinear:
      return shown.res.linear.format;
    case cudaResourceTypePitch2D:
      return shown.res.pitch2D.format;
    case cudaResourceTypeMipmappedArray:
      driver.cuMipmappedArrayGetLevel(
          &array, reinterpret_cast<cudaMipmappedArray_t>(shown.res.mipmap.hMipmappedArray), 0);
      break;
    default:
      array = reinterpret_cast<cudaArray_t>(shown.res.array.hArray);
  }
  cuda_abi::CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  if (array != nullptr) driver.cuArray3DGetDescriptor_v2(&descriptor, array);
  return descriptor.Format;
}

bool IsFloat(cuda_abi::CUarray_format format) {
  return ChannelsOf(format, 1).f == cudaChannelFormatKindFloat;
}

// Also of a format that is not known: the driver decides.
bool CanBeNormalized(cuda_abi::CUarray_format format) {
  return format == 0 || (!IsFloat(format) && BitsOf(format) <= 16);
}

// Whether elements of that format can be read so. Measured with the genuine runtime on an H200: an
// unknown read mode gives floats where it can.
cudaError_t CheckReading(cuda_abi::CUarray_format format, const cudaTextureDesc& texture) {
  constexpr int kLinearFilter = 1;
  if (format == 0) return cudaSuccess;
  const bool as_floats = texture.readMode == cudaReadModeNormalizedFloat;
  const bool as_elements = texture.readMode == cudaReadModeElementType;
  const bool gives_floats = IsFloat(format) || (!as_elements && CanBeNormalized(format));
  if (texture.filterMode == kLinearFilter && !gives_floats) return cudaErrorInvalidFilterSetting;
  const bool can_be_read =
      as_floats ? CanBeNormalized(format) : !(as_elements && IsNormalised(format));
  return can_be_read ? cudaSuccess : cudaErrorInvalidNormSetting;
}

}  // namespace

extern "C" cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object,
                                               const cudaResourceDesc* resource,
                                               const cudaTextureDesc* texture,
                                               const cudaResourceViewDesc* view) {
  if (resource == nullptr) return Record(cudaErrorInvalidValue);
  if (texture == nullptr) return Record(cudaErrorInvalidResourceHandle);
  return InContext([&]() -> cudaError_t {
    if (!HasArray(*resource)) return cudaErrorInvalidResourceHandle;
    CUDA_RESOURCE_DESC shown;
    cudaError_t error = ToDriver(*resource, &shown);
    if (error != cudaSuccess) return error;
    const cuda_abi::CUarray_format format = ElementsOf(shown);
    error = CheckReading(format, *texture);
    if (error != cudaSuccess) return error;
    CUDA_TEXTURE_DESC sampling = ToDriver(*texture);
    if (!CanBeNormalized(format)) sampling.flags |= cuda_abi::CU_TRSF_READ_AS_INTEGER;
    return driver.cuTexObjectCreate(object, &shown, &sampling, view);
  });
}

extern "C" cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource,
                                                        cudaTextureObject_t object) {
  if (resource == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&] {
    CUDA_RESOURCE_DESC found;
    const cudaError_t error = driver.cuTexObjectGetResourceDesc(&found, object);
    if (error == cudaSuccess) FromDriver(found, resource);
    return error;
  });
}

extern "C" cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* texture,
                                                       cudaTextureObject_t object) {
  if (texture == nullptr) return Record(cudaErrorInvalidResourceHandle);
  return InContext([&] {
    CUDA_TEXTURE_DESC found = {};  // a driver leaves the border out
    const cudaError_t error = driver.cuTexObjectGetTextureDesc(&found, object);
    if (error == cudaSuccess) FromDriver(found, texture);
    return error;
  });
}

extern "C" cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object,
                                               const cudaResourceDesc* resource) {
  if (object == nullptr || resource == nullptr) return Record(cudaErrorInvalidValue);
  return InContext([&]() -> cudaError_t {
    if (!HasArray(*resource)) return cudaErrorInvalidResourceHandle;
    CUDA_RESOURCE_DESC shown;
    const cudaError_t error = ToDriver(*resource, &shown);
    return error == cudaSuccess ? driver.cuSurfObjectCreate(object, &shown) : error;
  });
}

extern "C" cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource,
                                                        cudaSurfaceObject_t object) {
  if (resource == nullptr) return Record(cudaErrorInvalidDevice);
  return InContext([&] {
    CUDA_RESOURCE_DESC found;
    const cudaError_t error = driver.cuSurfObjectGetResourceDesc(&found, object);
    if (error == cudaSuccess) FromDriver(found, resource);
    return error;
  });
}

}  // namespace twinmmu::cudart
