// Arrays and mipmapped arrays: which ones there are, what they say of themselves and what they
// hold.

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/arrays/array_world.h"

namespace twinmmu::abi {
namespace {

constexpr unsigned kSurface = CUDA_ARRAY3D_SURFACE_LDST;
constexpr unsigned kGather = CUDA_ARRAY3D_TEXTURE_GATHER;
constexpr unsigned kSparse = 0x40;
constexpr size_t kMostArrays = 7;

struct SparseProperties {
  unsigned width, height, depth;  // of a tile
  unsigned first_level_of_tail;
  unsigned long long size_of_tail;
  unsigned flags;
  unsigned reserved[4];
};

inline constexpr Function<CUresult(SparseProperties*, CUarray)> properties_of(
    "cuArrayGetSparseProperties");
inline constexpr Function<CUresult(SparseProperties*, CUmipmappedArray)> properties_of_mipmap(
    "cuMipmappedArrayGetSparseProperties");

CUDA_MEMCPY3D Whole(const RandomArray& array) {
  CUDA_MEMCPY3D copy = {};
  copy.WidthInBytes = array.row;
  copy.Height = array.rows;
  copy.Depth = array.layers;
  return copy;
}

// What an array holds before somebody writes it is nobody's business.
bool FillWholly(ProgramWorld& world, CUarray handle, const RandomArray& array) {
  const auto bytes = AnyBytes(world, array.row * array.rows * array.layers);
  CUDA_MEMCPY3D copy = Whole(array);
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = bytes.data();
  copy.srcPitch = array.row;
  copy.srcHeight = array.rows;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = handle;
  const CUresult result = cuMemcpy3D(&copy);
  if (result != CUDA_SUCCESS) world.Gave("filled", int(result));
  return result == CUDA_SUCCESS;
}

void Read(ProgramWorld& world) {
  const RandomArray array = AnyArray(world);
  if (array.name.empty()) return;
  std::vector<unsigned char> bytes(array.row * array.rows * array.layers);
  CUDA_MEMCPY3D copy = Whole(array);
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = array.handle;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = bytes.data();
  copy.dstPitch = array.row;
  copy.dstHeight = array.rows;
  if (world.Say(cuMemcpy3D(&copy), "cuMemcpy3D", "all", array.name)) {
    world.Gave(HashOfBytes(bytes.data(), bytes.size()));
  }
}

void Create(ProgramWorld& world) {
  if (world.arrays.size() >= kMostArrays) return;
  std::string words;
  CUDA_ARRAY3D_DESCRIPTOR descriptor = AnyDescriptor(world, &words);
  CUarray array = nullptr;
  bool made = false;
  if (world.OneIn(3)) {
    descriptor.Depth = 0;
    descriptor.Flags = 0;
    CUDA_ARRAY_DESCRIPTOR flat = {};
    flat.Width = descriptor.Width;
    flat.Height = descriptor.Height;
    flat.Format = descriptor.Format;
    flat.NumChannels = descriptor.NumChannels;
    made = world.Say(cuArrayCreate(&array, &flat), "cuArrayCreate", flat.Width, flat.Height,
                     int(flat.Format), flat.NumChannels);
  } else {
    made = world.Say(cuArray3DCreate(&array, &descriptor), "cuArray3DCreate", words);
  }
  if (!made) return;
  const std::string name = world.arrays.Add(array);
  world.Gave(name);
  world.shapes[name] = descriptor;
  if (FillWholly(world, array, SizeOf(descriptor))) return;
  world.arrays.Remove(name);
  cuArrayDestroy(array);
}

// Not one that a texture shows: another array could come to have its handle.
bool IsShown(const ProgramWorld& world, const std::string& name) {
  const auto shows = [&](const auto& objects) {
    for (size_t i = 0; i < objects.size(); ++i) {
      if (objects[i].kind == name) return true;
    }
    return false;
  };
  return shows(world.textures) || shows(world.surfaces);
}

void Destroy(ProgramWorld& world) {
  if (world.arrays.empty() || world.OneIn(10)) {
    world.Say(cuArrayDestroy(nullptr), "cuArrayDestroy", "none");
    return;
  }
  const auto array = world.One(world.arrays);
  if (IsShown(world, array.name)) return;
  if (world.Say(cuArrayDestroy(array.handle), "cuArrayDestroy", array.name)) {
    world.arrays.Remove(array.name);
  }
}

void CreateMipmap(ProgramWorld& world) {
  if (world.mipmaps.size() >= 4) return;
  std::string words;
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = AnyDescriptor(world, &words);
  const unsigned levels = world.Of({1u, 2u, 3u, 4u, 7u, 0u, 100u});
  CUmipmappedArray mipmap = nullptr;
  if (!world.Say(cuMipmappedArrayCreate(&mipmap, &descriptor, levels), "cuMipmappedArrayCreate",
                 words, levels)) {
    return;
  }
  unsigned found = 0;
  CUarray level = nullptr;
  std::vector<CUarray> all;
  while (found < 32 && cuMipmappedArrayGetLevel(&level, mipmap, found) == CUDA_SUCCESS) {
    all.push_back(level);
    ++found;
  }
  const std::string name = world.mipmaps.Add(mipmap, std::to_string(found));
  world.Gave(name, "levels", found);
  world.shapes[name] = descriptor;
  bool filled = found != 0;
  for (unsigned i = 0; i < found; ++i) {
    filled = FillWholly(world, all[i], SizeOf(descriptor, i)) && filled;
  }
  if (filled) return;
  world.mipmaps.Remove(name);
  cuMipmappedArrayDestroy(mipmap);
}

void DestroyMipmap(ProgramWorld& world) {
  if (world.mipmaps.empty() || world.OneIn(10)) {
    world.Say(cuMipmappedArrayDestroy(nullptr), "cuMipmappedArrayDestroy", "none");
    return;
  }
  const auto mipmap = world.One(world.mipmaps);
  if (IsShown(world, mipmap.name)) return;
  if (world.Say(cuMipmappedArrayDestroy(mipmap.handle), "cuMipmappedArrayDestroy", mipmap.name)) {
    world.mipmaps.Remove(mipmap.name);
  }
}

void SayProperties(ProgramWorld& world, const SparseProperties& found) {
  world.Gave(found.width, found.height, found.depth, found.first_level_of_tail, found.size_of_tail,
             found.flags);
}

void SayDescriptor(ProgramWorld& world, const RandomArray& array) {
  CUDA_ARRAY_DESCRIPTOR flat = {};
  CUDA_ARRAY3D_DESCRIPTOR found = {};
  if (world.OneIn(3)) {
    if (world.Say(cuArrayGetDescriptor(&flat, array.handle), "cuArrayGetDescriptor", array.name)) {
      world.Gave(flat.Width, flat.Height, int(flat.Format), flat.NumChannels);
    }
  } else if (world.Say(cuArray3DGetDescriptor(&found, array.handle), "cuArray3DGetDescriptor",
                       array.name)) {
    world.Gave(found.Width, found.Height, found.Depth, int(found.Format), found.NumChannels,
               found.Flags);
  }
}

void Ask(ProgramWorld& world) {
  RandomArray array = AnyArray(world);
  const bool none = array.name.empty() || world.OneIn(10);
  if (none) {
    array.name = "none";
    array.handle = nullptr;
  }
  CUarray plane = nullptr;
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements = {};
  SparseProperties properties = {};
  switch (world.Below(8)) {
    case 0:
      world.Say(cuArrayGetPlane(&plane, array.handle, world.Of({0u, 1u, 9u})), "cuArrayGetPlane",
                array.name);
      return;
    case 1:
      if (none) return;
      world.Say(cuArrayGetMemoryRequirements(&requirements, array.handle, 0),
                "cuArrayGetMemoryRequirements", array.name);
      return;
    case 2:
      if (none) return;
      world.Say(properties_of(&properties, array.handle), "cuArrayGetSparseProperties", array.name);
      return;
    default:
      SayDescriptor(world, array);
  }
}

void AskMipmap(ProgramWorld& world) {
  if (world.mipmaps.empty()) return;
  const auto& mipmap = world.One(world.mipmaps);
  const unsigned level = world.Of({0u, 0u, 0u, 1u, 1u, 2u, 3u, 100u});
  CUarray array = nullptr;
  CUarray again = nullptr;
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements = {};
  SparseProperties properties = {};
  switch (world.Below(6)) {
    case 0:
      world.Say(cuMipmappedArrayGetMemoryRequirements(&requirements, mipmap.handle, 0),
                "cuMipmappedArrayGetMemoryRequirements", mipmap.name);
      return;
    case 1:
      world.Say(properties_of_mipmap(&properties, mipmap.handle),
                "cuMipmappedArrayGetSparseProperties", mipmap.name);
      return;
    case 2:
      world.Say(cuMipmappedArrayGetLevel(&array, nullptr, level), "cuMipmappedArrayGetLevel",
                "none", level);
      return;
    default:
      if (!world.Say(cuMipmappedArrayGetLevel(&array, mipmap.handle, level),
                     "cuMipmappedArrayGetLevel", mipmap.name, level)) {
        return;
      }
      cuMipmappedArrayGetLevel(&again, mipmap.handle, level);
      world.Gave(again == array);
      SayDescriptor(world, {mipmap.name + "." + std::to_string(level), array});
  }
}

// A sparse one has no memory, and is gone again at once.
void AskSparse(ProgramWorld& world) {
  std::string words;
  CUDA_ARRAY3D_DESCRIPTOR descriptor = AnyDescriptor(world, &words);
  if (world.OneIn(2)) descriptor.Flags &= ~(kSurface | kGather);
  descriptor.Flags |= kSparse;
  if (descriptor.Width < 200) descriptor.Width *= world.Of<size_t>({1, 4, 9});
  words = words.substr(words.find(' '));
  CUarray array = nullptr;
  CUmipmappedArray mipmap = nullptr;
  SparseProperties found = {};
  if (world.OneIn(2)) {
    if (!world.Say(cuArray3DCreate(&array, &descriptor), "cuArray3DCreate", "sparse",
                   descriptor.Width, words, descriptor.Flags)) {
      return;
    }
    if (world.Say(properties_of(&found, array), "cuArrayGetSparseProperties", "sparse")) {
      SayProperties(world, found);
    }
    SayDescriptor(world, {"sparse", array});
    world.Say(cuArrayDestroy(array), "cuArrayDestroy", "sparse");
    return;
  }
  const unsigned levels = world.Of({1u, 2u, 4u, 100u});
  if (!world.Say(cuMipmappedArrayCreate(&mipmap, &descriptor, levels), "cuMipmappedArrayCreate",
                 "sparse", descriptor.Width, words, descriptor.Flags, levels)) {
    return;
  }
  if (world.Say(properties_of_mipmap(&found, mipmap), "cuMipmappedArrayGetSparseProperties",
                "sparse")) {
    SayProperties(world, found);
  }
  world.Say(cuMipmappedArrayDestroy(mipmap), "cuMipmappedArrayDestroy", "sparse");
}

}  // namespace

RandomSteps ArraySteps() {
  return {{16, Create}, {4, Destroy},    {8, CreateMipmap}, {2, DestroyMipmap},
          {12, Ask},    {10, AskMipmap}, {6, AskSparse},    {12, Read}};
}

}  // namespace twinmmu::abi
