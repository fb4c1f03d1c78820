// TensorMap: what the 128 bytes of a tensor map say: a tensor in global memory, and which box of it
// a copy moves. The bits are those of an H100, whose tensormap.replace and driver show them.

#ifndef TWINMMU_SIM_PTX_TENSORS_TENSOR_MAP_H_
#define TWINMMU_SIM_PTX_TENSORS_TENSOR_MAP_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace twinmmu::ptx {

// In the order of tensormap.replace.
enum class TensorElement : uint8_t {
  kU8,
  kU16,
  kU32,
  kS32,
  kU64,
  kS64,
  kF16,
  kF32,
  kF32Ftz,
  kF64,
  kBf16,
  kTf32,
  kTf32Ftz,
};
// Among how many bytes the 16-byte pieces of a row change places: none, 32, 64, 128.
enum class TensorSwizzle : uint8_t { kNone, k32, k64, k128 };
enum class TensorInterleave : uint8_t { kNone, k16, k32 };

struct TensorMap {
  static constexpr size_t kMostRank = 5;

  TensorElement element = TensorElement::kU8;
  TensorSwizzle swizzle = TensorSwizzle::kNone;
  TensorInterleave interleave = TensorInterleave::kNone;
  uint8_t promotion = 0;  // of reads in the L2 cache, as CUtensorMapL2promotion
  bool fills_with_nan = false;
  bool im2col = false;
  uint32_t rank = 1;
  uint64_t address = 0;
  // The innermost dimension first.
  std::array<uint64_t, kMostRank> dims = {1, 1, 1, 1, 1};
  std::array<uint64_t, kMostRank - 1> strides = {};  // in bytes; of the dimensions behind the first
  std::array<uint32_t, kMostRank> steps = {1, 1, 1, 1, 1};  // from one element to the next
  // What a copy moves. Tiles: elements of each dimension.
  std::array<uint32_t, kMostRank> box = {1, 1, 1, 1, 1};
  // Im2col: box[0] channels of so many pixels. These lie in the dimensions behind the first, but
  // for the last one, which has images; from `lower` to the end plus `upper`.
  uint32_t pixels = 1;
  std::array<int32_t, kMostRank - 2> lower = {};
  std::array<int32_t, kMostRank - 2> upper = {};

  // Interleaved, a map has pixels of 16 or 32 bytes in its first dimension, and in its last but one
  // slices of the channels, of which a copy takes one whatever the box says: [N, C/8, D, H, W, 8].
  // What this says of the dimensions behind the first is true of the first too. Bytes of a pixel;
  // 0: it is not interleaved. Measured on an H200.
  uint32_t pixel_size() const { return static_cast<uint32_t>(interleave) * 16; }
  bool is_interleaved() const { return interleave != TensorInterleave::kNone; }
  // The first of the dimensions that have a stride, and of which im2col has pixels.
  size_t first_strided() const { return is_interleaved() ? 0 : 1; }

  // Elements of dimension `i`: of a box, and of a copy.
  uint32_t BoxCountOf(size_t i) const { return (box[i] + steps[i] - 1) / steps[i]; }
  uint32_t CountOf(size_t i) const {
    const bool is_slice = is_interleaved() && i + 2 == rank;
    return is_slice ? 1 : BoxCountOf(i);
  }
};

// In bytes.
uint32_t SizeOf(TensorElement element);
bool IsFloating(TensorElement element);
// 32, 64 or 128; 0: none.
uint32_t SpanOf(TensorSwizzle swizzle);

using TensorMapBits = std::array<uint64_t, 16>;
TensorMapBits Encode(const TensorMap& map);
// False: these are none.
bool Decode(const TensorMapBits& bits, TensorMap* map);

// What tensormap.replace replaces.
enum class TensorField : uint8_t {
  kAddress,
  kRank,  // less one
  kBox,
  kDim,
  kStride,
  kStep,
  kElement,
  kInterleave,
  kSwizzle,
  kFill,
};
void Replace(TensorField field, uint32_t dimension, uint64_t value, TensorMapBits* bits);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TENSORS_TENSOR_MAP_H_
