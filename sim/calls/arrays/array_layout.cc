#include "sim/calls/arrays/array_layout.h"

#include <algorithm>

namespace twinmmu {
namespace {

constexpr uint64_t kRowBytes = 64;  // rows of a mip tail are so wide, or a multiple of it
constexpr uint64_t kRows = 8;       // and there are at least so many

uint64_t RoundUp(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

uint64_t PowerAtLeast(uint64_t value) {
  uint64_t power = 1;
  while (power < value) power *= 2;
  return power;
}

// The standard shapes: halved in x, y and z by turns as elements grow.
ArrayExtent TileOf(uint64_t element, bool depth) {
  switch (element) {
    case 1:
      return depth ? ArrayExtent{64, 32, 32} : ArrayExtent{256, 256, 1};
    case 2:
      return depth ? ArrayExtent{32, 32, 32} : ArrayExtent{256, 128, 1};
    case 4:
      return depth ? ArrayExtent{32, 32, 16} : ArrayExtent{128, 128, 1};
    case 8:
      return depth ? ArrayExtent{32, 16, 16} : ArrayExtent{128, 64, 1};
    default:
      return depth ? ArrayExtent{16, 16, 16} : ArrayExtent{64, 64, 1};
  }
}

// How many rows and slices of a mip tail lie together. Behind tiles these are a tile's. A tail that
// is the whole array has 16 slices together, or as many rows as its first level fills by two
// thirds, at most 128. Source: 6,000 random arrays on an H200 with driver 580.159, which made 4,414
// of them: all their sizes follow from this.
struct TailUnit {
  uint64_t rows = kRows;
  uint64_t slices = 1;
};
TailUnit TailUnitOf(const ArrayExtent& extent, const ArrayExtent& tile, bool whole, bool depth) {
  if (!whole) return {tile.y, tile.z};
  if (depth) return {kRows, 16};
  TailUnit unit{128, 1};
  while (unit.rows > kRows && extent.y * 3 < unit.rows * 2) unit.rows /= 2;
  return unit;
}

// Levels with fewer rows or slices have the next power of two of them together.
uint64_t RoundUpInTail(uint64_t value, uint64_t together) {
  return RoundUp(value, std::min(PowerAtLeast(value), together));
}

}  // namespace

ArrayLayout::ArrayLayout(const ArrayDescriptor& descriptor, uint32_t levels)
    : element_(ElementSize(descriptor).value()) {
  const bool layered = (descriptor.flags & (kArrayLayered | kArrayCubemap)) != 0;
  const bool sparse = (descriptor.flags & kArraySparse) != 0;
  depth_ = !layered && descriptor.extent.z != 0;
  layers_ = layered ? descriptor.extent.z : 1;
  const ArrayExtent tile = TileOf(element_, depth_);
  ArrayExtent extent{descriptor.extent.x, std::max<uint64_t>(descriptor.extent.y, 1),
                     depth_ ? descriptor.extent.z : 1};
  properties_.tile = tile;
  // Rows of one dimension lie as in a mip tail: eight of them, where a tile would have up to 256.
  // Source: an H100 with driver 580.159. So does all of an array of deferred mapping. Source: the
  // memory that 4,000 random ones need on an H200 with that driver.
  const bool deferred = (descriptor.flags & kArrayDeferred) != 0;
  bool in_tail = !sparse && (descriptor.extent.y == 0 || deferred);
  for (uint32_t number = 0; number < std::max(levels, 1u); ++number) {
    Level level;
    level.extent = extent;
    level.first_tile = tiles_;
    in_tail = in_tail || (sparse && (extent.x < tile.x || extent.y < tile.y || extent.z < tile.z));
    if (!in_tail) {
      level.tiles = {(extent.x + tile.x - 1) / tile.x, (extent.y + tile.y - 1) / tile.y,
                     (extent.z + tile.z - 1) / tile.z};
      tiles_ += level.tiles.x * level.tiles.y * level.tiles.z;
      first_in_tail_ = number + 1;
    }
    levels_.push_back(level);
    if (extent == ArrayExtent{1, 1, 1}) break;
    extent = {std::max<uint64_t>(extent.x / 2, 1), std::max<uint64_t>(extent.y / 2, 1),
              std::max<uint64_t>(extent.z / 2, 1)};
  }
  PlaceTail();
}

void ArrayLayout::PlaceTail() {
  properties_.mip_tail_level = first_in_tail_;
  properties_.single_mip_tail = first_in_tail_ == 0;
  const TailUnit unit =
      TailUnitOf(levels_.front().extent, properties_.tile, properties_.single_mip_tail, depth_);
  for (uint32_t number = first_in_tail_; number < levels(); ++number) {
    Level& level = levels_[number];
    level.tail_offset = tail_of_layer_;
    level.tail = {RoundUp(level.extent.x * element_, kRowBytes),
                  RoundUpInTail(std::max(level.extent.y, kRows), unit.rows),
                  RoundUpInTail(level.extent.z, unit.slices)};
    tail_of_layer_ += level.tail.x * level.tail.y * level.tail.z;
  }
  if (properties_.single_mip_tail) tail_of_layer_ = RoundUp(tail_of_layer_, kRowBytes * unit.rows);
  const uint64_t size = properties_.single_mip_tail ? layers_ * tail_of_layer_ : tail_of_layer_;
  properties_.mip_tail_size = Bytes(RoundUp(size, kBlock));
}

uint64_t ArrayLayout::TileBlock(uint32_t level, uint64_t layer, const ArrayExtent& tile) const {
  const Level& of = levels_[level];
  return layer * tiles_ + of.first_tile + (tile.z * of.tiles.y + tile.y) * of.tiles.x + tile.x;
}

ArrayLayout::Run ArrayLayout::RunAt(uint32_t level, uint64_t layer, const ArrayExtent& at) const {
  const Level& of = levels_[level];
  const ArrayExtent& tile = properties_.tile;
  const uint64_t rest = of.extent.x - at.x;
  if (!InTail(level)) {
    const ArrayExtent inside{at.x % tile.x, at.y % tile.y, at.z % tile.z};
    return {TileBlock(level, layer, {at.x / tile.x, at.y / tile.y, at.z / tile.z}),
            ((inside.z * tile.y + inside.y) * tile.x + inside.x) * element_,
            std::min(rest, tile.x - inside.x)};
  }
  const bool single = properties_.single_mip_tail;
  const uint64_t at_byte = (single ? layer * tail_of_layer_ : 0) + of.tail_offset +
                           (at.z * of.tail.y + at.y) * of.tail.x + at.x * element_;
  const uint64_t offset = at_byte % kBlock;
  return {TailBlock(single ? 0 : layer, at_byte / kBlock), offset,
          std::min(rest, (kBlock - offset) / element_)};
}

}  // namespace twinmmu
