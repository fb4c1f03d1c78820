// Memory that is mapped to sparse arrays.

#include <climits>

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/case_objects.h"

namespace twinmmu::abi {
namespace {

constexpr unsigned int kSparse = 0x40;
constexpr CUDA_ARRAY3D_DESCRIPTOR kShape = {1024, 1024, 0, 0x20, 1, kSparse};
constexpr uint64_t kTile = 65536;

CUmemGenericAllocationHandle Tiles() {
  static const CUmemGenericAllocationHandle handle = [] {
    constexpr unsigned short kTilePool = 1;
    CUmemAllocationProp properties = PinnedProperties();
    properties.allocFlags.usage = kTilePool;
    CUmemGenericAllocationHandle made = 0;
    Must("cuMemCreate", &made, 4 * kMiB, &properties, 0);
    return made;
  }();
  return handle;
}
CUarrayMapInfo MapOf(int resource_type) {
  CUarrayMapInfo map = {};
  map.resourceType = resource_type;
  map.memOperationType = 1;
  map.memHandleType = CU_MEM_HANDLE_TYPE_GENERIC;
  map.memHandle.memHandle = Tiles();
  map.deviceBitMask = 1;
  return map;
}
void MapInOrder(Trial& trial, CUarrayMapInfo map, unsigned int count) {
  trial.Answer(Call("cuMemMapArrayAsync", &map, count, Stream()));
  const CUresult result = Call("cuStreamSynchronize", Stream());
  if (result != CUDA_SUCCESS) trial.Answer(result);
}
// A type of 1 is that of mipmapped arrays, which are not at that handle.
bool IsNoMipmap(uint64_t type) { return type != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY; }

void MapTile(Trial& trial) {
  static const CUarray array = [] {
    CUarray made = nullptr;
    Must("cuArray3DCreate_v2", &made, &kShape);
    return made;
  }();
  CUarrayMapInfo map = MapOf(CU_RESOURCE_TYPE_ARRAY);
  map.resource.array = array;
  auto& level = map.subresource.sparseLevel;
  level.extentWidth = level.extentHeight = 128;
  level.extentDepth = 1;
  unsigned int count = 1;
  trial.Where(IsNoMipmap, FIELD(map.resourceType));
  trial.Any(FIELD(map.subresourceType));
  trial.Any(FIELD(level.level));
  trial.Any(FIELD(level.layer));
  trial.Any(FIELD(level.offsetX));
  trial.Any(FIELD(level.offsetY));
  trial.UpTo(INT_MAX, FIELD(level.offsetZ));
  trial.Any(FIELD(level.extentWidth));
  trial.Any(FIELD(level.extentHeight));
  trial.Any(FIELD(level.extentDepth));
  trial.Any(FIELD(map.memOperationType));
  trial.Any(FIELD(map.memHandleType));
  trial.Size(FIELD(map.offset));
  trial.Any(FIELD(map.deviceBitMask));
  trial.Any(FIELD(map.flags));
  trial.Any(FIELD(map.reserved[0]));
  trial.Any(FIELD(map.reserved[1]));
  trial.UpTo(1, FIELD(count));
  MapInOrder(trial, map, count);
}
void MapTail(Trial& trial) {
  static const CUmipmappedArray mipmap = [] {
    CUmipmappedArray made = nullptr;
    Must("cuMipmappedArrayCreate", &made, &kShape, 8);
    return made;
  }();
  CUarrayMapInfo map = MapOf(CU_RESOURCE_TYPE_MIPMAPPED_ARRAY);
  map.resource.mipmap = mipmap;
  map.subresourceType = CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL;
  auto& tail = map.subresource.miptail;
  tail.size = kTile;
  trial.Any(FIELD(map.subresourceType));
  trial.Any(FIELD(tail.layer));
  trial.Size(FIELD(tail.offset));
  trial.Size(FIELD(tail.size));
  trial.Any(FIELD(map.memOperationType));
  trial.Size(FIELD(map.offset));
  trial.Any(FIELD(map.deviceBitMask));
  MapInOrder(trial, map, 1);
}

}  // namespace

std::vector<Case> SparseArrayCases() {
  return {{"cuMemMapArrayAsync/tile", MapTile}, {"cuMemMapArrayAsync/tail", MapTail}};
}

}  // namespace twinmmu::abi
