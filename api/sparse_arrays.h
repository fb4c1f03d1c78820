// SparseArrays: CUDA arrays whose tiles are mapped to memory one by one.
//
// A sparse array has a shape and no memory. Memory comes from allocations made with kUsageTilePool,
// tile by tile: a tile is a box of elements whose size the driver chooses (64 KiB). Where no tile
// is mapped, reads give 0 and writes vanish. Levels of a mipmapped array that are smaller than a
// tile share its mip tail, which is mapped as so many bytes.
//
// Mapping is work on a stream: it takes effect in the order of the stream.
//
// Errors, and state after an error: as in api/vmm.h. Thread safety: as in api/vmm.h.

#ifndef TWINMMU_API_SPARSE_ARRAYS_H_
#define TWINMMU_API_SPARSE_ARRAYS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/executor.h"

namespace twinmmu {

// CUarray_format: what one channel of an element is.
enum class ArrayFormat : int32_t {
  kUint8 = 0x01,
  kUint16 = 0x02,
  kUint32 = 0x03,
  kInt8 = 0x08,
  kInt16 = 0x09,
  kInt32 = 0x0a,
  kHalf = 0x10,
  kFloat = 0x20,
};

// In elements, or as a position. For 2-D arrays z is 0, as an extent of tiles 1.
struct ArrayExtent {
  uint64_t x = 0;
  uint64_t y = 0;
  uint64_t z = 0;

  friend constexpr bool operator==(const ArrayExtent& a, const ArrayExtent& b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
  }
};

// CUDA_ARRAY3D_...: bits of ArrayDescriptor::flags. kArraySparse is not added by anybody: an array
// without it has memory of its own, and no tiles.
inline constexpr uint32_t kArrayLayered = 0x01;
inline constexpr uint32_t kArraySurface = 0x02;
inline constexpr uint32_t kArraySparse = 0x40;

// CUDA_ARRAY3D_DESCRIPTOR.
struct ArrayDescriptor {
  ArrayExtent extent;  // y 0: one dimension; z 0: at most two; z of a layered array: its layers
  ArrayFormat format = ArrayFormat::kUint32;
  uint32_t channels = 1;  // 1, 2 or 4
  uint32_t flags = kArraySparse;
};

// A CUarray and a CUmipmappedArray; value() is the driver's.
using Array = DeviceObject<struct ArrayTag>;
using MipmappedArray = DeviceObject<struct MipmappedArrayTag>;

// CUDA_ARRAY_SPARSE_PROPERTIES.
struct SparseProperties {
  ArrayExtent tile;             // in elements
  uint32_t mip_tail_level = 0;  // the first level in the mip tail
  Bytes mip_tail_size;
  bool single_mip_tail = false;  // one for all layers
};

// Which part of an array a TileOperation is about.
struct TileRange {
  uint32_t level = 0;
  uint32_t layer = 0;
  ArrayExtent offset;  // multiples of the tile
  ArrayExtent extent;  // multiples of the tile, or up to the edge of the level
};
struct MipTailRange {
  uint32_t layer = 0;
  Bytes offset;
  Bytes size;
};

// One entry of Map: CUarrayMapInfo. Tiles of an array, or of a mipmapped one, are mapped to memory
// from `memory_offset` on, or, where `memory` is 0, unmapped.
struct TileOperation {
  Array array;            // one of these two; the other is the default
  MipmappedArray mipmap;  //
  bool in_mip_tail = false;
  TileRange tiles;        // unless in_mip_tail
  MipTailRange mip_tail;  // if in_mip_tail
  AllocationHandle memory;
  Bytes memory_offset;
  uint32_t device_mask = 1;  // one bit: that of the stream's device
  uint32_t flags = 0;        // must be 0
};

class SparseArrays {
 public:
  virtual ~SparseArrays() = default;

  // An array of `device`, all of whose tiles are unmapped. [SPARSE-*]
  // InvalidArgument: a shape, format, number of channels or flags that do not go together; one
  // dimension. NotFound (INVALID_DEVICE): no such device.
  virtual absl::StatusOr<Array> CreateArray(DeviceOrdinal device,
                                            const ArrayDescriptor& descriptor) = 0;
  virtual absl::Status DestroyArray(Array array) = 0;
  virtual absl::StatusOr<MipmappedArray> CreateMipmappedArray(DeviceOrdinal device,
                                                              const ArrayDescriptor& descriptor,
                                                              uint32_t levels) = 0;
  virtual absl::Status DestroyMipmappedArray(MipmappedArray array) = 0;
  // A level as an array; it ends with the mipmapped array and is not destroyed.
  virtual absl::StatusOr<Array> GetLevel(MipmappedArray array, uint32_t level) = 0;

  // InvalidArgument: the array is not sparse.
  virtual absl::StatusOr<SparseProperties> GetSparseProperties(Array array) = 0;
  virtual absl::StatusOr<SparseProperties> GetSparseProperties(MipmappedArray array) = 0;

  // Maps and unmaps tiles, in the order of the stream. All operations or none.
  // InvalidArgument: positions or extents that are no tiles, beyond the array or the memory, memory
  // of another device, a device mask that is not the stream's device, flags not 0.
  // Undefined on drivers: memory that was not created with kUsageTilePool.
  virtual absl::Status MapTiles(Stream stream, absl::Span<const TileOperation> operations) = 0;

  // Copies a box of elements, whose rows are packed in host memory, in the order of the stream; the
  // box begins at `offset` of the array and may not reach beyond it.
  virtual absl::Status CopyHostToArray(Stream stream, Array array, const ArrayExtent& offset,
                                       const ArrayExtent& extent, const void* source) = 0;
  virtual absl::Status CopyArrayToHost(Stream stream, void* destination, Array array,
                                       const ArrayExtent& offset, const ArrayExtent& extent) = 0;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_SPARSE_ARRAYS_H_
