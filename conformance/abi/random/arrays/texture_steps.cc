// Texture and surface objects: which ones there are, and what they say they are of.

#include <algorithm>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/arrays/array_world.h"

namespace twinmmu::abi {
namespace {

constexpr size_t kMostObjects = 6;

std::string WordsOf(const CUDA_TEXTURE_DESC& sampling) {
  std::ostringstream out;
  for (const CUaddress_mode mode : sampling.addressMode) out << int(mode) << ' ';
  out << int(sampling.filterMode) << ' ' << sampling.flags << ' ' << sampling.maxAnisotropy << ' '
      << int(sampling.mipmapFilterMode) << ' ' << sampling.mipmapLevelBias << ' '
      << sampling.minMipmapLevelClamp << ' ' << sampling.maxMipmapLevelClamp;
  return out.str();
}

CUDA_TEXTURE_DESC AnySampling(ProgramWorld& world) {
  CUDA_TEXTURE_DESC sampling = {};
  for (CUaddress_mode& mode : sampling.addressMode) {
    mode = static_cast<CUaddress_mode>(world.Of({0, 1, 2, 3}));
  }
  sampling.filterMode = static_cast<CUfilter_mode>(world.Of({0, 0, 1}));
  sampling.flags = world.Of({0u, 0u, 1u, 2u, 3u, 0x10u, 0x12u, 0x20u});
  sampling.maxAnisotropy = world.Of({0u, 1u, 16u, 99u});
  sampling.mipmapFilterMode = static_cast<CUfilter_mode>(world.Of({0, 0, 1}));
  sampling.mipmapLevelBias = world.Of({0.f, 1.5f, -2.f});
  sampling.maxMipmapLevelClamp = world.Of({0.f, 2.f, 20.f});
  if (!world.OneIn(8)) return sampling;
  switch (world.Below(5)) {
    case 0:
      sampling.addressMode[world.Below(3)] = static_cast<CUaddress_mode>(4);
      break;
    case 1:
      sampling.filterMode = static_cast<CUfilter_mode>(2);
      break;
    case 2:
      sampling.mipmapFilterMode = static_cast<CUfilter_mode>(2);
      break;
    case 3:
      sampling.flags = 0x80;
      break;
    default:
      // Seamless ones are of cubes. No filter: the simulator has none that goes around corners.
      sampling.flags = CU_TRSF_SEAMLESS_CUBEMAP;
      sampling.filterMode = CU_TR_FILTER_MODE_POINT;
  }
  return sampling;
}

// The format that has the elements of the shape, in most cases.
int ViewFormatOf(ProgramWorld& world, const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  if (world.OneIn(10)) return world.Of({0, 1, 5, 0xd, 0x12, 0x16, 0x18, 0x23});
  const int channels = shape.NumChannels == 4 ? 2 : int(shape.NumChannels) - 1;
  switch (int(shape.Format)) {
    case 1:
      return 1 + channels;
    case 8:
      return 4 + channels;
    case 2:
      return 7 + channels;
    case 9:
      return 10 + channels;
    case 3:
      return 13 + channels;
    case 0xa:
      return 16 + channels;
    case 0x10:
      return 19 + channels;
    default:
      return 22 + channels;
  }
}

CUDA_RESOURCE_VIEW_DESC AnyView(ProgramWorld& world, const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  CUDA_RESOURCE_VIEW_DESC view = {};
  view.format = static_cast<CUresourceViewFormat>(ViewFormatOf(world, shape));
  view.width = shape.Width;
  view.height = shape.Height;
  view.depth = shape.Depth;
  if (world.OneIn(10)) view.width += 1;
  if (world.OneIn(10)) view.height = shape.Height / 2;
  view.firstMipmapLevel = world.Of({0u, 0u, 0u, 0u, 1u, 2u});
  view.lastMipmapLevel = view.firstMipmapLevel + world.Of({0u, 0u, 0u, 1u, 5u, ~0u});
  view.firstLayer = world.Of({0u, 0u, 0u, 1u});
  view.lastLayer = world.Of({0u, 0u, 1u, 1u, 5u, 11u});
  return view;
}

std::string WordsOf(const CUDA_RESOURCE_VIEW_DESC& view) {
  std::ostringstream out;
  out << int(view.format) << ' ' << view.width << ' ' << view.height << ' ' << view.depth << ' '
      << view.firstMipmapLevel << ' ' << view.lastMipmapLevel << ' ' << view.firstLayer << ' '
      << view.lastLayer;
  return out.str();
}

void CreateTexture(ProgramWorld& world) {
  if (world.textures.size() >= kMostObjects) return;
  const Shown shown = AnyResource(world);
  if (shown.words.empty()) return;
  const CUDA_TEXTURE_DESC sampling = AnySampling(world);
  const bool has_view = shown.has_view && world.OneIn(4);
  const CUDA_RESOURCE_VIEW_DESC view = AnyView(world, shown.shape);
  CUtexObject texture = 0;
  if (world.Say(cuTexObjectCreate(&texture, &shown.resource, &sampling, has_view ? &view : nullptr),
                "cuTexObjectCreate", shown.words, ResourceWords(shown.resource), "sampling",
                WordsOf(sampling), "view", has_view ? WordsOf(view) : "none")) {
    const std::string name = world.textures.Add(texture, shown.name);
    world.Gave(name);
    world.resources[name] = shown.resource;
  }
}

// What is destroyed is asked at once: another could come to have its handle.
void DestroyTexture(ProgramWorld& world) {
  if (world.textures.empty() && world.OneIn(2)) return;
  if (world.textures.empty() || world.OneIn(20)) {
    world.Say(cuTexObjectDestroy(0), "cuTexObjectDestroy", "none");
    return;
  }
  const auto texture = world.One(world.textures);
  if (!world.Say(cuTexObjectDestroy(texture.handle), "cuTexObjectDestroy", texture.name)) return;
  world.textures.Remove(texture.name);
  CUDA_RESOURCE_DESC resource = {};
  CUDA_TEXTURE_DESC sampling = {};
  switch (world.Below(3)) {
    case 0:
      world.Say(cuTexObjectGetResourceDesc(&resource, texture.handle), "cuTexObjectGetResourceDesc",
                "gone");
      return;
    case 1:
      world.Say(cuTexObjectGetTextureDesc(&sampling, texture.handle), "cuTexObjectGetTextureDesc",
                "gone");
      return;
    default:
      world.Say(cuTexObjectDestroy(texture.handle), "cuTexObjectDestroy", "gone");
  }
}

// Whether it is the same one as when the object was made.
void SayResource(ProgramWorld& world, const CUDA_RESOURCE_DESC& found,
                 const CUDA_RESOURCE_DESC& made_of) {
  world.Gave(ResourceWords(found), found.res.array.hArray == made_of.res.array.hArray);
}

void AskTexture(ProgramWorld& world) {
  if (world.textures.empty() && world.OneIn(2)) return;
  const bool none = world.textures.empty() || world.OneIn(15);
  const auto texture = none ? RandomObject<CUtexObject>{"none", 0, ""} : world.One(world.textures);
  CUDA_RESOURCE_DESC resource = {};
  CUDA_TEXTURE_DESC sampling = {};
  CUDA_RESOURCE_VIEW_DESC view = {};
  view.width = 77;
  switch (world.Below(3)) {
    case 0:
      if (world.Say(cuTexObjectGetResourceDesc(&resource, texture.handle),
                    "cuTexObjectGetResourceDesc", texture.name)) {
        SayResource(world, resource, world.resources[texture.name]);
      }
      return;
    case 1:
      if (world.Say(cuTexObjectGetTextureDesc(&sampling, texture.handle),
                    "cuTexObjectGetTextureDesc", texture.name)) {
        world.Gave(WordsOf(sampling));
      }
      return;
    default:
      if (world.Say(cuTexObjectGetResourceViewDesc(&view, texture.handle),
                    "cuTexObjectGetResourceViewDesc", texture.name)) {
        world.Gave(WordsOf(view));
      }
  }
}

void CreateSurface(ProgramWorld& world) {
  if (world.surfaces.size() >= kMostObjects) return;
  const Shown shown = AnyResource(world, world.OneIn(6) ? 0 : CUDA_ARRAY3D_SURFACE_LDST);
  if (shown.words.empty()) return;
  CUsurfObject surface = 0;
  if (world.Say(cuSurfObjectCreate(&surface, &shown.resource), "cuSurfObjectCreate", shown.words,
                ResourceWords(shown.resource))) {
    const std::string name = world.surfaces.Add(surface, shown.name);
    world.Gave(name);
    world.resources[name] = shown.resource;
  }
}

void DestroySurface(ProgramWorld& world) {
  if (world.surfaces.empty()) return;
  const auto surface = world.One(world.surfaces);
  if (!world.Say(cuSurfObjectDestroy(surface.handle), "cuSurfObjectDestroy", surface.name)) return;
  world.surfaces.Remove(surface.name);
  CUDA_RESOURCE_DESC resource = {};
  if (world.OneIn(2)) {
    world.Say(cuSurfObjectGetResourceDesc(&resource, surface.handle), "cuSurfObjectGetResourceDesc",
              "gone");
  } else {
    world.Say(cuSurfObjectDestroy(surface.handle), "cuSurfObjectDestroy", "gone");
  }
}

void AskSurface(ProgramWorld& world) {
  if (world.surfaces.empty() && !world.OneIn(4)) return;
  const bool none = world.surfaces.empty() || world.OneIn(10);
  const auto surface = none ? RandomObject<CUsurfObject>{"none", 0, ""} : world.One(world.surfaces);
  CUDA_RESOURCE_DESC resource = {};
  if (world.Say(cuSurfObjectGetResourceDesc(&resource, surface.handle),
                "cuSurfObjectGetResourceDesc", surface.name)) {
    SayResource(world, resource, world.resources[surface.name]);
  }
}

void AskWidest(ProgramWorld& world) {
  const int format = world.Of({1, 2, 3, 8, 9, 0xa, 0x10, 0x20, 0, 4});
  const unsigned channels = world.Of({1u, 2u, 4u, 3u, 0u});
  size_t elements = 0;
  if (world.Say(cuDeviceGetTexture1DLinearMaxWidth(&elements, static_cast<CUarray_format>(format),
                                                   channels, 0),
                "cuDeviceGetTexture1DLinearMaxWidth", format, channels)) {
    world.Gave(elements);
  }
}

}  // namespace

RandomSteps TextureSteps() {
  return {{20, CreateTexture}, {8, DestroyTexture}, {14, AskTexture}, {8, CreateSurface},
          {3, DestroySurface}, {5, AskSurface},     {3, AskWidest}};
}

}  // namespace twinmmu::abi
