// Arrays and mipmapped arrays.

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"
#include "conformance/abi/values/cases/texture_formats.h"

namespace twinmmu::abi {
namespace {

using Shape = CUDA_ARRAY3D_DESCRIPTOR;

// Of heights and depths a genuine driver looks at 32 bits.
void VaryShape(Trial& trial, Shape& shape) {
  trial.Size(FIELD(shape.Width));
  trial.UpTo(kLargest32, FIELD(shape.Height));
  trial.UpTo(kLargest32, FIELD(shape.Depth));
  trial.OneOf(ArrayFormats(), FIELD(shape.Format));
  trial.Any(FIELD(shape.NumChannels));
  trial.Any(FIELD(shape.Flags));
}

void TellShape(Trial& trial, CUarray array) {
  Shape told = {};
  Must("cuArray3DGetDescriptor_v2", &told, array);
  trial.Tell(told.Width, told.Height, told.Depth, told.Format, told.NumChannels, told.Flags);
}
bool IsSame(const Shape& one, const Shape& other) {
  return one.Width == other.Width && one.Height == other.Height && one.Depth == other.Depth &&
         one.Format == other.Format && one.NumChannels == other.NumChannels &&
         one.Flags == other.Flags;
}
void TellNeeds(Trial& trial, const char* symbol, const void* array) {
  CUDA_ARRAY_MEMORY_REQUIREMENTS needs = {};
  const CUresult result = Call(symbol, &needs, array, 0);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) trial.Tell(needs.size, needs.alignment);
}
void TellTiles(Trial& trial, const char* symbol, const void* array) {
  CUDA_ARRAY_SPARSE_PROPERTIES tiles = {};
  const CUresult result = Call(symbol, &tiles, array);
  trial.Answer(result);
  if (result != CUDA_SUCCESS) return;
  trial.Tell(tiles.tileExtent.width, tiles.tileExtent.height, tiles.tileExtent.depth,
             tiles.miptailFirstLevel, tiles.miptailSize, tiles.flags);
}

void CreatePlain(Trial& trial) {
  CUDA_ARRAY_DESCRIPTOR shape = {64, 0, 1, 1};
  trial.Size(FIELD(shape.Width));
  trial.UpTo(kLargest32, FIELD(shape.Height));
  trial.OneOf(ArrayFormats(), FIELD(shape.Format));
  trial.Any(FIELD(shape.NumChannels));
  CUarray array = nullptr;
  const CUresult result = Call("cuArrayCreate_v2", &array, &shape);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) Must("cuArrayDestroy", array);
}

void Create(Trial& trial, Shape shape) {
  VaryShape(trial, shape);
  CUarray array = nullptr;
  const CUresult result = Call("cuArray3DCreate_v2", &array, &shape);
  trial.Answer(result);
  if (result != CUDA_SUCCESS) return;
  Shape told = {};
  Must("cuArray3DGetDescriptor_v2", &told, array);
  if (!IsSame(told, shape)) TellShape(trial, array);
  TellNeeds(trial, "cuArrayGetMemoryRequirements", array);
  TellTiles(trial, "cuArrayGetSparseProperties", array);
  Must("cuArrayDestroy", array);
}
constexpr int kFloat = 0x20;
constexpr unsigned int kLayered = 1;
constexpr unsigned int kSurface = 2;
constexpr unsigned int kCube = 4;
constexpr unsigned int kGather = 8;
constexpr unsigned int kDepth = 0x10;
constexpr unsigned int kColour = 0x20;
constexpr unsigned int kSparse = 0x40;
constexpr unsigned int kDeferred = 0x80;
constexpr unsigned int kVideo = 0x100;

void CreateRow(Trial& trial) { Create(trial, {64, 0, 0, 8, 1, 0}); }
void CreatePlane(Trial& trial) { Create(trial, {64, 32, 0, 8, 4, 0}); }
void CreateVolume(Trial& trial) { Create(trial, {64, 32, 8, 1, 2, kSurface}); }
void CreateLayers(Trial& trial) { Create(trial, {64, 32, 4, 3, 2, kLayered}); }
void CreateRowLayers(Trial& trial) { Create(trial, {64, 0, 4, 3, 2, kLayered}); }
void CreateCube(Trial& trial) { Create(trial, {64, 64, 6, 3, 1, kCube}); }
void CreateCubes(Trial& trial) { Create(trial, {64, 64, 12, 3, 1, kCube | kLayered}); }
void CreateGathered(Trial& trial) { Create(trial, {64, 64, 0, 3, 1, kGather}); }
void CreateDepth(Trial& trial) { Create(trial, {64, 64, 0, kFloat, 1, kDepth}); }
void CreateColour(Trial& trial) { Create(trial, {64, 64, 0, 1, 4, kColour}); }
void CreateSparse(Trial& trial) { Create(trial, {1024, 1024, 0, kFloat, 1, kSparse}); }
void CreateSparseVolume(Trial& trial) { Create(trial, {256, 256, 64, kFloat, 1, kSparse}); }
void CreateDeferred(Trial& trial) { Create(trial, {1024, 1024, 0, kFloat, 1, kDeferred}); }
void CreateSurface(Trial& trial) { Create(trial, {64, 64, 0, kFloat, 4, kSurface}); }
void CreateVideo(Trial& trial) { Create(trial, {64, 64, 0, kFloat, 4, kVideo}); }

void CreateLevels(Trial& trial, Shape shape, unsigned int levels) {
  VaryShape(trial, shape);
  trial.Any(FIELD(levels));
  CUmipmappedArray mipmap = nullptr;
  const CUresult result = Call("cuMipmappedArrayCreate", &mipmap, &shape, levels);
  trial.Answer(result);
  if (result != CUDA_SUCCESS) return;
  unsigned int made = 0;
  CUarray level = nullptr;
  while (made < 32 && Call("cuMipmappedArrayGetLevel", &level, mipmap, made) == CUDA_SUCCESS) {
    ++made;
  }
  trial.Tell(made);
  if (made > 1) {
    Must("cuMipmappedArrayGetLevel", &level, mipmap, 1);
    TellShape(trial, level);
  }
  TellNeeds(trial, "cuMipmappedArrayGetMemoryRequirements", mipmap);
  TellTiles(trial, "cuMipmappedArrayGetSparseProperties", mipmap);
  Must("cuMipmappedArrayDestroy", mipmap);
}
void CreateMipmap(Trial& trial) { CreateLevels(trial, {64, 32, 0, 8, 1, 0}, 3); }
void CreateSparseMipmap(Trial& trial) { CreateLevels(trial, {1024, 512, 0, 8, 1, kSparse}, 4); }

void GetLevel(Trial& trial) {
  unsigned int level = 0;
  trial.Any(FIELD(level));
  CUarray array = nullptr;
  const CUresult result = Call("cuMipmappedArrayGetLevel", &array, Levels(), level);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) TellShape(trial, array);
}
// Of an array that has no planes.
void GetPlane(Trial& trial) {
  unsigned int plane = 0;
  trial.Any(FIELD(plane));
  CUarray array = nullptr;
  trial.Answer(Call("cuArrayGetPlane", &array, Plane(), plane));
}

}  // namespace

std::vector<Case> ArrayCases() {
  return {{"cuArrayCreate", CreatePlain},
          {"cuArray3DCreate/row", CreateRow},
          {"cuArray3DCreate/plane", CreatePlane},
          {"cuArray3DCreate/volume", CreateVolume},
          {"cuArray3DCreate/layers", CreateLayers},
          {"cuArray3DCreate/row-layers", CreateRowLayers},
          {"cuArray3DCreate/cube", CreateCube},
          {"cuArray3DCreate/cubes", CreateCubes},
          {"cuArray3DCreate/gathered", CreateGathered},
          {"cuArray3DCreate/depth", CreateDepth},
          {"cuArray3DCreate/colour", CreateColour},
          {"cuArray3DCreate/sparse", CreateSparse},
          {"cuArray3DCreate/sparse-volume", CreateSparseVolume},
          {"cuArray3DCreate/deferred", CreateDeferred},
          {"cuArray3DCreate/surface", CreateSurface},
          {"cuArray3DCreate/video", CreateVideo},
          {"cuMipmappedArrayCreate", CreateMipmap},
          {"cuMipmappedArrayCreate/sparse", CreateSparseMipmap},
          {"cuMipmappedArrayGetLevel", GetLevel},
          {"cuArrayGetPlane", GetPlane}};
}

}  // namespace twinmmu::abi
