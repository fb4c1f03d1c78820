#include "sim/ptx/tensors/tensor_box.h"

#include <algorithm>
#include <cstring>

namespace twinmmu::ptx {
namespace {

// What a swizzle moves, whole.
constexpr uint32_t kPiece = 16;

// Where what is written at an address in shared memory goes instead.
uint64_t Swizzled(TensorSwizzle swizzle, uint64_t address) {
  const uint64_t row = address >> 7;
  switch (swizzle) {
    case TensorSwizzle::kNone:
      return address;
    case TensorSwizzle::k32:
      return address ^ (row & 1) << 4;
    case TensorSwizzle::k64:
      return address ^ (row & 3) << 4;
    case TensorSwizzle::k128:
      return address ^ (row & 7) << 4;
    case TensorSwizzle::k128By32:
      return address ^ (row & 3) << 5;
    case TensorSwizzle::k128By32Flipped:
      return address ^ (row & 3) << 5 ^ (row & 1) << 3;
    case TensorSwizzle::k128By64:
      return address ^ (row & 1) << 6;
  }
  return address;
}

// Takes the rows of a box one after the other.
class BoxWriter {
 public:
  BoxWriter(const TensorMap& map, const TensorPlace& place, bool loads, TensorBox* box)
      : map_(map), place_(place), loads_(loads), box_(*box) {}

  // `count` elements from `first` of the innermost dimension on; `row`: the address of its element
  // 0, if `inside`.
  void AddRow(uint64_t row, bool inside, int64_t first, uint32_t count) {
    const int64_t size = SizeOf(map_.element);
    const int64_t end = first + count;
    const int64_t length = inside ? static_cast<int64_t>(map_.dims[0]) : 0;
    const int64_t from = std::clamp<int64_t>(0, first, end);
    const int64_t to = std::clamp<int64_t>(length, from, end);
    Add(0, false, static_cast<uint32_t>((from - first) * size));
    Add(row + static_cast<uint64_t>(from * size), true, static_cast<uint32_t>((to - from) * size));
    Add(0, false, static_cast<uint32_t>((end - to) * size));
  }

 private:
  void Add(uint64_t global, bool inside, uint32_t size) {
    while (size != 0) {
      const uint64_t address = place_.shared + at_;
      const uint64_t to = Swizzled(map_.swizzle, address);
      uint32_t part = size;
      if (map_.swizzle != TensorSwizzle::kNone) {
        const uint32_t piece = map_.swizzle == TensorSwizzle::k128By32Flipped ? kPiece / 2 : kPiece;
        part = std::min(part, piece - static_cast<uint32_t>(address % piece));
      }
      if (inside || loads_) {
        box_.runs.push_back(
            {global, static_cast<uint32_t>(to - place_.shared), part, inside, box_.size});
        box_.size += part;
        box_.extent = std::max(box_.extent, to - place_.shared + part);
        if (!inside) longest_ = std::max(longest_, part);
      }
      if (inside) global += part;
      at_ += part;
      size -= part;
    }
  }

  const TensorMap& map_;
  const TensorPlace& place_;
  const bool loads_;
  TensorBox& box_;
  uint32_t at_ = 0;  // from the begin of the box in shared memory

 public:
  uint32_t longest_ = 0;
};

// Row by row; the innermost of the other dimensions goes first.
void AddTile(const TensorMap& map, const TensorPlace& place, BoxWriter* writer) {
  std::array<uint32_t, TensorMap::kMostRank> index = {};
  for (;;) {
    uint64_t row = map.address;
    bool inside = true;
    for (uint32_t i = 1; i < map.rank; ++i) {
      const int64_t at = int64_t{place.coordinates[i]} + int64_t{index[i]};
      inside = inside && at >= 0 && static_cast<uint64_t>(at) < map.dims[i];
      row += static_cast<uint64_t>(at) * map.strides[i - 1];
    }
    writer->AddRow(row, inside, place.coordinates[0], map.box[0]);
    uint32_t i = 1;
    for (; i < map.rank; ++i) {
      index[i] += map.steps[i];
      if (index[i] < map.box[i]) break;
      index[i] = 0;
    }
    if (i >= map.rank) return;
  }
}

// Pixel by pixel, the innermost dimension first, from the corner of the bounding box on again when
// a dimension is through.
void AddColumn(const TensorMap& map, const TensorPlace& place, BoxWriter* writer) {
  const uint32_t pixel_dims = map.rank - 2;
  std::array<int64_t, TensorMap::kMostRank> pixel = {};
  for (uint32_t i = 1; i < map.rank; ++i) pixel[i] = place.coordinates[i];
  for (uint32_t count = 0; count < map.pixels; ++count) {
    uint64_t row = map.address;
    bool inside = true;
    for (uint32_t i = 1; i < map.rank; ++i) {
      const int64_t at = pixel[i] + (i <= pixel_dims ? place.offsets[i - 1] : 0);
      inside = inside && at >= 0 && static_cast<uint64_t>(at) < map.dims[i];
      row += static_cast<uint64_t>(at) * map.strides[i - 1];
    }
    writer->AddRow(row, inside, place.coordinates[0], map.channels);
    for (uint32_t i = 1; i < map.rank; ++i) {
      pixel[i] += map.steps[i];
      if (i > pixel_dims) break;
      if (pixel[i] < static_cast<int64_t>(map.dims[i]) + map.upper[i - 1]) break;
      pixel[i] = map.lower[i - 1];
    }
  }
}

// The elements of a run that is filled.
std::vector<char> FillOf(const TensorMap& map, uint32_t size) {
  std::vector<char> fill(size);
  if (!map.fills_with_nan) return fill;
  return fill;
}

}  // namespace

const TensorRun& TensorBox::RunAt(uint64_t at) const {
  const auto behind =
      std::upper_bound(runs.begin(), runs.end(), at,
                       [](uint64_t place, const TensorRun& run) { return place < run.begin; });
  return behind[-1];
}

TensorBox BoxOf(const TensorMap& map, const TensorPlace& place, bool loads) {
  TensorBox box;
  BoxWriter writer(map, place, loads, &box);
  if (map.im2col) {
    AddColumn(map, place, &writer);
  } else {
    AddTile(map, place, &writer);
  }
  box.fill = FillOf(map, writer.longest_);
  return box;
}

}  // namespace twinmmu::ptx
