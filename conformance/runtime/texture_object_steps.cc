// Texture and surface objects: which ones there are, and what they say they are of.

#include <algorithm>
#include <map>

#include "conformance/runtime/array_parts.h"
#include "conformance/runtime/runtime_world.h"

namespace random_runtime {
namespace {

constexpr size_t kMostObjects = 6;

std::map<std::string, cudaResourceDesc> made_of;  // by the names of objects
std::map<std::string, bool> has_views;            // what is told of none is not determined

struct Shown {
  cudaResourceDesc resource = {};
  std::string name;  // of what is to stay: nothing is made where there is none
  bool is_array = false;
};

std::string ResourceWords(const cudaResourceDesc& resource) {
  std::ostringstream out;
  out << "type " << int(resource.resType) << ' ';
  if (resource.resType == cudaResourceTypeLinear) {
    out << ChannelWords(resource.res.linear.desc) << ' ' << resource.res.linear.sizeInBytes;
  } else if (resource.resType == cudaResourceTypePitch2D) {
    const auto& rows = resource.res.pitch2D;
    out << ChannelWords(rows.desc) << ' ' << rows.width << ' ' << rows.height << ' '
        << rows.pitchInBytes;
  }
  return out.str();
}

void ShowMemory(RuntimeWorld& world, Shown* shown) {
  const Object<char*>& block = world.One(world.blocks);
  const size_t offset = world.Of<size_t>({0, 0, 0, 0, 0, 0, 512, 512, 4});
  if (block.size < 8192) return;
  shown->name = block.name;
  cudaResourceDesc& resource = shown->resource;
  if (world.OneIn(2)) {
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = block.handle + offset;
    resource.res.linear.desc = AnyChannels(world);
    resource.res.linear.sizeInBytes = world.Of<size_t>({0, 16, 1024, 4096, 7000});
  } else {
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = block.handle + offset;
    resource.res.pitch2D.desc = AnyChannels(world);
    resource.res.pitch2D.width = world.Of<size_t>({1, 16, 33});
    resource.res.pitch2D.height = world.Of<size_t>({1, 3, 10});
    resource.res.pitch2D.pitchInBytes = world.Of<size_t>({64, 512, 512, 544, 100});
  }
}

Shown AnyResource(RuntimeWorld& world, bool is_surface) {
  Shown shown;
  cudaResourceDesc& resource = shown.resource;
  const size_t which = world.Below(is_surface ? 8 : 16);
  if (which < 7 && !world.arrays.empty()) {
    const Object<cudaArray_t>& array = world.One(world.arrays);
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array.handle;
    shown.name = array.name;
    shown.is_array = true;
  } else if (which >= 7 && which < 11 && !is_surface && !world.mipmaps.empty()) {
    const Object<cudaMipmappedArray_t>& mipmap = world.One(world.mipmaps);
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = mipmap.handle;
    shown.name = mipmap.name;
    shown.is_array = true;
  } else if (world.OneIn(8)) {
    resource.resType = static_cast<cudaResourceType>(world.Of({0, 77}));
    shown.name = "none";
  } else if (!world.blocks.empty()) {
    ShowMemory(world, &shown);
  }
  return shown;
}

cudaTextureDesc AnySampling(RuntimeWorld& world) {
  cudaTextureDesc sampling = {};
  for (cudaTextureAddressMode& mode : sampling.addressMode) {
    mode = static_cast<cudaTextureAddressMode>(world.Below(4));
  }
  sampling.filterMode = static_cast<cudaTextureFilterMode>(world.Of({0, 0, 0, 1}));
  sampling.readMode = static_cast<cudaTextureReadMode>(world.Of({0, 0, 0, 0, 1}));
  sampling.sRGB = world.Of({0, 0, 0, 1});
  sampling.borderColor[0] = world.Of({0.f, 0.5f});
  sampling.borderColor[3] = world.Of({0.f, 1.f});
  sampling.normalizedCoords = world.Of({0, 1});
  sampling.maxAnisotropy = world.Of({0u, 0u, 1u, 16u, 99u});
  sampling.mipmapFilterMode = static_cast<cudaTextureFilterMode>(world.Of({0, 0, 1}));
  sampling.mipmapLevelBias = world.Of({0.f, 1.5f, -2.f});
  sampling.maxMipmapLevelClamp = world.Of({0.f, 2.f, 20.f});
  sampling.disableTrilinearOptimization = world.Of({0, 0, 1});
  if (world.OneIn(12)) sampling.filterMode = cudaTextureFilterMode(77);
  return sampling;
}

// Without the border, which drivers do not give back.
std::string SamplingWords(const cudaTextureDesc& sampling) {
  std::ostringstream out;
  for (const cudaTextureAddressMode mode : sampling.addressMode) out << int(mode) << ' ';
  out << int(sampling.filterMode) << ' ' << int(sampling.readMode) << ' ' << sampling.sRGB << ' '
      << sampling.normalizedCoords << ' ' << sampling.maxAnisotropy << ' '
      << int(sampling.mipmapFilterMode) << ' ' << sampling.mipmapLevelBias << ' '
      << sampling.minMipmapLevelClamp << ' ' << sampling.maxMipmapLevelClamp << ' '
      << sampling.disableTrilinearOptimization << ' ' << sampling.seamlessCubemap;
  return out.str();
}

// The format that has the elements of the channels.
int ViewFormatOf(const cudaChannelFormatDesc& channels) {
  const int count = (channels.x != 0) + (channels.y != 0) + (channels.z != 0) + (channels.w != 0);
  const int which = count == 4 ? 2 : count - 1;
  if (channels.f == cudaChannelFormatKindFloat) return (channels.x == 16 ? 19 : 22) + which;
  const int first = channels.x == 8 ? 1 : channels.x == 16 ? 7 : 13;
  return first + (channels.f == cudaChannelFormatKindSigned ? 3 : 0) + which;
}

cudaResourceViewDesc AnyView(RuntimeWorld& world, const ArrayShape& shape) {
  cudaResourceViewDesc view = {};
  const int format = world.OneIn(8) ? world.Of({0, 1, 22, 0x23}) : ViewFormatOf(shape.channels);
  view.format = static_cast<cudaResourceViewFormat>(format);
  view.width = shape.extent.width;
  view.height = shape.extent.height;
  view.depth = shape.extent.depth;
  if (world.OneIn(10)) view.width += 1;
  view.lastMipmapLevel = world.Of({0u, 0u, 1u, 5u});
  view.lastLayer = world.Of({0u, 0u, 1u, 5u});
  return view;
}

std::string ViewWords(const cudaResourceViewDesc& view) {
  std::ostringstream out;
  out << int(view.format) << ' ' << view.width << ' ' << view.height << ' ' << view.depth << ' '
      << view.firstMipmapLevel << ' ' << view.lastMipmapLevel << ' ' << view.firstLayer << ' '
      << view.lastLayer;
  return out.str();
}

void CreateTexture(RuntimeWorld& world) {
  if (world.textures.size() >= kMostObjects) return;
  const Shown shown = AnyResource(world, false);
  if (shown.name.empty()) return;
  const cudaTextureDesc sampling = AnySampling(world);
  const bool has_view = shown.is_array && world.OneIn(4);
  const cudaResourceViewDesc view = AnyView(world, array_shapes[shown.name]);
  cudaTextureObject_t texture = 0;
  const size_t wrong = world.OneIn(15) ? world.Below(2) : 2;
  if (world.Say(cudaCreateTextureObject(wrong == 0 ? nullptr : &texture,
                                        wrong == 1 ? nullptr : &shown.resource, &sampling,
                                        has_view ? &view : nullptr),
                "cudaCreateTextureObject", shown.name, ResourceWords(shown.resource), "sampling",
                SamplingWords(sampling), "view", has_view ? ViewWords(view) : "none", wrong)) {
    const std::string name = world.textures.Add(texture, shown.name);
    world.Gave(name);
    made_of[name] = shown.resource;
    has_views[name] = has_view;
  }
}

void DestroyTexture(RuntimeWorld& world) {
  if (world.textures.empty() || world.OneIn(12)) {
    world.Say(cudaDestroyTextureObject(0), "cudaDestroyTextureObject", "none");
    return;
  }
  const Object<cudaTextureObject_t> texture = world.One(world.textures);
  if (world.Say(cudaDestroyTextureObject(texture.handle), "cudaDestroyTextureObject",
                texture.name)) {
    world.textures.Remove(texture.name);
  }
}

// Arrays and memory lie elsewhere each time, but they are those that were shown.
void GaveResource(RuntimeWorld& world, const cudaResourceDesc& found, const std::string& name) {
  world.Gave(ResourceWords(found), found.res.array.array == made_of[name].res.array.array);
}

void AskTexture(RuntimeWorld& world) {
  if (world.textures.empty()) return CreateTexture(world);
  const Object<cudaTextureObject_t> texture = world.One(world.textures);
  const bool is_wrong = world.OneIn(12);
  cudaResourceDesc resource = {};
  cudaTextureDesc sampling = {};
  cudaResourceViewDesc view = {};
  switch (world.Below(3)) {
    case 0:
      if (world.Say(cudaGetTextureObjectResourceDesc(is_wrong ? nullptr : &resource,
                                                     is_wrong ? 12345 : texture.handle),
                    "cudaGetTextureObjectResourceDesc", texture.name, is_wrong)) {
        GaveResource(world, resource, texture.name);
      }
      return;
    case 1:
      if (world.Say(cudaGetTextureObjectTextureDesc(&sampling, texture.handle),
                    "cudaGetTextureObjectTextureDesc", texture.name)) {
        world.Gave(SamplingWords(sampling));
      }
      return;
    default:
      if (world.Say(cudaGetTextureObjectResourceViewDesc(&view, texture.handle),
                    "cudaGetTextureObjectResourceViewDesc", texture.name) &&
          has_views[texture.name]) {
        world.Gave(ViewWords(view));
      }
  }
}

void CreateSurface(RuntimeWorld& world) {
  if (world.surfaces.size() >= kMostObjects) return;
  const Shown shown = AnyResource(world, true);
  if (shown.name.empty()) return;
  cudaSurfaceObject_t surface = 0;
  const size_t wrong = world.OneIn(12) ? world.Below(2) : 2;
  if (world.Say(cudaCreateSurfaceObject(wrong == 0 ? nullptr : &surface,
                                        wrong == 1 ? nullptr : &shown.resource),
                "cudaCreateSurfaceObject", shown.name, ResourceWords(shown.resource), wrong)) {
    const std::string name = world.surfaces.Add(surface, shown.name);
    world.Gave(name);
    made_of[name] = shown.resource;
  }
}

void UseSurface(RuntimeWorld& world) {
  if (world.surfaces.empty()) return CreateSurface(world);
  const Object<cudaSurfaceObject_t> surface = world.One(world.surfaces);
  cudaResourceDesc resource = {};
  if (world.OneIn(3)) {
    if (world.Say(cudaDestroySurfaceObject(surface.handle), "cudaDestroySurfaceObject",
                  surface.name)) {
      world.surfaces.Remove(surface.name);
    }
  } else if (world.Say(cudaGetSurfaceObjectResourceDesc(&resource, surface.handle),
                       "cudaGetSurfaceObjectResourceDesc", surface.name)) {
    GaveResource(world, resource, surface.name);
  }
}

}  // namespace

Steps TextureObjectSteps() {
  return {{14, CreateTexture},
          {5, DestroyTexture},
          {9, AskTexture},
          {7, CreateSurface},
          {6, UseSurface}};
}

}  // namespace random_runtime
