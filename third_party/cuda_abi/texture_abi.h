// The driver's types for arrays, textures and surfaces, beside those of cuda_abi.h: written down
// from the documentation of CUDA 13.0.

#ifndef TWINMMU_THIRD_PARTY_CUDA_ABI_TEXTURE_ABI_H_
#define TWINMMU_THIRD_PARTY_CUDA_ABI_TEXTURE_ABI_H_

#include <cstddef>

#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::cuda_abi {

using CUtexref = struct CUtexref_st*;
using CUsurfref = struct CUsurfref_st*;
using CUtexObject = unsigned long long;
using CUsurfObject = unsigned long long;

struct CUDA_ARRAY_DESCRIPTOR {
  size_t Width;
  size_t Height;
  CUarray_format Format;
  unsigned int NumChannels;
};

struct CUDA_ARRAY_MEMORY_REQUIREMENTS {
  size_t size;
  size_t alignment;
  unsigned int reserved[4];
};

inline constexpr int CU_RESOURCE_TYPE_LINEAR = 2;
inline constexpr int CU_RESOURCE_TYPE_PITCH2D = 3;

struct CUDA_RESOURCE_DESC {
  CUresourcetype resType;
  union {
    struct {
      CUarray hArray;
    } array;
    struct {
      CUmipmappedArray hMipmappedArray;
    } mipmap;
    struct {
      CUdeviceptr devPtr;
      CUarray_format format;
      unsigned int numChannels;
      size_t sizeInBytes;
    } linear;
    struct {
      CUdeviceptr devPtr;
      CUarray_format format;
      unsigned int numChannels;
      size_t width;
      size_t height;
      size_t pitchInBytes;
    } pitch2D;
    struct {
      int reserved[32];
    } reserved;
  } res;
  unsigned int flags;
};

using CUaddress_mode = int;
inline constexpr CUaddress_mode CU_TR_ADDRESS_MODE_WRAP = 0;
inline constexpr CUaddress_mode CU_TR_ADDRESS_MODE_CLAMP = 1;
inline constexpr CUaddress_mode CU_TR_ADDRESS_MODE_MIRROR = 2;
inline constexpr CUaddress_mode CU_TR_ADDRESS_MODE_BORDER = 3;
using CUfilter_mode = int;
inline constexpr CUfilter_mode CU_TR_FILTER_MODE_POINT = 0;
inline constexpr CUfilter_mode CU_TR_FILTER_MODE_LINEAR = 1;

inline constexpr unsigned int CU_TRSA_OVERRIDE_FORMAT = 0x01;
inline constexpr unsigned int CU_TRSF_READ_AS_INTEGER = 0x01;
inline constexpr unsigned int CU_TRSF_NORMALIZED_COORDINATES = 0x02;
inline constexpr unsigned int CU_TRSF_SRGB = 0x10;
inline constexpr unsigned int CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION = 0x20;
inline constexpr unsigned int CU_TRSF_SEAMLESS_CUBEMAP = 0x40;

struct CUDA_TEXTURE_DESC {
  CUaddress_mode addressMode[3];
  CUfilter_mode filterMode;
  unsigned int flags;
  unsigned int maxAnisotropy;
  CUfilter_mode mipmapFilterMode;
  float mipmapLevelBias;
  float minMipmapLevelClamp;
  float maxMipmapLevelClamp;
  float borderColor[4];
  int reserved[12];
};

// 1 to 24: in the order of formats, of 1, 2 and 4 channels each; from 25 on compressed blocks.
using CUresourceViewFormat = int;
inline constexpr CUresourceViewFormat CU_RES_VIEW_FORMAT_NONE = 0;
inline constexpr CUresourceViewFormat CU_RES_VIEW_FORMAT_FLOAT_4X32 = 0x18;
inline constexpr CUresourceViewFormat CU_RES_VIEW_FORMAT_UNSIGNED_BC1 = 0x19;
inline constexpr CUresourceViewFormat CU_RES_VIEW_FORMAT_UNSIGNED_BC4 = 0x1c;
inline constexpr CUresourceViewFormat CU_RES_VIEW_FORMAT_SIGNED_BC4 = 0x1d;

struct CUDA_RESOURCE_VIEW_DESC {
  CUresourceViewFormat format;
  size_t width;
  size_t height;
  size_t depth;
  unsigned int firstMipmapLevel;
  unsigned int lastMipmapLevel;
  unsigned int firstLayer;
  unsigned int lastLayer;
  unsigned int reserved[16];
};

}  // namespace twinmmu::cuda_abi

#endif  // TWINMMU_THIRD_PARTY_CUDA_ABI_TEXTURE_ABI_H_
