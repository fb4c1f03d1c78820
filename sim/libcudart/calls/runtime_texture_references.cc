// Textures and surfaces of old, which programs of CUDA 11 have as variables: the driver's
// references of the same names. How a texture is read is taken from the variable when it is bound.

#include <optional>

#include "sim/libcudart/array_formats.h"
#include "sim/libcudart/registered_code.h"
#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {
namespace {

cudaError_t FindTexture(const textureReference* texture, void** found, bool* as_floats) {
  FoundReference reference;
  cudaError_t error = FindReference(texture, &reference);
  if (error == cudaErrorInvalidSymbol) return cudaErrorInvalidTexture;
  if (error != cudaSuccess) return error;
  *as_floats = reference.as_floats;
  return driver.cuModuleGetTexRef(found, reference.module, reference.name.c_str());
}

// As the program has set its variable.
cudaError_t SetReading(void* found, const textureReference& texture, bool as_floats) {
  unsigned int flags = 0;
  if (!as_floats) flags |= cuda_abi::CU_TRSF_READ_AS_INTEGER;
  if (texture.normalized != 0) flags |= cuda_abi::CU_TRSF_NORMALIZED_COORDINATES;
  if (texture.sRGB != 0) flags |= cuda_abi::CU_TRSF_SRGB;
  cudaError_t error = driver.cuTexRefSetFlags(found, flags);
  const auto then = [&](cudaError_t (*set)(void*, int), int value) {
    if (error == cudaSuccess) error = set(found, value);
  };
  then(driver.cuTexRefSetFilterMode, texture.filterMode);
  then(driver.cuTexRefSetMipmapFilterMode, texture.mipmapFilterMode);
  for (int i = 0; i < 3 && error == cudaSuccess; ++i) {
    error = driver.cuTexRefSetAddressMode(found, i, texture.addressMode[i]);
  }
  if (error == cudaSuccess) {
    error = driver.cuTexRefSetMipmapLevelBias(found, texture.mipmapLevelBias);
  }
  if (error == cudaSuccess) {
    error = driver.cuTexRefSetMipmapLevelClamp(found, texture.minMipmapLevelClamp,
                                               texture.maxMipmapLevelClamp);
  }
  if (error == cudaSuccess) {
    error = driver.cuTexRefSetMaxAnisotropy(found, texture.maxAnisotropy);
  }
  return error;
}

// bind(reference, format) shows the memory; format: of `channels`, or of the variable's own.
template <typename Bind>
TWINMMU_INLINE cudaError_t BindTexture(const textureReference* texture,
                                       const cudaChannelFormatDesc* channels, size_t* offset,
                                       const Bind& bind) {
  return InContext([&]() -> cudaError_t {
    void* found = nullptr;
    bool as_floats = false;
    cudaError_t error = FindTexture(texture, &found, &as_floats);
    if (error != cudaSuccess) return error;
    ChannelFormat format;
    if (!FormatOf(channels != nullptr ? *channels : texture->channelDesc, &format)) {
      return cudaErrorInvalidChannelDescriptor;
    }
    error = SetReading(found, *texture, as_floats);
    if (error == cudaSuccess) error = bind(found, format);
    if (error != cudaSuccess) return error;
    SetOffset(texture, offset != nullptr ? *offset : 0);
    return cudaSuccess;
  });
}

}  // namespace

extern "C" cudaError_t cudaBindTexture(size_t* offset, const textureReference* texture,
                                       const void* address, const cudaChannelFormatDesc* channels,
                                       size_t size) {
  return BindTexture(texture, channels, offset, [&](void* found, const ChannelFormat& format) {
    const cudaError_t error = driver.cuTexRefSetFormat(found, static_cast<int>(format.format),
                                                       static_cast<int>(format.channels));
    return error == cudaSuccess ? driver.cuTexRefSetAddress_v2(offset, found, address, size)
                                : error;
  });
}

extern "C" cudaError_t cudaBindTexture2D(size_t* offset, const textureReference* texture,
                                         const void* address, const cudaChannelFormatDesc* channels,
                                         size_t width, size_t height, size_t pitch) {
  return BindTexture(texture, channels, offset, [&](void* found, const ChannelFormat& format) {
    if (offset != nullptr) *offset = 0;
    const cuda_abi::CUDA_ARRAY_DESCRIPTOR shape = {width, height, format.format, format.channels};
    return driver.cuTexRefSetAddress2D_v3(found, &shape, address, pitch);
  });
}

extern "C" cudaError_t cudaBindTextureToArray(const textureReference* texture, cudaArray_t array,
                                              const cudaChannelFormatDesc* channels) {
  return BindTexture(texture, channels, nullptr, [&](void* found, const ChannelFormat&) {
    return driver.cuTexRefSetArray(found, array, cuda_abi::CU_TRSA_OVERRIDE_FORMAT);
  });
}

extern "C" cudaError_t cudaBindTextureToMipmappedArray(const textureReference* texture,
                                                       cudaMipmappedArray_t mipmap,
                                                       const cudaChannelFormatDesc* channels) {
  return BindTexture(texture, channels, nullptr, [&](void* found, const ChannelFormat&) {
    return driver.cuTexRefSetMipmappedArray(found, mipmap, cuda_abi::CU_TRSA_OVERRIDE_FORMAT);
  });
}

extern "C" cudaError_t cudaUnbindTexture(const textureReference* texture) {
  return InContext([&]() -> cudaError_t {
    void* found = nullptr;
    bool as_floats = false;
    const cudaError_t error = FindTexture(texture, &found, &as_floats);
    if (error != cudaSuccess) return error;
    SetOffset(texture, std::nullopt);
    size_t offset = 0;
    return driver.cuTexRefSetAddress_v2(&offset, found, nullptr, 0);
  });
}

extern "C" cudaError_t cudaGetTextureAlignmentOffset(size_t* offset,
                                                     const textureReference* texture) {
  return Anywhere([&]() -> cudaError_t {
    if (offset == nullptr) return cudaErrorInvalidValue;
    if (!IsReference(texture)) return cudaErrorInvalidTexture;
    const std::optional<size_t> found = OffsetOf(texture);
    if (!found.has_value()) return cudaErrorInvalidTextureBinding;
    *offset = *found;
    return cudaSuccess;
  });
}

extern "C" cudaError_t cudaGetTextureReference(const textureReference** texture,
                                               const void* symbol) {
  return Anywhere([&]() -> cudaError_t {
    if (texture == nullptr) return cudaErrorInvalidValue;
    if (!IsReference(symbol)) return cudaErrorInvalidTexture;
    *texture = static_cast<const textureReference*>(symbol);
    return cudaSuccess;
  });
}

extern "C" cudaError_t cudaBindSurfaceToArray(const surfaceReference* surface, cudaArray_t array,
                                              const cudaChannelFormatDesc* /*channels*/) {
  return InContext([&]() -> cudaError_t {
    FoundReference reference;
    cudaError_t error = FindReference(surface, &reference);
    if (error == cudaErrorInvalidSymbol) return cudaErrorInvalidSurface;
    void* found = nullptr;
    if (error == cudaSuccess) {
      error = driver.cuModuleGetSurfRef(&found, reference.module, reference.name.c_str());
    }
    return error == cudaSuccess ? driver.cuSurfRefSetArray(found, array, 0) : error;
  });
}

extern "C" cudaError_t cudaGetSurfaceReference(const surfaceReference** surface,
                                               const void* symbol) {
  return Anywhere([&]() -> cudaError_t {
    if (surface == nullptr) return cudaErrorInvalidValue;
    if (!IsReference(symbol)) return cudaErrorInvalidSurface;
    *surface = static_cast<const surfaceReference*>(symbol);
    return cudaSuccess;
  });
}

}  // namespace twinmmu::cudart
