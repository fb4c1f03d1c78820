// Texture and surface objects.

#include <cstring>

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"
#include "conformance/abi/values/cases/texture_formats.h"

namespace twinmmu::abi {
namespace {

constexpr int kFloat = 0x20;
constexpr int kMipmap = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;

CUDA_RESOURCE_DESC ResourceOf(CUarray array) {
  CUDA_RESOURCE_DESC resource = {};
  resource.res.array.hArray = array;
  return resource;
}
CUDA_RESOURCE_DESC ResourceOf(CUmipmappedArray mipmap) {
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = kMipmap;
  resource.res.mipmap.hMipmappedArray = mipmap;
  return resource;
}
CUDA_RESOURCE_DESC LinearResource() {
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear = {Memory(), kFloat, 1, 4096};
  return resource;
}
CUDA_RESOURCE_DESC RowsResource() {
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_PITCH2D;
  resource.res.pitch2D = {Memory(), kFloat, 1, 64, 16, 256};
  return resource;
}

// Says what the driver tells of the texture, where that is not what was asked for.
void TellTexture(Trial& trial, CUtexObject object, const CUDA_TEXTURE_DESC& asked) {
  CUDA_TEXTURE_DESC told = {};
  Must("cuTexObjectGetTextureDesc", &told, object);
  const size_t told_bytes = offsetof(CUDA_TEXTURE_DESC, borderColor);
  if (std::memcmp(&told, &asked, told_bytes) == 0) return;
  trial.Tell(told.addressMode[0], told.addressMode[1], told.addressMode[2], told.filterMode,
             told.flags, told.maxAnisotropy, told.mipmapFilterMode);
}
void TellView(Trial& trial, CUtexObject object, const CUDA_RESOURCE_VIEW_DESC& asked) {
  CUDA_RESOURCE_VIEW_DESC told = {};
  const CUresult result = Call("cuTexObjectGetResourceViewDesc", &told, object);
  trial.Answer(result);
  if (result != CUDA_SUCCESS || std::memcmp(&told, &asked, sizeof(told)) == 0) return;
  trial.Tell(told.format, told.width, told.height, told.depth, told.firstMipmapLevel,
             told.lastMipmapLevel, told.firstLayer, told.lastLayer);
}
void Create(Trial& trial, const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& texture,
            const CUDA_RESOURCE_VIEW_DESC* view) {
  CUtexObject object = 0;
  const CUresult result = Call("cuTexObjectCreate", &object, &resource, &texture, view);
  trial.Answer(result);
  if (result != CUDA_SUCCESS) return;
  TellTexture(trial, object, texture);
  if (view != nullptr) TellView(trial, object, *view);
  Must("cuTexObjectDestroy", object);
}
void CreateWith(Trial& trial, CUDA_RESOURCE_DESC resource) {
  CUDA_TEXTURE_DESC texture = {};
  trial.Any(FIELD(resource.flags));
  trial.Any(FIELD(texture.addressMode[0]));
  trial.Any(FIELD(texture.addressMode[1]));
  trial.Any(FIELD(texture.addressMode[2]));
  trial.Any(FIELD(texture.filterMode));
  trial.Any(FIELD(texture.flags));
  trial.Any(FIELD(texture.maxAnisotropy));
  trial.Any(FIELD(texture.mipmapFilterMode));
  trial.Any(FIELD(texture.mipmapLevelBias));
  trial.Any(FIELD(texture.minMipmapLevelClamp));
  trial.Any(FIELD(texture.maxMipmapLevelClamp));
  trial.Any(FIELD(texture.borderColor[0]));
  trial.Any(FIELD(texture.reserved[0]));
  Create(trial, resource, texture, nullptr);
}
void OfArray(Trial& trial) { CreateWith(trial, ResourceOf(Plane())); }
void OfMipmap(Trial& trial) { CreateWith(trial, ResourceOf(Levels())); }
void OfMemory(Trial& trial) {
  CUDA_RESOURCE_DESC resource = LinearResource();
  auto& linear = resource.res.linear;
  trial.Offset(kBytes, FIELD(linear.devPtr));
  trial.OneOf(PlainFormats(), FIELD(linear.format));
  trial.Any(FIELD(linear.numChannels));
  trial.Any(FIELD(linear.sizeInBytes));
  CreateWith(trial, resource);
}
void OfRows(Trial& trial) {
  CUDA_RESOURCE_DESC resource = RowsResource();
  auto& rows = resource.res.pitch2D;
  trial.Offset(kBytes, FIELD(rows.devPtr));
  trial.OneOf(PlainFormats(), FIELD(rows.format));
  trial.Any(FIELD(rows.numChannels));
  trial.Size(FIELD(rows.width));
  trial.Size(FIELD(rows.height));
  trial.Size(FIELD(rows.pitchInBytes));
  CreateWith(trial, resource);
}

// Compressed formats are from 0x19 on.
std::vector<uint64_t> ViewFormats() {
  std::vector<uint64_t> formats;
  for (uint64_t format = 0; format <= 0x18; ++format) formats.push_back(format);
  formats.push_back(0x23);
  formats.push_back(0x7fffffff);
  return formats;
}
CUDA_RESOURCE_VIEW_DESC ViewOf(size_t depth, unsigned int last_level, unsigned int last_layer) {
  constexpr int kFloats = 0x16;
  return {kFloats, 64, 32, depth, 0, last_level, 0, last_layer, {}};
}
void CreateView(Trial& trial, const CUDA_RESOURCE_DESC& resource, CUDA_RESOURCE_VIEW_DESC view) {
  trial.OneOf(ViewFormats(), FIELD(view.format));
  trial.Size(FIELD(view.width));
  trial.Size(FIELD(view.height));
  trial.UpTo(kLargest32, FIELD(view.depth));  // all that a genuine driver looks at
  trial.Any(FIELD(view.firstMipmapLevel));
  trial.Any(FIELD(view.lastMipmapLevel));
  trial.Any(FIELD(view.firstLayer));
  trial.Any(FIELD(view.lastLayer));
  trial.Any(FIELD(view.reserved[0]));
  Create(trial, resource, {}, &view);
}
void ViewOfArray(Trial& trial) { CreateView(trial, ResourceOf(Plane()), ViewOf(0, 0, 0)); }
void ViewOfMipmap(Trial& trial) { CreateView(trial, ResourceOf(Levels()), ViewOf(0, 3, 0)); }
void ViewOfLayers(Trial& trial) { CreateView(trial, ResourceOf(Layers()), ViewOf(8, 0, 7)); }
void ViewOfVolume(Trial& trial) { CreateView(trial, ResourceOf(Volume()), ViewOf(8, 0, 0)); }
void ViewOfMemory(Trial& trial) { CreateView(trial, LinearResource(), ViewOf(0, 0, 0)); }

void Surface(Trial& trial) {
  CUDA_RESOURCE_DESC resource = ResourceOf(Plane());
  trial.Any(FIELD(resource.flags));
  CUsurfObject object = 0;
  const CUresult result = Call("cuSurfObjectCreate", &object, &resource);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) Must("cuSurfObjectDestroy", object);
}
void LinearWidth(Trial& trial) {
  int format = 1;
  unsigned int channels = 1;
  int device = 0;
  trial.OneOf(PlainFormats(), FIELD(format));
  trial.Any(FIELD(channels));
  trial.Any(FIELD(device));
  size_t width = 77;
  trial.Answer(Call("cuDeviceGetTexture1DLinearMaxWidth", &width, format, channels, device));
  trial.Tell(width);
}

}  // namespace

std::vector<Case> TextureCases() {
  return {{"cuTexObjectCreate/array", OfArray},
          {"cuTexObjectCreate/mipmap", OfMipmap},
          {"cuTexObjectCreate/memory", OfMemory},
          {"cuTexObjectCreate/rows", OfRows},
          {"cuTexObjectCreate/view-of-array", ViewOfArray},
          {"cuTexObjectCreate/view-of-mipmap", ViewOfMipmap},
          {"cuTexObjectCreate/view-of-layers", ViewOfLayers},
          {"cuTexObjectCreate/view-of-volume", ViewOfVolume},
          {"cuTexObjectCreate/view-of-memory", ViewOfMemory},
          {"cuSurfObjectCreate", Surface},
          {"cuDeviceGetTexture1DLinearMaxWidth", LinearWidth}};
}

}  // namespace twinmmu::abi
