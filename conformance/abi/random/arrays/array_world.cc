#include "conformance/abi/random/arrays/array_world.h"

#include <algorithm>
#include <sstream>

namespace twinmmu::abi {
namespace {

constexpr unsigned kLayered = CUDA_ARRAY3D_LAYERED;
constexpr unsigned kSurface = CUDA_ARRAY3D_SURFACE_LDST;
constexpr unsigned kCube = CUDA_ARRAY3D_CUBEMAP;
constexpr unsigned kGather = CUDA_ARRAY3D_TEXTURE_GATHER;
constexpr size_t kMostBytes = 1 << 20;
constexpr unsigned char kUntouched = 0x5a;

struct Shape {
  size_t width;
  size_t height;
  size_t depth;
  unsigned flags;
};

Shape AnyShape(ProgramWorld& world) {
  const size_t x = 1 + world.Below(100);
  const size_t y = 1 + world.Below(40);
  const size_t z = 1 + world.Below(8);
  if (world.OneIn(4)) {
    return world.Of<Shape>({{0, 0, 0, 0},
                            {8, 0, 8, 0},
                            {0, 8, 0, 0},
                            {8, 8, 0, kLayered},
                            {8, 4, 6, kCube},
                            {8, 8, 5, kCube},
                            {8, 8, 12, kCube},
                            {8, 8, 7, kCube | kLayered},
                            {8, 0, 6, kCube},
                            {8, 8, 8, kGather},
                            {8, 0, 0, kGather},
                            {8, 8, 4, kGather | kLayered},
                            {8, 8, 0, 0x20},
                            {131073, 0, 0, 0},
                            {8, 65537, 0, 0},
                            {16385, 16, 16, 0},
                            {8, 8, 2049, kLayered},
                            {32769, 8, 0, kGather},
                            {32769, 0, 0, kSurface},
                            {x, y, 0, 0x10},
                            {8, 8, 2052, kCube | kLayered},
                            {8, 0, 0, kLayered},
                            {x, y, z, 0x10},
                            {8, 8, 0, kCube}});
  }
  return world.Of<Shape>({{x, 0, 0, 0},
                          {x * 8, 0, 0, 0},
                          {x, 0, 0, kSurface},
                          {x, y, 0, 0},
                          {x, y, 0, kSurface},
                          {x, y, 0, kGather},
                          {x, y, 0, kGather | kSurface},
                          {x, y, z, 0},
                          {x, y, z, kSurface},
                          {x, 0, z, kLayered},
                          {x, y, z, kLayered},
                          {x, y, z, kLayered | kSurface},
                          {y, y, 6, kCube},
                          {y, y, 6, kCube | kSurface},
                          {z, z, 12, kCube | kLayered},
                          {32769, 8, 0, kSurface}});
}

}  // namespace

unsigned char host_from[kHostBytes];
unsigned char host_to[kHostBytes];

CUDA_ARRAY3D_DESCRIPTOR AnyDescriptor(ProgramWorld& world, std::string* words) {
  const Shape shape = AnyShape(world);
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = shape.width;
  descriptor.Height = shape.height;
  descriptor.Depth = shape.depth;
  descriptor.Flags = shape.flags;
  int format = world.Of({1, 2, 3, 8, 9, 0xa, 0x10, 0x20, 0x20});
  descriptor.NumChannels = world.Of({1u, 1u, 2u, 4u});
  const size_t elements =
      shape.width * std::max<size_t>(shape.height, 1) * std::max<size_t>(shape.depth, 1);
  if (elements > kMostBytes / 16) {
    format = 1;
    descriptor.NumChannels = 1;
  } else if (world.OneIn(12)) {
    format = world.Of({0, 4, 0x21});
  } else if (world.OneIn(12)) {
    descriptor.NumChannels = world.Of({0u, 3u, 5u, 8u});
  }
  descriptor.Format = static_cast<CUarray_format>(format);
  std::ostringstream text;
  text << shape.width << ' ' << shape.height << ' ' << shape.depth << ' ' << format << ' '
       << descriptor.NumChannels << ' ' << shape.flags;
  *words = text.str();
  return descriptor;
}

RandomArray SizeOf(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned level) {
  const auto at_level = [&](size_t size) { return std::max<size_t>(size >> level, 1); };
  const bool layered = (descriptor.Flags & (kLayered | kCube)) != 0;
  const int format = descriptor.Format;
  RandomArray array;
  array.element = (format == 1 || format == 8                       ? 1
                   : format == 3 || format == 0xa || format == 0x20 ? 4
                                                                    : 2) *
                  size_t{descriptor.NumChannels};
  array.row = at_level(descriptor.Width) * array.element;
  array.rows = at_level(descriptor.Height);
  array.layers = layered ? std::max<size_t>(descriptor.Depth, 1) : at_level(descriptor.Depth);
  array.has_rows = descriptor.Height != 0 || descriptor.Depth != 0;
  return array;
}

RandomArray AnyArray(ProgramWorld& world) {
  const bool of_mipmap = !world.mipmaps.empty() && (world.arrays.empty() || world.OneIn(4));
  if (!of_mipmap) {
    if (world.arrays.empty()) return {};
    const auto& of = world.One(world.arrays);
    RandomArray array = SizeOf(world.shapes[of.name]);
    array.name = of.name;
    array.handle = of.handle;
    return array;
  }
  const auto& of = world.One(world.mipmaps);
  const unsigned levels = static_cast<unsigned>(std::stoul(of.kind));
  if (levels == 0) return {};
  const unsigned level = static_cast<unsigned>(world.Below(levels));
  RandomArray array = SizeOf(world.shapes[of.name], level);
  array.name = of.name + "." + std::to_string(level);
  cuMipmappedArrayGetLevel(&array.handle, of.handle, level);
  return array;
}

std::vector<unsigned char> AnyBytes(ProgramWorld& world, size_t size) {
  std::vector<unsigned char> bytes(size);
  uint64_t state = world.Below(size_t{1} << 32) * 2 + 1;
  for (unsigned char& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<unsigned char>(state >> 56);
  }
  return bytes;
}

void FillHost(ProgramWorld& world, size_t size) {
  const auto bytes = AnyBytes(world, std::min(size, kHostBytes));
  std::copy(bytes.begin(), bytes.end(), host_from);
  std::fill_n(host_to, std::min(size + 64, kHostBytes), kUntouched);
}

}  // namespace twinmmu::abi
