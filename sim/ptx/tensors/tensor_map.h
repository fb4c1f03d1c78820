// TensorMap: what the 128 bytes of a tensor map say: a tensor in global memory, and which box of it
// a copy moves.

#ifndef TWINMMU_SIM_PTX_TENSORS_TENSOR_MAP_H_
#define TWINMMU_SIM_PTX_TENSORS_TENSOR_MAP_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace twinmmu::ptx {

// In the order of CUtensorMapDataType.
enum class TensorElement : uint8_t {
  kU8,
  kU16,
  kU32,
  kS32,
  kU64,
  kS64,
  kF16,
  kF32,
  kF64,
  kBf16,
  kF32Ftz,
  kTf32,
  kTf32Ftz,
  kPacked4Of8,   // 16 of 4 bits in 8 bytes
  kPacked4Of16,  // the same, with 8 bytes between them in shared memory
  kPacked6,
};
// Where the 16-byte pieces of a row go, in the order of CUtensorMapSwizzle: among so many bytes.
enum class TensorSwizzle : uint8_t { kNone, k32, k64, k128, k128By32, k128By32Flipped, k128By64 };
enum class TensorInterleave : uint8_t { kNone, k16, k32 };

struct TensorMap {
  static constexpr int kMostRank = 5;

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
  // Im2col: pixels are dims[1] and the following, but for the last one, which is images. A column
  // runs through those from `lower` to the end plus `upper`.
  std::array<int32_t, kMostRank - 2> lower = {};
  std::array<int32_t, kMostRank - 2> upper = {};
  uint32_t channels = 1;
  uint32_t pixels = 1;
};

using TensorMapBits = std::array<uint64_t, 16>;
TensorMapBits Encode(const TensorMap& map);
// False: these are none.
bool Decode(const TensorMapBits& bits, TensorMap* map);

// What tensormap.replace replaces, in the order of the decoder's names.
enum class TensorField : uint8_t {
  kAddress,
  kRank,
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

// In bytes. Of packed elements: of 16 of them, in global memory.
uint32_t SizeOf(TensorElement element);
bool IsFloating(TensorElement element);
bool IsPacked(TensorElement element);
// The bytes among which a swizzle moves pieces; 0: none.
uint32_t SpanOf(TensorSwizzle swizzle);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TENSORS_TENSOR_MAP_H_
