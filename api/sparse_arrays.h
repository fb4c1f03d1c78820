// SparseArrays: CUDA arrays whose tiles are mapped to memory one by one.
//
// A sparse array has a shape and no memory. Memory comes from allocations made with kUsageTilePool,
// tile by tile: a tile is a box of elements whose shape the driver chooses, of 64 KiB. Where no
// tile is mapped, reads give 0 and writes vanish. Levels that are smaller than a tile in some
// dimension make up the mip tail, which is mapped as so many bytes: one for each layer, or, where
// even level 0 is in it, one for all. The level of an array that is not mipmapped is level 0.
//
// Mapping is work on a stream: it takes effect in the order of the stream. What is mapped keeps its
// memory until it is unmapped or the array is destroyed, also after the last Release.
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

// CUDA_ARRAY3D_...: bits of ArrayDescriptor::flags. An array without kArraySparse has memory of its
// own, and no tiles.
inline constexpr uint32_t kArrayLayered = 0x01;
inline constexpr uint32_t kArraySurface = 0x02;
inline constexpr uint32_t kArrayGather = 0x08;
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

// CUmemOperationType: what a TileOperation does.
enum class TileOperationType : uint32_t { kMap = 1, kUnmap = 2 };
// CUarraySparseSubresourceType: the part of the array that it concerns.
enum class ArraySubresource : uint32_t { kSparseLevel = 0, kMipTail = 1 };

// Tiles of one level and layer. Each offset is a multiple of the tile, and each extent is one too
// or reaches the edge of the level. Where there are no layers, layer 0; in two dimensions offset.z
// 0 and extent.z 1.
struct TileRange {
  uint32_t level = 0;
  uint32_t layer = 0;
  ArrayExtent offset;
  ArrayExtent extent;
};
// Bytes of a mip tail; multiples of 64 KiB. Where there is one tail for all layers, layer 0.
struct MipTailRange {
  uint32_t layer = 0;
  Bytes offset;
  Bytes size;
};

// One entry of MapTiles: CUarrayMapInfo.
struct TileOperation {
  MipmappedArray mipmap;  // the one that it concerns, unless its value is 0; then `array`
  Array array;
  ArraySubresource subresource = ArraySubresource::kSparseLevel;
  TileRange tiles;        // of kSparseLevel
  MipTailRange mip_tail;  // of kMipTail
  TileOperationType type = TileOperationType::kMap;
  AllocationHandle memory;   // of kMap: where the tiles go, from memory_offset on
  Bytes memory_offset;       // a multiple of 64 KiB
  uint32_t device_mask = 1;  // one bit: that of the stream's device
  uint32_t flags = 0;        // must be 0
};

class SparseArrays {
 public:
  virtual ~SparseArrays() = default;

  // A new array of `device`; of a sparse one all tiles are unmapped. [SPARSE-1, SPARSE-2]
  // InvalidArgument: a shape, format, number of channels or flags that do not go together, or more
  // elements than the device allows; a sparse one of one dimension. ResourceExhausted: no memory
  // for one that is not sparse. NotFound (INVALID_DEVICE): no such device. Unimplemented: the
  // device has no sparse arrays.
  virtual absl::StatusOr<Array> CreateArray(DeviceOrdinal device,
                                            const ArrayDescriptor& descriptor) = 0;
  // Waits for the work of its device. What is mapped is unmapped.
  // InvalidArgument (INVALID_HANDLE): null. Undefined on drivers: an array that is gone.
  virtual absl::Status DestroyArray(Array array) = 0;
  // The same with `levels` levels, each half as large as the one before, or as many as there can
  // be. [SPARSE-14]
  virtual absl::StatusOr<MipmappedArray> CreateMipmappedArray(DeviceOrdinal device,
                                                              const ArrayDescriptor& descriptor,
                                                              uint32_t levels) = 0;
  virtual absl::Status DestroyMipmappedArray(MipmappedArray mipmap) = 0;
  // A level as an array, to copy; the same at each call. It ends with the mipmapped array. Its
  // tiles are mapped through that. InvalidArgument: no such level. [SPARSE-14]
  virtual absl::StatusOr<Array> GetLevel(MipmappedArray mipmap, uint32_t level) = 0;

  // InvalidArgument: the array is not sparse, or a level. [SPARSE-1, SPARSE-15]
  virtual absl::StatusOr<SparseProperties> GetArraySparseProperties(Array array) = 0;
  virtual absl::StatusOr<SparseProperties> GetMipmappedArraySparseProperties(
      MipmappedArray mipmap) = 0;

  // Maps and unmaps, one operation after the other, in the order of the stream. A map replaces what
  // was mapped there; to unmap what is not mapped is no error. [SPARSE-3 .. SPARSE-13]
  // InvalidArgument, and nothing is done: an empty list, positions or extents that are not whole
  // tiles, or beyond the array or the memory, memory of another device, a device mask that is not
  // the stream's device, flags that are not 0, a level of a mipmapped array as an array. Undefined
  // on drivers: memory that was not created with kUsageTilePool, a dead handle.
  virtual absl::Status MapTiles(Stream stream, absl::Span<const TileOperation> operations) = 0;

  // Copies a box of elements, whose rows are packed in host memory, in the order of the stream. The
  // z of a layered array is its layer. [SPARSE-16]
  // InvalidArgument: the box reaches beyond the array; null.
  virtual absl::Status CopyHostToArray(Stream stream, Array array, const ArrayExtent& offset,
                                       const ArrayExtent& extent, const void* source) = 0;
  virtual absl::Status CopyArrayToHost(Stream stream, void* destination, Array array,
                                       const ArrayExtent& offset, const ArrayExtent& extent) = 0;
};

// Bytes of an element: of all its channels. 0 for a format that does not exist.
Bytes ElementSize(const ArrayDescriptor& descriptor);

}  // namespace twinmmu

#endif  // TWINMMU_API_SPARSE_ARRAYS_H_
