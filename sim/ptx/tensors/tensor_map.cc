#include "sim/ptx/tensors/tensor_map.h"

#include <iterator>

namespace twinmmu::ptx {
namespace {

struct Field {
  uint8_t word;
  uint8_t shift;
  uint8_t width;
};

constexpr Field kAddress = {0, 0, 57};
constexpr Field kIm2col = {1, 0, 1};
constexpr Field kRank = {1, 4, 3};     // less one
constexpr Field kElement = {1, 7, 4};  // tf32: f32, and
constexpr Field kTf32 = {1, 16, 1};
constexpr Field kInterleave = {1, 11, 2};
constexpr Field kSwizzle = {1, 13, 2};
constexpr Field kFill = {1, 15, 1};
constexpr Field kPromotion = {1, 17, 2};
// 36 bits of each, of 16 bytes.
constexpr Field kStrides[] = {{1, 32, 32}, {2, 0, 32}, {2, 32, 32}, {3, 0, 32}};
constexpr Field kHighStrides[] = {{3, 32, 4}, {3, 36, 4}, {3, 40, 4}, {3, 44, 4}};
// Less one, as are steps and boxes.
constexpr Field kDims[] = {{4, 0, 32}, {4, 32, 32}, {5, 0, 32}, {5, 32, 32}, {6, 0, 32}};
constexpr Field kSteps[] = {{6, 32, 3}, {6, 35, 3}, {6, 38, 3}, {6, 41, 3}, {6, 44, 3}};
constexpr Field kBox[] = {{6, 56, 8}, {7, 0, 8}, {7, 8, 8}, {7, 16, 8}, {7, 24, 8}};
// Im2col has these instead of the box behind its first dimension.
constexpr Field kPixels = {7, 32, 10};
// What a driver writes for itself: how many bytes a box has, and where patterns of it repeat.
constexpr Field kBoxBytes = {8, 0, 32};
constexpr Field kPattern = {9, 0, 32};

// Of a corner, by the number of dimensions that pixels have. Those of `upper` lie above `lower`.
Field CornerOf(uint32_t rank, uint32_t i, bool upper) {
  const uint8_t width = rank == 3 ? 16 : rank == 4 ? 8 : 5;
  return {7, static_cast<uint8_t>((upper ? 16 : 0) + i * width), width};
}

uint64_t MaskOf(Field field) { return (uint64_t{1} << field.width) - 1; }

void Put(Field field, uint64_t value, TensorMapBits* bits) {
  uint64_t& word = (*bits)[field.word];
  word = (word & ~(MaskOf(field) << field.shift)) | (value & MaskOf(field)) << field.shift;
}

uint64_t Get(Field field, const TensorMapBits& bits) {
  return bits[field.word] >> field.shift & MaskOf(field);
}

int32_t GetSigned(Field field, const TensorMapBits& bits) {
  const uint64_t sign = uint64_t{1} << (field.width - 1);
  return static_cast<int32_t>(static_cast<int64_t>(Get(field, bits) ^ sign) -
                              static_cast<int64_t>(sign));
}

void PutStride(size_t i, uint64_t stride, TensorMapBits* bits) {
  Put(kStrides[i], stride >> 4, bits);
  Put(kHighStrides[i], stride >> 36, bits);
}

void PutElement(TensorElement element, TensorMapBits* bits) {
  const bool tf32 = element >= TensorElement::kTf32;
  Put(kTf32, tf32, bits);
  Put(kElement, static_cast<uint64_t>(element) - (tf32 ? 4 : 0), bits);
}

uint64_t BytesOfBox(const TensorMap& map) {
  uint64_t bytes = SizeOf(map.element);
  if (map.im2col) return bytes * map.box[0] * map.pixels;
  for (size_t i = 0; i < map.rank; ++i) bytes *= map.box[i] / map.steps[i];
  return bytes;
}

}  // namespace

uint32_t SizeOf(TensorElement element) {
  constexpr uint8_t kSizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4};
  return kSizes[static_cast<size_t>(element)];
}

bool IsFloating(TensorElement element) { return element >= TensorElement::kF16; }

uint32_t SpanOf(TensorSwizzle swizzle) {
  return swizzle == TensorSwizzle::kNone ? 0 : 16u << static_cast<int>(swizzle);
}

TensorMapBits Encode(const TensorMap& map) {
  TensorMapBits bits = {};
  Put(kAddress, map.address, &bits);
  Put(kIm2col, map.im2col, &bits);
  Put(kRank, map.rank - 1, &bits);
  PutElement(map.element, &bits);
  Put(kInterleave, static_cast<uint64_t>(map.interleave), &bits);
  Put(kSwizzle, static_cast<uint64_t>(map.swizzle), &bits);
  Put(kFill, map.fills_with_nan, &bits);
  Put(kPromotion, map.promotion, &bits);
  for (size_t i = 0; i < map.rank; ++i) {
    if (i > 0) PutStride(i - 1, map.strides[i - 1], &bits);
    Put(kDims[i], map.dims[i] - 1, &bits);
    Put(kSteps[i], map.steps[i] - 1, &bits);
    if (i == 0 || !map.im2col) Put(kBox[i], map.box[i] - 1, &bits);
  }
  if (map.im2col) {
    for (uint32_t i = 0; i + 2 < map.rank; ++i) {
      Put(CornerOf(map.rank, i, false), static_cast<uint64_t>(map.lower[i]), &bits);
      Put(CornerOf(map.rank, i, true), static_cast<uint64_t>(map.upper[i]), &bits);
    }
    Put(kPixels, map.pixels - 1, &bits);
  }
  Put(kBoxBytes, BytesOfBox(map), &bits);
  Put(kPattern, map.swizzle == TensorSwizzle::kNone ? 16 : SpanOf(map.swizzle) * 8, &bits);
  return bits;
}

bool Decode(const TensorMapBits& bits, TensorMap* map) {
  const uint64_t element = Get(kElement, bits);
  const bool tf32 = Get(kTf32, bits) != 0;
  map->rank = static_cast<uint32_t>(Get(kRank, bits)) + 1;
  map->im2col = Get(kIm2col, bits) != 0;
  const auto f32 = static_cast<uint64_t>(TensorElement::kF32);
  if (map->rank > TensorMap::kMostRank || (map->im2col && map->rank < 3) ||
      element > static_cast<uint64_t>(TensorElement::kBf16) ||
      (tf32 && element != f32 && element != f32 + 1) || Get(kInterleave, bits) == 3) {
    return false;
  }
  map->element = static_cast<TensorElement>(element + (tf32 ? 4 : 0));
  map->address = Get(kAddress, bits);
  map->interleave = static_cast<TensorInterleave>(Get(kInterleave, bits));
  map->swizzle = static_cast<TensorSwizzle>(Get(kSwizzle, bits));
  map->fills_with_nan = Get(kFill, bits) != 0;
  map->promotion = static_cast<uint8_t>(Get(kPromotion, bits));
  for (size_t i = 0; i < map->rank; ++i) {
    if (i > 0) {
      map->strides[i - 1] = Get(kStrides[i - 1], bits) << 4 | Get(kHighStrides[i - 1], bits) << 36;
    }
    map->dims[i] = Get(kDims[i], bits) + 1;
    map->steps[i] = static_cast<uint32_t>(Get(kSteps[i], bits)) + 1;
    if (i == 0 || !map->im2col) map->box[i] = static_cast<uint32_t>(Get(kBox[i], bits)) + 1;
  }
  if (!map->im2col) return true;
  for (uint32_t i = 0; i + 2 < map->rank; ++i) {
    map->lower[i] = GetSigned(CornerOf(map->rank, i, false), bits);
    map->upper[i] = GetSigned(CornerOf(map->rank, i, true), bits);
  }
  map->pixels = static_cast<uint32_t>(Get(kPixels, bits)) + 1;
  return true;
}

void Replace(TensorField field, uint32_t dimension, uint64_t value, TensorMapBits* bits) {
  switch (field) {
    case TensorField::kAddress:
      return Put(kAddress, value, bits);
    case TensorField::kRank:
      return Put(kRank, value, bits);
    case TensorField::kBox:
      return Put(kBox[dimension], value - 1, bits);
    case TensorField::kDim:
      return Put(kDims[dimension], value - 1, bits);
    case TensorField::kStride:
      if (dimension < std::size(kStrides)) PutStride(dimension, value, bits);
      return;
    case TensorField::kStep:
      return Put(kSteps[dimension], value - 1, bits);
    case TensorField::kElement:
      return PutElement(static_cast<TensorElement>(value), bits);
    case TensorField::kInterleave:
      return Put(kInterleave, value, bits);
    case TensorField::kSwizzle:
      return Put(kSwizzle, value, bits);
    case TensorField::kFill:
      return Put(kFill, value, bits);
  }
}

}  // namespace twinmmu::ptx
