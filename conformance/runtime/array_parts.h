// What arrays are made of, and what there is to be made.

#ifndef TWINMMU_CONFORMANCE_RUNTIME_ARRAY_PARTS_H_
#define TWINMMU_CONFORMANCE_RUNTIME_ARRAY_PARTS_H_

#include <algorithm>
#include <map>
#include <string>

#include "conformance/runtime/memory_parts.h"

namespace random_runtime {

struct ArrayShape {
  cudaChannelFormatDesc channels = {};
  cudaExtent extent = {};
  unsigned flags = 0;

  size_t element() const {
    return static_cast<size_t>(channels.x + channels.y + channels.z + channels.w) / 8;
  }
  size_t row() const { return extent.width * element(); }
  size_t rows() const { return std::max<size_t>(extent.height, 1); }
  size_t layers() const { return std::max<size_t>(extent.depth, 1); }
  size_t bytes() const { return row() * rows() * layers(); }
};

// By the names of arrays and mipmapped arrays. A program has its own process.
inline std::map<std::string, ArrayShape> array_shapes;

inline std::string ChannelWords(const cudaChannelFormatDesc& channels) {
  std::ostringstream out;
  out << channels.x << ',' << channels.y << ',' << channels.z << ',' << channels.w << " of "
      << int(channels.f);
  return out.str();
}

inline std::string ExtentWords(const cudaExtent& extent) {
  std::ostringstream out;
  out << extent.width << 'x' << extent.height << 'x' << extent.depth;
  return out.str();
}

inline cudaChannelFormatDesc AnyChannels(RuntimeWorld& world) {
  constexpr auto kSigned = cudaChannelFormatKindSigned;
  constexpr auto kUnsigned = cudaChannelFormatKindUnsigned;
  constexpr auto kFloat = cudaChannelFormatKindFloat;
  if (world.OneIn(10)) {
    return world.Of<cudaChannelFormatDesc>({{32, 8, 0, 0, kFloat},
                                            {32, 32, 32, 0, kFloat},
                                            {0, 0, 0, 0, cudaChannelFormatKindNone},
                                            {1, 2, 3, 4, kFloat},
                                            {8, 0, 0, 0, kFloat}});
  }
  return world.Of<cudaChannelFormatDesc>({{8, 0, 0, 0, kUnsigned},
                                          {8, 8, 0, 0, kUnsigned},
                                          {8, 8, 8, 8, kUnsigned},
                                          {8, 8, 8, 8, kSigned},
                                          {16, 0, 0, 0, kSigned},
                                          {16, 16, 16, 16, kUnsigned},
                                          {16, 16, 0, 0, kFloat},
                                          {32, 0, 0, 0, kUnsigned},
                                          {32, 32, 0, 0, kSigned},
                                          {32, 0, 0, 0, kFloat},
                                          {32, 0, 0, 0, kFloat},
                                          {32, 32, 32, 32, kFloat}});
}

}  // namespace random_runtime

#endif  // TWINMMU_CONFORMANCE_RUNTIME_ARRAY_PARTS_H_
