// What texture and surface objects are made of: arrays, mipmapped arrays, linear and pitched
// memory.

#include <sstream>

#include "conformance/abi/random/arrays/array_world.h"

namespace twinmmu::abi {
namespace {

void ShowMemory(ProgramWorld& world, Shown* shown) {
  const RandomBlock& block = world.OneBlock();
  const size_t offset = world.Of<size_t>({0, 0, 0, 0, 0, 0, 0, 512, 512, 512, 256, 4});
  const auto format = static_cast<CUarray_format>(world.Of({1, 2, 3, 8, 0x10, 0x20, 0x20}));
  const unsigned channels = world.Of({1u, 1u, 2u, 4u, 4u, 1u, 3u});
  CUDA_RESOURCE_DESC& resource = shown->resource;
  shown->name = block.name;
  shown->words = block.name + "+" + std::to_string(offset);
  if (world.OneIn(2)) {
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = world.OneIn(12) ? 0 : block.base + offset;
    resource.res.linear.format = format;
    resource.res.linear.numChannels = channels;
    resource.res.linear.sizeInBytes =
        world.Of<size_t>({0, 1, 16, 1024, 1 << 20, size_t{1} << 31, size_t{1} << 33});
  } else {
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = block.base + offset;
    resource.res.pitch2D.format = format;
    resource.res.pitch2D.numChannels = channels;
    resource.res.pitch2D.width = world.Of<size_t>({1, 16, 100, 33, 1 << 17, 1 << 18});
    resource.res.pitch2D.height = world.Of<size_t>({1, 16, 33, 65000, 65001});
    resource.res.pitch2D.pitchInBytes =
        world.Of<size_t>({64, 512, 32, 1600, 96, 4096, 80, 2097152});
  }
  if (resource.res.linear.devPtr == 0) shown->words = "0";
}

// The name of an array that has the flag, if there is one soon.
const RandomObject<CUarray>& AnyArrayWith(ProgramWorld& world, unsigned flag) {
  for (int tries = 0; tries < 4; ++tries) {
    const auto& array = world.One(world.arrays);
    if ((world.shapes[array.name].Flags & flag) == flag) return array;
  }
  return world.One(world.arrays);
}

}  // namespace

std::string ResourceWords(const CUDA_RESOURCE_DESC& resource) {
  std::ostringstream out;
  out << "type " << int(resource.resType) << ' ';
  const auto& linear = resource.res.linear;
  const auto& rows = resource.res.pitch2D;
  if (resource.resType == CU_RESOURCE_TYPE_LINEAR) {
    out << int(linear.format) << ' ' << linear.numChannels << ' ' << linear.sizeInBytes << ' ';
  } else if (resource.resType == CU_RESOURCE_TYPE_PITCH2D) {
    out << int(rows.format) << ' ' << rows.numChannels << ' ' << rows.width << ' ' << rows.height
        << ' ' << rows.pitchInBytes << ' ';
  }
  out << "flags " << resource.flags;
  return out.str();
}

Shown AnyResource(ProgramWorld& world, unsigned flag) {
  Shown shown;
  CUDA_RESOURCE_DESC& resource = shown.resource;
  const size_t which = world.Below(flag == 0 ? 20 : 8);
  if (which < 7 && !world.arrays.empty()) {
    const auto& array = AnyArrayWith(world, flag);
    shown.name = array.name;
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array.handle;
  } else if (which < (flag == 0 ? 11 : 7) && !world.mipmaps.empty()) {
    const auto& mipmap = world.One(world.mipmaps);
    shown.name = mipmap.name;
    resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    resource.res.mipmap.hMipmappedArray = mipmap.handle;
  } else if (which < 19 && !world.blocks.empty()) {
    ShowMemory(world, &shown);
    return shown;
  } else {
    if (!world.OneIn(8)) return shown;
    shown.words = "none";
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    return shown;
  }
  shown.words = shown.name;
  shown.shape = world.shapes[shown.name];
  shown.has_view = true;
  if (world.OneIn(25)) resource.flags = 1;
  if (world.OneIn(25)) resource.resType = static_cast<CUresourcetype>(4);
  return shown;
}

}  // namespace twinmmu::abi
