// Arrays and mipmapped arrays: which there are, and what they say of themselves.

#include <algorithm>

#include "conformance/runtime/array_parts.h"
#include "conformance/runtime/runtime_world.h"

namespace random_runtime {
namespace {

constexpr unsigned kLayered = cudaArrayLayered;
constexpr unsigned kSurface = cudaArraySurfaceLoadStore;
constexpr unsigned kCube = cudaArrayCubemap;
constexpr unsigned kGather = cudaArrayTextureGather;
constexpr size_t kMostBytes = 1 << 20;

struct Asked {
  cudaExtent extent;
  unsigned flags;
};

Asked AnyShape(RuntimeWorld& world) {
  const size_t x = 1 + world.Below(100);
  const size_t y = 1 + world.Below(40);
  const size_t z = 1 + world.Below(8);
  if (world.OneIn(4)) {
    return world.Of<Asked>({{{0, 0, 0}, 0},
                            {{8, 0, 8}, 0},
                            {{0, 8, 0}, 0},
                            {{8, 8, 0}, kLayered},
                            {{8, 4, 6}, kCube},
                            {{8, 8, 5}, kCube},
                            {{8, 8, 12}, kCube},
                            {{8, 8, 7}, kCube | kLayered},
                            {{8, 8, 8}, kGather},
                            {{8, 0, 0}, kGather},
                            {{131073, 0, 0}, 0},
                            {{8, 65537, 0}, 0},
                            {{16385, 16, 16}, 0},
                            {{8, 8, 2049}, kLayered},
                            {{32769, 8, 0}, kGather},
                            {{32769, 0, 0}, kSurface},
                            {{8, 0, 0}, kLayered},
                            {{8, 8, 0}, kCube}});
  }
  return world.Of<Asked>({{{x, 0, 0}, 0},
                          {{x, 0, 0}, kSurface},
                          {{x, y, 0}, 0},
                          {{x, y, 0}, 0},
                          {{x, y, 0}, kSurface},
                          {{x, y, 0}, kGather},
                          {{x, y, z}, 0},
                          {{x, y, z}, kSurface},
                          {{x, 0, z}, kLayered},
                          {{x, y, z}, kLayered},
                          {{x, y, z}, kLayered | kSurface},
                          {{y, y, 6}, kCube},
                          {{z, z, 12}, kCube | kLayered}});
}

// What an array holds before somebody writes it is nobody's business.
void FillWholly(RuntimeWorld& world, cudaArray_t array, const ArrayShape& shape) {
  std::vector<unsigned char> bytes(shape.bytes());
  uint64_t state = world.Below(1 << 20) + 1;
  for (unsigned char& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<unsigned char>(state >> 56);
  }
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = {bytes.data(), shape.row(), shape.extent.width, shape.rows()};
  copy.dstArray = array;
  copy.extent = {shape.extent.width, shape.rows(), shape.layers()};
  copy.kind = cudaMemcpyHostToDevice;
  const cudaError_t error = cudaMemcpy3D(&copy);
  if (error != cudaSuccess) world.Gave("filled", int(error));
}

void Create(RuntimeWorld& world) {
  if (world.arrays.size() >= 7) return;
  ArrayShape shape;
  shape.channels = AnyChannels(world);
  const Asked asked = AnyShape(world);
  shape.extent = asked.extent;
  shape.flags = asked.flags;
  cudaArray_t array = nullptr;
  const size_t wrong = world.OneIn(15) ? world.Below(2) : 2;
  const cudaChannelFormatDesc* const channels = wrong == 1 ? nullptr : &shape.channels;
  bool made = false;
  if (shape.extent.depth == 0 && world.OneIn(2)) {
    made = world.Say(cudaMallocArray(wrong == 0 ? nullptr : &array, channels, shape.extent.width,
                                     shape.extent.height, shape.flags),
                     "cudaMallocArray", ChannelWords(shape.channels), ExtentWords(shape.extent),
                     shape.flags, wrong);
  } else {
    made = world.Say(
        cudaMalloc3DArray(wrong == 0 ? nullptr : &array, channels, shape.extent, shape.flags),
        "cudaMalloc3DArray", ChannelWords(shape.channels), ExtentWords(shape.extent), shape.flags,
        wrong);
  }
  if (!made) return;
  if (array == nullptr) return world.Gave("nothing");
  if (shape.bytes() > kMostBytes || shape.bytes() == 0) {
    cudaFreeArray(array);
    return;
  }
  const std::string name = world.arrays.Add(array);
  world.Gave(name);
  array_shapes[name] = shape;
  FillWholly(world, array, shape);
}

bool IsInUse(const RuntimeWorld& world, const std::string& name) {
  for (size_t i = 0; i < world.textures.size(); ++i) {
    if (world.textures[i].kind == name) return true;
  }
  for (size_t i = 0; i < world.surfaces.size(); ++i) {
    if (world.surfaces[i].kind == name) return true;
  }
  return false;
}

void Free(RuntimeWorld& world) {
  if (world.OneIn(8)) {
    if (world.OneIn(2)) {
      world.Say(cudaFreeArray(nullptr), "cudaFreeArray", "null");
    } else {
      world.Say(cudaFreeMipmappedArray(nullptr), "cudaFreeMipmappedArray", "null");
    }
  } else if (!world.arrays.empty() && world.OneIn(2)) {
    const Object<cudaArray_t> array = world.One(world.arrays);
    if (array.kind == "kept" || IsInUse(world, array.name)) return;
    if (world.Say(cudaFreeArray(array.handle), "cudaFreeArray", array.name)) {
      world.arrays.Remove(array.name);
    }
  } else if (!world.mipmaps.empty()) {
    const Object<cudaMipmappedArray_t> mipmap = world.One(world.mipmaps);
    if (IsInUse(world, mipmap.name)) return;
    if (world.Say(cudaFreeMipmappedArray(mipmap.handle), "cudaFreeMipmappedArray", mipmap.name)) {
      world.mipmaps.Remove(mipmap.name);
    }
  }
}

void GaveInfo(RuntimeWorld& world, cudaArray_t array) {
  cudaChannelFormatDesc channels = {};
  cudaExtent extent = {};
  unsigned flags = 77;
  const cudaError_t error = cudaArrayGetInfo(&channels, &extent, &flags, array);
  world.Gave(int(error), ChannelWords(channels), ExtentWords(extent), flags);
}

void Ask(RuntimeWorld& world) {
  const bool none = world.arrays.empty() || world.OneIn(12);
  const Object<cudaArray_t> array = none ? Object<cudaArray_t>{"none"} : world.One(world.arrays);
  cudaChannelFormatDesc channels = {};
  cudaExtent extent = {};
  unsigned flags = 77;
  cudaArray_t plane = nullptr;
  cudaArraySparseProperties sparse = {};
  const size_t wanted = world.Below(8);
  switch (world.Below(7)) {
    case 0:
    case 1:
      if (world.Say(
              cudaArrayGetInfo(wanted & 1 ? &channels : nullptr, wanted & 2 ? &extent : nullptr,
                               wanted & 4 ? &flags : nullptr, array.handle),
              "cudaArrayGetInfo", array.name, wanted)) {
        world.Gave(ChannelWords(channels), ExtentWords(extent), flags);
      }
      return;
    case 2:
    case 3:
      if (world.Say(cudaGetChannelDesc(wanted == 0 ? nullptr : &channels, array.handle),
                    "cudaGetChannelDesc", array.name, wanted == 0)) {
        world.Gave(ChannelWords(channels));
      }
      return;
    case 4:
      world.Say(cudaArrayGetPlane(&plane, array.handle, 0), "cudaArrayGetPlane", array.name);
      return;
    default:
      if (none) return;
      world.Say(cudaArrayGetSparseProperties(&sparse, array.handle), "cudaArrayGetSparseProperties",
                array.name);
  }
}

ArrayShape LevelOf(const ArrayShape& whole, unsigned level) {
  ArrayShape shape = whole;
  const auto half = [&](size_t size) { return size == 0 ? 0 : std::max<size_t>(size >> level, 1); };
  shape.extent.width = half(shape.extent.width);
  shape.extent.height = half(shape.extent.height);
  if ((shape.flags & (kLayered | kCube)) == 0) shape.extent.depth = half(shape.extent.depth);
  return shape;
}

void CreateMipmap(RuntimeWorld& world) {
  if (world.mipmaps.size() >= 4) return;
  ArrayShape shape;
  shape.channels = AnyChannels(world);
  const Asked asked = AnyShape(world);
  shape.extent = asked.extent;
  shape.flags = asked.flags;
  if (shape.bytes() > kMostBytes / 2) return;
  const unsigned levels = world.Of({1u, 2u, 3u, 5u, 0u, 100u});
  cudaMipmappedArray_t mipmap = nullptr;
  if (!world.Say(
          cudaMallocMipmappedArray(&mipmap, &shape.channels, shape.extent, levels, shape.flags),
          "cudaMallocMipmappedArray", ChannelWords(shape.channels), ExtentWords(shape.extent),
          levels, shape.flags)) {
    return;
  }
  const std::string name = world.mipmaps.Add(mipmap);
  world.Gave(name);
  array_shapes[name] = shape;
  const unsigned asked_for = std::max(levels, 1u);
  for (unsigned level = 0; level < asked_for; ++level) {
    cudaArray_t array = nullptr;
    if (cudaGetMipmappedArrayLevel(&array, mipmap, level) != cudaSuccess) break;
    FillWholly(world, array, LevelOf(shape, level));
  }
}

void AskMipmap(RuntimeWorld& world) {
  cudaArray_t array = nullptr;
  if (world.mipmaps.empty() && !world.OneIn(8)) return CreateMipmap(world);
  if (world.mipmaps.empty() || world.OneIn(12)) {
    world.Say(cudaGetMipmappedArrayLevel(&array, nullptr, 0), "cudaGetMipmappedArrayLevel", "none");
    return;
  }
  const Object<cudaMipmappedArray_t> mipmap = world.One(world.mipmaps);
  const unsigned level = world.Of({0u, 0u, 1u, 2u, 4u, 9u});
  const bool is_wrong = world.OneIn(12);
  if (!world.Say(cudaGetMipmappedArrayLevel(is_wrong ? nullptr : &array, mipmap.handle, level),
                 "cudaGetMipmappedArrayLevel", mipmap.name, level, is_wrong)) {
    return;
  }
  GaveInfo(world, array);
  const ArrayShape shape = LevelOf(array_shapes[mipmap.name], level);
  std::vector<unsigned char> bytes(shape.bytes());
  cudaMemcpy3DParms copy = {};
  copy.srcArray = array;
  copy.dstPtr = {bytes.data(), shape.row(), shape.extent.width, shape.rows()};
  copy.extent = {shape.extent.width, shape.rows(), shape.layers()};
  copy.kind = cudaMemcpyDeviceToHost;
  if (world.Say(cudaMemcpy3D(&copy), "cudaMemcpy3D", "all", mipmap.name, level)) {
    world.Gave(HashOf(bytes.data(), bytes.size()));
  }
}

}  // namespace

Steps ArrayMemorySteps() {
  return {{14, Create}, {4, Free}, {8, Ask}, {5, CreateMipmap}, {8, AskMipmap}};
}

}  // namespace random_runtime
