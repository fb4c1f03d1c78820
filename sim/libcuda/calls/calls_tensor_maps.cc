// Tensor maps. What is refused is what an H100 with driver 580.159 refuses.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/ptx/tensors/tensor_map.h"
#include "third_party/cuda_abi/tensor_abi.h"

namespace twinmmu::libcuda {
namespace {

using ptx::TensorElement;
using ptx::TensorInterleave;
using ptx::TensorMap;
using ptx::TensorSwizzle;

constexpr uint64_t kMostElements = uint64_t{1} << 32;  // of a dimension
constexpr uint64_t kStrideEnd = uint64_t{1} << 40;
constexpr uint64_t kAddressEnd = uint64_t{1} << 57;
constexpr uint32_t kMostOfBox = 256;
constexpr uint32_t kMostPixels = 1024;
constexpr uint32_t kMostStep = 8;
constexpr uint64_t kMostBytes = 228 * 1024;  // shared memory
constexpr uint64_t kPiece = 16;  // of what the innermost dimension of a box has whole ones

// In the order of CUtensorMapDataType. Elements of 4 and 6 bits are there from compute capability
// 10.0 on.
constexpr TensorElement kElements[] = {
    TensorElement::kU8,     TensorElement::kU16,  TensorElement::kU32,    TensorElement::kS32,
    TensorElement::kU64,    TensorElement::kS64,  TensorElement::kF16,    TensorElement::kF32,
    TensorElement::kF64,    TensorElement::kBf16, TensorElement::kF32Ftz, TensorElement::kTf32,
    TensorElement::kTf32Ftz};

// What tiles and columns have in common, as the program gives it.
struct Described {
  CUtensorMapDataType element;
  unsigned int rank;
  const void* address;
  const uint64_t* dims;
  const uint64_t* strides;
  const uint32_t* steps;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};

bool IsBetween(int64_t value, int64_t least, int64_t most) {
  return least <= value && value <= most;
}

// Where a tensor may begin. `map` has its interleave.
bool TakeAddress(const void* address, TensorMap* map) {
  map->address = reinterpret_cast<uintptr_t>(address);
  const uint64_t alignment = map->interleave == TensorInterleave::k32 ? 32 : 16;
  return map->address % alignment == 0 && map->address < kAddressEnd;
}

// Strides may be anything that is aligned: rows may overlap.
bool TakeDimensions(const Described& described, TensorMap* map) {
  const uint64_t alignment = map->interleave == TensorInterleave::k32 ? 32 : 16;
  for (uint32_t i = 0; i < map->rank; ++i) {
    map->dims[i] = described.dims[i];
    map->steps[i] = described.steps[i];
    if (map->dims[i] == 0 || map->dims[i] > kMostElements) return false;
    if (!IsBetween(map->steps[i], 1, kMostStep)) return false;
    if (i == 0) continue;
    map->strides[i - 1] = described.strides[i - 1];
    if (map->strides[i - 1] % alignment != 0 || map->strides[i - 1] >= kStrideEnd) return false;
  }
  return true;
}

// A row of a box has whole pieces, and no more than its swizzle goes over.
bool RowFits(const TensorMap& map) {
  const uint64_t bytes = uint64_t{map.box[0]} * ptx::SizeOf(map.element);
  const bool free =
      map.interleave != TensorInterleave::kNone || map.swizzle == TensorSwizzle::kNone;
  return bytes % kPiece == 0 && (free || bytes <= ptx::SpanOf(map.swizzle));
}

// False: a driver refuses it.
bool Take(const Described& described, uint32_t least_rank, TensorMap* map) {
  constexpr int64_t kLastElement = std::size(kElements) - 1;
  if (!IsBetween(described.element, 0, kLastElement) ||
      !IsBetween(described.rank, least_rank, TensorMap::kMostRank) ||
      !IsBetween(described.interleave, CU_TENSOR_MAP_INTERLEAVE_NONE,
                 CU_TENSOR_MAP_INTERLEAVE_32B) ||
      !IsBetween(described.swizzle, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_128B) ||
      !IsBetween(described.promotion, 0, CU_TENSOR_MAP_L2_PROMOTION_L2_256B) ||
      !IsBetween(described.fill, 0, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)) {
    return false;
  }
  map->element = kElements[described.element];
  map->rank = described.rank;
  map->interleave = static_cast<TensorInterleave>(described.interleave);
  map->swizzle = static_cast<TensorSwizzle>(described.swizzle);
  map->promotion = static_cast<uint8_t>(described.promotion);
  map->fills_with_nan = described.fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  if (map->fills_with_nan && !ptx::IsFloating(map->element)) return false;
  if (map->interleave != TensorInterleave::kNone && map->rank < 3) return false;
  return TakeAddress(described.address, map) && TakeDimensions(described, map);
}

// A box that is larger than shared memory is refused.
bool TakeBox(const uint32_t* box, TensorMap* map) {
  uint64_t bytes = ptx::SizeOf(map->element);
  for (uint32_t i = 0; i < map->rank; ++i) {
    map->box[i] = box[i];
    if (!IsBetween(map->box[i], 1, kMostOfBox)) return false;
    // All slices of an interleaved map, though a copy takes one.
    bytes *= map->BoxCountOf(i);
  }
  return RowFits(*map) && bytes <= kMostBytes;
}

// The corners of the box of pixels, which is not empty. What does not fit into shared memory is
// refused. Source: 2018 maps on an H200 with driver 580.159.
bool TakeColumn(const int* lower, const int* upper, uint32_t channels, uint32_t pixels,
                TensorMap* map) {
  map->im2col = true;
  map->box[0] = channels;
  map->pixels = pixels;
  if (!IsBetween(channels, 1, kMostOfBox) || !IsBetween(pixels, 1, kMostPixels)) return false;
  constexpr int64_t kMost[] = {1 << 15, 1 << 7, 1 << 4};  // by the number of dimensions
  const int64_t most = kMost[map->rank - 3];
  for (uint32_t i = 0; i + 2 < map->rank; ++i) {
    map->lower[i] = lower[i];
    map->upper[i] = upper[i];
    if (!IsBetween(lower[i], -most, most - 1) || !IsBetween(upper[i], -most, most - 1))
      return false;
    // A driver counts pixels in 32 bits, one of them a sign.
    const auto pixels_there = static_cast<int32_t>(map->dims[map->first_strided() + i]);
    if (int64_t{pixels_there} + upper[i] <= lower[i]) return false;
  }
  return RowFits(*map) && uint64_t{channels} * ptx::SizeOf(map->element) * pixels <= kMostBytes;
}

// Anywhere: a driver takes one that is not aligned.
DriverCode Store(const TensorMap& map, CUtensorMap* to) {
  const ptx::TensorMapBits bits = ptx::Encode(map);
  std::memcpy(to->opaque, bits.data(), sizeof(bits));
  return DriverCode::kSuccess;
}

}  // namespace

extern "C" CUresult cuTensorMapEncodeTiled(
    CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType, unsigned int tensorRank,
    void* globalAddress, const uint64_t* globalDim, const uint64_t* globalStrides,
    const uint32_t* boxDim, const uint32_t* elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
    CUtensorMapFloatOOBfill oobFill) {
  return EnterInContext(TWINMMU_HERE, {tensorMap, globalDim, globalStrides, boxDim, elementStrides},
                        [&](DriverState&, Context&) {
                          const Described described = {
                              tensorDataType, tensorRank, globalAddress, globalDim,   globalStrides,
                              elementStrides, interleave, swizzle,       l2Promotion, oobFill};
                          TensorMap map;
                          if (!Take(described, 1, &map) || !TakeBox(boxDim, &map))
                            return DriverCode::kInvalidValue;
                          return Store(map, tensorMap);
                        });
}

extern "C" CUresult cuTensorMapEncodeIm2col(
    CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType, unsigned int tensorRank,
    void* globalAddress, const uint64_t* globalDim, const uint64_t* globalStrides,
    const int* pixelBoxLowerCorner, const int* pixelBoxUpperCorner, unsigned int channelsPerPixel,
    unsigned int pixelsPerColumn, const uint32_t* elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
    CUtensorMapFloatOOBfill oobFill) {
  return EnterInContext(
      TWINMMU_HERE,
      {tensorMap, globalDim, globalStrides, pixelBoxLowerCorner, pixelBoxUpperCorner,
       elementStrides},
      [&](DriverState&, Context&) {
        const Described described = {tensorDataType, tensorRank,     globalAddress, globalDim,
                                     globalStrides,  elementStrides, interleave,    swizzle,
                                     l2Promotion,    oobFill};
        TensorMap map;
        if (!Take(described, 3, &map) || !TakeColumn(pixelBoxLowerCorner, pixelBoxUpperCorner,
                                                     channelsPerPixel, pixelsPerColumn, &map)) {
          return DriverCode::kInvalidValue;
        }
        return Store(map, tensorMap);
      });
}

// Only the width has corners. Which mode it is, a map does not say.
extern "C" CUresult cuTensorMapEncodeIm2colWide(
    CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType, unsigned int tensorRank,
    void* globalAddress, const uint64_t* globalDim, const uint64_t* globalStrides,
    int pixelBoxLowerCornerWidth, int pixelBoxUpperCornerWidth, unsigned int channelsPerPixel,
    unsigned int pixelsPerColumn, const uint32_t* elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
    CUtensorMapFloatOOBfill oobFill) {
  return EnterInContext(
      TWINMMU_HERE, {tensorMap, globalDim, globalStrides, elementStrides},
      [&](DriverState&, Context&) {
        const Described described = {tensorDataType, tensorRank,     globalAddress, globalDim,
                                     globalStrides,  elementStrides, interleave,    swizzle,
                                     l2Promotion,    oobFill};
        const int lower[] = {pixelBoxLowerCornerWidth, 0, 0};
        const int upper[] = {pixelBoxUpperCornerWidth, 0, 0};
        TensorMap map;
        if (!IsBetween(mode, 0, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128) || !Take(described, 3, &map) ||
            !TakeColumn(lower, upper, channelsPerPixel, pixelsPerColumn, &map)) {
          return DriverCode::kInvalidValue;
        }
        return Store(map, tensorMap);
      });
}

// Whatever the other bits are, an interleave by 32 bytes too.
extern "C" CUresult cuTensorMapReplaceAddress(CUtensorMap* tensorMap, void* globalAddress) {
  return EnterInContext(TWINMMU_HERE, {tensorMap}, [&](DriverState&, Context&) {
    ptx::TensorMapBits bits;
    std::memcpy(bits.data(), tensorMap->opaque, sizeof(bits));
    TensorMap map;
    if (globalAddress == nullptr || !TakeAddress(globalAddress, &map)) {
      return DriverCode::kInvalidValue;
    }
    ptx::Replace(ptx::TensorField::kAddress, 0, map.address, &bits);
    std::memcpy(tensorMap->opaque, bits.data(), sizeof(bits));
    return DriverCode::kSuccess;
  });
}

}  // namespace twinmmu::libcuda
