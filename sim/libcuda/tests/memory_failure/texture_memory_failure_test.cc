// The host runs out of memory in calls for arrays, mipmaps, textures and surfaces: see
// memory_failure_steps.h. The simulated driver is linked in.

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_arrays.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"
#include "third_party/cuda_abi/texture_abi.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS*, CUarray, CUdevice);
CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS*, CUmipmappedArray,
                                               CUdevice);
CUresult cuTexObjectCreate(CUtexObject*, const CUDA_RESOURCE_DESC*, const CUDA_TEXTURE_DESC*,
                           const CUDA_RESOURCE_VIEW_DESC*);
CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC*, CUtexObject);
CUresult cuTexObjectDestroy(CUtexObject);
CUresult cuSurfObjectCreate(CUsurfObject*, const CUDA_RESOURCE_DESC*);
CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC*, CUsurfObject);
CUresult cuSurfObjectDestroy(CUsurfObject);
}

namespace {

constexpr unsigned int kSurfaces = 2;    // CUDA_ARRAY3D_SURFACE_LDST
constexpr unsigned int kSparse = 64;     // CUDA_ARRAY3D_SPARSE
constexpr unsigned int kDeferred = 128;  // CUDA_ARRAY3D_DEFERRED_MAPPING

// What the steps hand on to each other.
struct World {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  CUarray array = nullptr, level = nullptr, sparse = nullptr, deferred = nullptr;
  CUmipmappedArray mipmap = nullptr, deferred_mipmap = nullptr;
  CUmemGenericAllocationHandle tiles = 0;
  CUtexObject of_array = 0, of_mipmap = 0, of_memory = 0;
  CUsurfObject surface = 0;
};
using Steps = std::vector<Step<World>>;

CUresult CreateArray(CUarray* array, size_t width, unsigned int flags) {
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = Descriptor(width, flags);
  return cuArray3DCreate_v2(array, &descriptor);
}
CUresult CreateMipmap(World& w) {
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = Descriptor(64, 0);
  return cuMipmappedArrayCreate(&w.mipmap, &descriptor, 3);
}
CUDA_RESOURCE_DESC OfArray(const World& w) {
  CUDA_RESOURCE_DESC resource = {};
  resource.res.array.hArray = w.array;
  return resource;
}
CUDA_RESOURCE_DESC OfMipmap(const World& w) {
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = 1;  // CU_RESOURCE_TYPE_MIPMAPPED_ARRAY
  resource.res.mipmap.hMipmappedArray = w.mipmap;
  return resource;
}
CUDA_RESOURCE_DESC OfMemory(const World& w) {
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = 2;  // CU_RESOURCE_TYPE_LINEAR
  resource.res.linear = {w.memory, kUnsigned32, 1, 4096};
  return resource;
}
CUresult CreateTexture(CUtexObject* object, const CUDA_RESOURCE_DESC& resource) {
  CUDA_TEXTURE_DESC texture = {};
  texture.flags = CU_TRSF_READ_AS_INTEGER;
  if (resource.resType == 1) texture.flags |= CU_TRSF_NORMALIZED_COORDINATES;
  return cuTexObjectCreate(object, &resource, &texture, nullptr);
}
CUresult CreateDeferred(World& w) {
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = Descriptor(64, kDeferred);
  return cuMipmappedArrayCreate(&w.deferred_mipmap, &descriptor, 3);
}
CUresult AskForNeeds(World& w) {
  CUDA_ARRAY_MEMORY_REQUIREMENTS needs = {};
  const CUresult told = cuArrayGetMemoryRequirements(&needs, w.deferred, 0);
  return told == CUDA_SUCCESS ? cuMipmappedArrayGetMemoryRequirements(&needs, w.deferred_mipmap, 0)
                              : told;
}
CUresult MapDeferred(World& w) {
  CUarrayMapInfo info = {};
  info.resource.array = w.deferred;
  info.memOperationType = static_cast<decltype(info.memOperationType)>(1);
  info.memHandle.memHandle = w.tiles;
  info.deviceBitMask = 1;
  return cuMemMapArrayAsync(&info, 1, w.stream);
}
CUresult CreateTiles(World& w) {
  CUmemAllocationProp properties = {};
  properties.type = static_cast<decltype(properties.type)>(1);
  properties.location.type = static_cast<decltype(properties.location.type)>(1);
  properties.allocFlags.usage = 1;  // CU_MEM_CREATE_USAGE_TILE_POOL
  return cuMemCreate(&w.tiles, size_t{2} << 20, &properties, 0);
}
CUresult MapTile(World& w, bool maps) {
  CUarrayMapInfo info = {};
  info.resource.array = w.sparse;
  info.subresource.sparseLevel.extentWidth = 128;
  info.subresource.sparseLevel.extentHeight = 128;
  info.subresource.sparseLevel.extentDepth = 1;
  info.memOperationType = static_cast<decltype(info.memOperationType)>(maps ? 1 : 2);
  info.memHandle.memHandle = maps ? w.tiles : 0;
  info.deviceBitMask = 1;
  return cuMemMapArrayAsync(&info, 1, w.stream);
}

Steps Script() {
  return {
      {"retain", [](World& w) { return cuDevicePrimaryCtxRetain(&w.context, 0); }},
      {"push", [](World& w) { return cuCtxPushCurrent_v2(w.context); }},
      {"create stream", [](World& w) { return cuStreamCreate(&w.stream, 1); }},
      {"allocate", [](World& w) { return cuMemAlloc_v2(&w.memory, 4096); }},
      {"create array", [](World& w) { return CreateArray(&w.array, 64, kSurfaces); }},
      {"create mipmap", CreateMipmap},
      {"get level", [](World& w) { return cuMipmappedArrayGetLevel(&w.level, w.mipmap, 1); }},
      {"texture of the array", [](World& w) { return CreateTexture(&w.of_array, OfArray(w)); }},
      {"texture of the mipmap", [](World& w) { return CreateTexture(&w.of_mipmap, OfMipmap(w)); }},
      {"texture of memory", [](World& w) { return CreateTexture(&w.of_memory, OfMemory(w)); }},
      {"surface",
       [](World& w) {
         const CUDA_RESOURCE_DESC resource = OfArray(w);
         return cuSurfObjectCreate(&w.surface, &resource);
       }},
      {"create sparse array", [](World& w) { return CreateArray(&w.sparse, 1024, kSparse); }},
      {"create tiles", CreateTiles},
      {"map", [](World& w) { return MapTile(w, true); }},
      {"synchronise", [](World& w) { return cuStreamSynchronize(w.stream); }},
      {"unmap", [](World& w) { return MapTile(w, false); }},
      {"synchronise again", [](World& w) { return cuStreamSynchronize(w.stream); }},
      {"create deferred array", [](World& w) { return CreateArray(&w.deferred, 64, kDeferred); }},
      {"create deferred mipmap", CreateDeferred},
      {"ask for needs", AskForNeeds},
      {"map deferred array", MapDeferred},
      {"synchronise once more", [](World& w) { return cuStreamSynchronize(w.stream); }},
      {"destroy deferred array", [](World& w) { return cuArrayDestroy(w.deferred); }},
      {"destroy deferred mipmap",
       [](World& w) { return cuMipmappedArrayDestroy(w.deferred_mipmap); }},
      {"release tiles", [](World& w) { return cuMemRelease(w.tiles); }},
      {"destroy sparse array", [](World& w) { return cuArrayDestroy(w.sparse); }},
      {"destroy surface", [](World& w) { return cuSurfObjectDestroy(w.surface); }},
      {"destroy one texture", [](World& w) { return cuTexObjectDestroy(w.of_memory); }},
      {"destroy another", [](World& w) { return cuTexObjectDestroy(w.of_mipmap); }},
      {"destroy the last", [](World& w) { return cuTexObjectDestroy(w.of_array); }},
      {"destroy mipmap", [](World& w) { return cuMipmappedArrayDestroy(w.mipmap); }},
      {"destroy array", [](World& w) { return cuArrayDestroy(w.array); }},
  };
}

// All that a program can see.
std::string VisibleState(World& w) {
  std::ostringstream out;
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  for (const CUarray array : {w.array, w.level, w.sparse}) {
    out << cuArray3DGetDescriptor_v2(&descriptor, array) << " array\n";
  }
  CUDA_RESOURCE_DESC resource = {};
  for (const CUtexObject object : {w.of_array, w.of_mipmap, w.of_memory}) {
    out << cuTexObjectGetResourceDesc(&resource, object) << " texture\n";
  }
  out << cuSurfObjectGetResourceDesc(&resource, w.surface) << " surface\n";
  CUmemAllocationProp properties = {};
  out << cuMemGetAllocationPropertiesFromHandle(&properties, w.tiles) << " tiles\n";
  out << FreeOn(1);
  return out.str();
}

class TextureMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(TextureMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/40);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, TextureMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda
