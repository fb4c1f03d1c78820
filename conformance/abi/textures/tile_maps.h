// CUarrayMapInfo and cuMemMapArrayAsync, which our cuda.h does not have.

#ifndef TWINMMU_CONFORMANCE_ABI_TEXTURES_TILE_MAPS_H_
#define TWINMMU_CONFORMANCE_ABI_TEXTURES_TILE_MAPS_H_

#include "conformance/abi/driver_under_test.h"

namespace twinmmu::abi {

struct MapInfo {
  int of_mipmap = 0;
  CUarray array = nullptr;
  int of_tail = 0;
  struct alignas(8) Tiles {
    unsigned int level = 0, layer = 0;
    unsigned int x = 0, y = 0, z = 0;
    unsigned int width = 0, height = 0, depth = 1;
  } tiles;
  int operation = 1;  // map
  int handle_type = 0;
  CUmemGenericAllocationHandle memory = 0;
  unsigned long long offset = 0;
  unsigned int devices = 1;  // a bit for each
  unsigned int flags = 0;
  unsigned int reserved[2] = {};
};
static_assert(sizeof(MapInfo) == 96);

inline constexpr Function<CUresult(MapInfo*, unsigned int, CUstream)> map_tiles(
    "cuMemMapArrayAsync");

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_TEXTURES_TILE_MAPS_H_
