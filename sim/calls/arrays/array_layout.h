// ArrayLayout: where the elements of an array lie: in tiles of 64 KiB, and in mip tails.

#ifndef TWINMMU_SIM_CALLS_ARRAYS_ARRAY_LAYOUT_H_
#define TWINMMU_SIM_CALLS_ARRAYS_ARRAY_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "api/sparse_arrays.h"

namespace twinmmu {

// Whether `extent` from `offset` on, of whatever is counted, lies within `size`.
inline bool IsInside(uint64_t offset, uint64_t extent, uint64_t size) {
  return offset <= size && extent <= size - offset;
}

// CUDA_ARRAY3D_CUBEMAP, a bit of ArrayDescriptor::flags: z counts faces, which are layers.
inline constexpr uint32_t kArrayCubemap = 0x04;

// All numbers follow from the descriptor and the number of levels. Memory is counted in blocks of
// 64 KiB: those of the tiles, layer by layer and level by level, then those of the mip tails.
// Inside a tile rows follow each other, which on a device they do not; only the tile's shape is the
// device's.
class ArrayLayout {
 public:
  static constexpr uint64_t kBlock = uint64_t{64} << 10;

  struct Level {
    ArrayExtent extent;       // in elements, each at least 1; without layers
    ArrayExtent tiles;        // how many of them
    uint64_t first_tile = 0;  // of the level, in its layer
    uint64_t tail_offset = 0;
    ArrayExtent tail;  // what it takes in a mip tail: bytes of a row, rows, slices
  };
  // Elements that lie side by side.
  struct Run {
    uint64_t block = 0;
    uint64_t offset = 0;    // into the block, in bytes
    uint64_t elements = 0;  // from there on, in x
  };

  ArrayLayout() = default;
  // A descriptor that is valid. `levels`: as many as there can be, if it is more; at least 1.
  ArrayLayout(const ArrayDescriptor& descriptor, uint32_t levels);

  uint64_t element() const { return element_; }
  uint64_t layers() const { return layers_; }
  bool has_depth() const { return depth_; }
  uint32_t levels() const { return static_cast<uint32_t>(levels_.size()); }
  const Level& level(uint32_t number) const { return levels_[number]; }
  const SparseProperties& properties() const { return properties_; }
  bool InTail(uint32_t level) const { return level >= first_in_tail_; }
  uint64_t tail_blocks() const { return properties_.mip_tail_size.value() / kBlock; }
  // How many mip tails there are.
  uint64_t tails() const {
    return tail_blocks() == 0 ? 0 : (properties_.single_mip_tail ? 1 : layers_);
  }
  uint64_t blocks() const { return layers_ * tiles_ + tails() * tail_blocks(); }

  // The block of a tile, which is named by its number in each dimension.
  uint64_t TileBlock(uint32_t level, uint64_t layer, const ArrayExtent& tile) const;
  uint64_t TailBlock(uint64_t tail, uint64_t number) const {
    return layers_ * tiles_ + tail * tail_blocks() + number;
  }
  // The elements from `at` on; `at` lies in the level.
  Run RunAt(uint32_t level, uint64_t layer, const ArrayExtent& at) const;

 private:
  void PlaceTail();

  uint64_t element_ = 0;
  uint64_t layers_ = 1;
  bool depth_ = false;
  uint64_t tiles_ = 0;  // of one layer
  uint64_t tail_of_layer_ = 0;
  uint32_t first_in_tail_ = 0;
  std::vector<Level> levels_;
  SparseProperties properties_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_ARRAYS_ARRAY_LAYOUT_H_
