#include "sim/ptx/tensors/tensor_box.h"

#include <algorithm>
#include <cstddef>

namespace twinmmu::ptx {
namespace {

// What a swizzle moves, whole; and what a row of a box begins at, in global memory.
constexpr uint32_t kPiece = 16;

// Where the byte goes that belongs at an address of shared memory.
uint64_t Swizzled(TensorSwizzle swizzle, uint64_t address) {
  const uint64_t pieces = SpanOf(swizzle) / kPiece;
  return pieces == 0 ? address : address ^ ((address >> 7) & (pieces - 1)) << 4;
}

// Takes the rows of a box one after the other.
class BoxWriter {
 public:
  BoxWriter(const TensorMap& map, const TensorPlace& place, bool loads, TensorBox* box)
      : map_(map), place_(place), loads_(loads), box_(*box) {}

  // `row`: the address of element 0 of the row, if `inside`.
  void AddRow(uint64_t row, bool inside) {
    const int64_t size = SizeOf(map_.element);
    const int64_t first = place_.coordinates[0];
    const int64_t end = first + map_.box[0];
    int64_t length = inside ? static_cast<int64_t>(map_.dims[0]) : 0;
    // A store writes the last piece as a whole, though the tensor may end in it.
    const int64_t piece = kPiece / size;
    if (!loads_) length = (length + piece - 1) / piece * piece;
    const int64_t from = std::clamp<int64_t>(0, first, end);
    const int64_t to = std::clamp<int64_t>(length, from, end);
    const uint64_t begin = at_;
    Add(0, false, static_cast<uint32_t>((from - first) * size));
    Add(row + static_cast<uint64_t>(from * size), true, static_cast<uint32_t>((to - from) * size));
    Add(0, false, static_cast<uint32_t>((end - to) * size));
    // With a swizzle, a row takes all that this goes over.
    if (map_.swizzle != TensorSwizzle::kNone) at_ = begin + SpanOf(map_.swizzle);
  }

  void AddPixel(uint64_t pixel, bool inside) { Add(pixel, inside, map_.pixel_size()); }

  uint32_t longest_outside() const { return longest_outside_; }

 private:
  void Add(uint64_t global, bool inside, uint32_t size) {
    while (size != 0) {
      const uint64_t address = place_.shared + at_;
      const uint64_t to = Swizzled(map_.swizzle, address);
      uint32_t part = size;
      if (map_.swizzle != TensorSwizzle::kNone) {
        part = std::min(part, kPiece - static_cast<uint32_t>(address % kPiece));
      }
      if (inside || loads_) {
        const auto shared = static_cast<uint32_t>(to - place_.shared);
        box_.runs.push_back({global, shared, part, inside, box_.size});
        box_.size += part;
        box_.extent = std::max<uint64_t>(box_.extent, shared + part);
        if (!inside) longest_outside_ = std::max(longest_outside_, part);
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
  uint64_t at_ = 0;  // in shared memory, from the begin of the box
  uint32_t longest_outside_ = 0;
};

using Index = std::array<int64_t, TensorMap::kMostRank>;

// The row at what `index` has behind its first dimension, or the pixel of an interleaved map.
void AddAt(const TensorMap& map, const Index& index, BoxWriter* writer) {
  uint64_t at = map.address;
  bool inside = true;
  for (size_t i = map.first_strided(); i < map.rank; ++i) {
    inside = inside && index[i] >= 0 && static_cast<uint64_t>(index[i]) < map.dims[i];
    at += static_cast<uint64_t>(index[i]) * (i == 0 ? map.pixel_size() : map.strides[i - 1]);
  }
  map.is_interleaved() ? writer->AddPixel(at, inside) : writer->AddRow(at, inside);
}

void AddTile(const TensorMap& map, const TensorPlace& place, BoxWriter* writer) {
  std::array<uint32_t, TensorMap::kMostRank> done = {};
  for (;;) {
    Index index = {};
    for (size_t i = 0; i < map.rank; ++i) {
      index[i] = int64_t{place.coordinates[i]} + int64_t{done[i]} * map.steps[i];
    }
    AddAt(map, index, writer);
    size_t i = map.first_strided();
    for (; i < map.rank && ++done[i] == map.CountOf(i); ++i) done[i] = 0;
    if (i >= map.rank) return;
  }
}

// Offsets have as many bits as a corner.
uint32_t OffsetMask(uint32_t rank) { return rank == 3 ? 0xffff : rank == 4 ? 0xff : 0x1f; }

// Pixel by pixel, the innermost dimension first; at the end of one from its corner on.
void AddColumn(const TensorMap& map, const TensorPlace& place, BoxWriter* writer) {
  const size_t image = map.rank - 1;
  const size_t first = map.first_strided();
  const size_t end = first + map.rank - 2;
  Index pixel = {};
  for (size_t i = 0; i < map.rank; ++i) pixel[i] = place.coordinates[i];
  for (uint32_t count = 0; count < map.pixels; ++count) {
    Index index = pixel;
    for (size_t i = first; i < end; ++i) {
      index[i] += place.offsets[i - first] & OffsetMask(map.rank);
    }
    AddAt(map, index, writer);
    size_t i = first;
    for (; i < end; ++i) {
      pixel[i] += map.steps[i];
      if (pixel[i] < static_cast<int64_t>(map.dims[i]) + map.upper[i - first]) break;
      pixel[i] = map.lower[i - first];
    }
    if (i == end) pixel[image] += map.steps[image];
  }
}

}  // namespace

const TensorRun& TensorBox::RunAt(uint64_t at) const {
  const auto behind =
      std::upper_bound(runs.begin(), runs.end(), at,
                       [](uint64_t place, const TensorRun& run) { return place < run.begin; });
  return behind[-1];
}

const char* WhyNoBox(const TensorMap& map, const TensorPlace& place, bool loads) {
  constexpr uint64_t kMostShared = 228 * 1024;
  const size_t first = map.first_strided();
  if (map.is_interleaved() && map.rank < 3) return "its interleaved map is of less than rank 3";
  uint64_t bytes = map.is_interleaved()
                       ? map.pixel_size()
                       : std::max(map.box[0] * SizeOf(map.element), SpanOf(map.swizzle));
  if (map.im2col) bytes *= map.pixels;
  for (size_t i = first; !map.im2col && i < map.rank; ++i) bytes *= map.CountOf(i);
  if (bytes > kMostShared) return "its box is larger than shared memory";
  // Kernels make maps, too.
  if (map.address % kPiece != 0) return "its tensor begins at no multiple of 16 bytes";
  if (!map.is_interleaved() && int64_t{place.coordinates[0]} * SizeOf(map.element) % kPiece != 0) {
    return "its first coordinate is no multiple of 16 bytes";
  }
  for (size_t i = 0; !loads && i < map.rank; ++i) {
    if (place.coordinates[i] < 0) return "a store begins in front of the tensor";
  }
  for (size_t i = 0; map.im2col && i + 2 < map.rank; ++i) {
    const int64_t at = place.coordinates[first + i];
    const auto size = static_cast<int64_t>(map.dims[first + i]);
    const bool outside = map.lower[i] < 0 || map.upper[i] > 0;
    if (!loads && outside) return "a store has no pixels in front of the tensor or behind it";
    if (at < map.lower[i] || at >= size + map.upper[i]) {
      return "its first pixel is outside the box of pixels";
    }
  }
  return nullptr;
}

TensorBox BoxOf(const TensorMap& map, const TensorPlace& place, bool loads) {
  TensorBox box;
  BoxWriter writer(map, place, loads, &box);
  if (map.im2col) {
    AddColumn(map, place, &writer);
  } else {
    AddTile(map, place, &writer);
  }
  // A NaN, whatever the size of the elements.
  constexpr char kNan[] = {'\xf7', '\x7f'};
  box.fill.resize(writer.longest_outside());
  for (size_t i = 0; map.fills_with_nan && i < box.fill.size(); ++i) box.fill[i] = kNan[i % 2];
  return box;
}

}  // namespace twinmmu::ptx
