#include "sim/ptx/tensors/tensor_map.h"

namespace twinmmu::ptx {
namespace {

constexpr uint64_t kMark = 0x7e9504;  // of a map

}  // namespace

uint32_t SizeOf(TensorElement element) {
  constexpr uint8_t kSizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4, 8, 8, 12};
  return kSizes[static_cast<int>(element)];
}

bool IsPacked(TensorElement element) { return element >= TensorElement::kPacked4Of8; }

bool IsFloating(TensorElement element) {
  return element >= TensorElement::kF16 && !IsPacked(element);
}

uint32_t SpanOf(TensorSwizzle swizzle) {
  if (swizzle >= TensorSwizzle::k128) return 128;
  return swizzle == TensorSwizzle::kNone ? 0 : 16u << static_cast<int>(swizzle);
}

TensorMapBits Encode(const TensorMap& map) {
  TensorMapBits bits = {};
  bits[0] = map.address;
  bits[1] = static_cast<uint64_t>(map.element) | static_cast<uint64_t>(map.swizzle) << 8 |
            static_cast<uint64_t>(map.interleave) << 16 | uint64_t{map.promotion} << 24 |
            uint64_t{map.fills_with_nan} << 32 | uint64_t{map.im2col} << 33 |
            uint64_t{map.rank} << 34 | kMark << 40;
  for (size_t i = 0; i < TensorMap::kMostRank; ++i) {
    bits[2 + i / 2] |= (map.dims[i] - 1) << 32 * (i % 2);
    bits[9] |= uint64_t{map.box[i] - 1} << 8 * i;
    bits[10] |= uint64_t{map.steps[i]} << 8 * i;
  }
  for (size_t i = 0; i < map.strides.size(); ++i) bits[5 + i] = map.strides[i];
  for (size_t i = 0; i < map.lower.size(); ++i) {
    bits[11] |= (static_cast<uint64_t>(map.lower[i]) & 0xffff) << 16 * i;
    bits[12] |= (static_cast<uint64_t>(map.upper[i]) & 0xffff) << 16 * i;
  }
  bits[13] = map.channels | uint64_t{map.pixels} << 32;
  return bits;
}

bool Decode(const TensorMapBits& bits, TensorMap* map) {
  if (bits[1] >> 40 != kMark) return false;
  map->address = bits[0];
  map->element = static_cast<TensorElement>(bits[1] & 0xf);
  map->swizzle = static_cast<TensorSwizzle>(bits[1] >> 8 & 7);
  map->interleave = static_cast<TensorInterleave>(bits[1] >> 16 & 3);
  map->promotion = bits[1] >> 24 & 3;
  map->fills_with_nan = (bits[1] >> 32 & 1) != 0;
  map->im2col = (bits[1] >> 33 & 1) != 0;
  map->rank = bits[1] >> 34 & 7;
  for (size_t i = 0; i < TensorMap::kMostRank; ++i) {
    map->dims[i] = (bits[2 + i / 2] >> 32 * (i % 2) & 0xffffffff) + 1;
    map->box[i] = (bits[9] >> 8 * i & 0xff) + 1;
    map->steps[i] = bits[10] >> 8 * i & 0xff;
  }
  for (size_t i = 0; i < map->strides.size(); ++i) map->strides[i] = bits[5 + i];
  for (size_t i = 0; i < map->lower.size(); ++i) {
    map->lower[i] = static_cast<int16_t>(bits[11] >> 16 * i);
    map->upper[i] = static_cast<int16_t>(bits[12] >> 16 * i);
  }
  map->channels = static_cast<uint32_t>(bits[13]);
  map->pixels = static_cast<uint32_t>(bits[13] >> 32);
  return true;
}

void Replace(TensorField field, uint32_t dimension, uint64_t value, TensorMapBits* bits) {
  TensorMap map;
  if (!Decode(*bits, &map)) return;
  switch (field) {
    case TensorField::kAddress:
      map.address = value;
      break;
    case TensorField::kRank:
      map.rank = static_cast<uint32_t>(value) + 1;
      break;
    case TensorField::kBox:
      map.box[dimension] = static_cast<uint32_t>(value);
      break;
    case TensorField::kDim:
      map.dims[dimension] = value;
      break;
    case TensorField::kStride:
      if (dimension < map.strides.size()) map.strides[dimension] = value;
      break;
    case TensorField::kStep:
      map.steps[dimension] = static_cast<uint32_t>(value);
      break;
    case TensorField::kElement:
      map.element = static_cast<TensorElement>(value);
      break;
    case TensorField::kInterleave:
      map.interleave = static_cast<TensorInterleave>(value);
      break;
    case TensorField::kSwizzle:
      map.swizzle = static_cast<TensorSwizzle>(value);
      break;
    case TensorField::kFill:
      map.fills_with_nan = value != 0;
      break;
  }
  *bits = Encode(map);
}

}  // namespace twinmmu::ptx
