// The driver's types for tensor maps, beside those of cuda_abi.h: written down from the
// documentation of CUDA 13.0.

#ifndef TWINMMU_THIRD_PARTY_CUDA_ABI_TENSOR_ABI_H_
#define TWINMMU_THIRD_PARTY_CUDA_ABI_TENSOR_ABI_H_

namespace twinmmu::cuda_abi {

// Toolkits align it, to 64 or 128 bytes; a driver takes it anywhere.
struct CUtensorMap {
  unsigned long long opaque[16];
};

using CUtensorMapDataType = int;

using CUtensorMapInterleave = int;
inline constexpr CUtensorMapInterleave CU_TENSOR_MAP_INTERLEAVE_NONE = 0;
inline constexpr CUtensorMapInterleave CU_TENSOR_MAP_INTERLEAVE_32B = 2;

using CUtensorMapSwizzle = int;
inline constexpr CUtensorMapSwizzle CU_TENSOR_MAP_SWIZZLE_NONE = 0;
inline constexpr CUtensorMapSwizzle CU_TENSOR_MAP_SWIZZLE_128B = 3;

using CUtensorMapL2promotion = int;
inline constexpr CUtensorMapL2promotion CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3;

using CUtensorMapFloatOOBfill = int;
inline constexpr CUtensorMapFloatOOBfill CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0;
inline constexpr CUtensorMapFloatOOBfill CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA = 1;

using CUtensorMapIm2ColWideMode = int;
inline constexpr CUtensorMapIm2ColWideMode CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128 = 1;

}  // namespace twinmmu::cuda_abi

#endif  // TWINMMU_THIRD_PARTY_CUDA_ABI_TENSOR_ABI_H_
