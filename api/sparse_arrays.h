// SparseArrays: CUDA arrays whose tiles are mapped to memory one by one.
//
// A sparse array has a shape but no memory. Memory comes from allocations made with kUsageTilePool,
// tile by tile: a tile is a 64 KiB box of elements whose shape the driver chooses. Where no tile is
// mapped, reads return 0 and writes are discarded. Levels that are smaller than a tile in some
// dimension make up the mip tail, which is mapped as a range of bytes: one tail per layer, or, if
// even level 0 is in it, one for all layers. An array that is not mipmapped has only level 0.
//
// An array of deferred mapping (kArrayDeferred) has no memory either, until some is mapped to it as
// a whole; until then nothing may access it: that is a fault.
//
// Mapping is work on a stream: it takes effect in stream order. What is mapped keeps its memory
// until it is unmapped or the array is destroyed, even after the last Release.
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

// CUarray_format: the type of one channel of an element. See also IsNormalised.
enum class ArrayFormat : int32_t {
  kUint8 = 0x01,
  kUint16 = 0x02,
  kUint32 = 0x03,
  kInt8 = 0x08,
  kInt16 = 0x09,
  kInt32 = 0x0a,
  kHalf = 0x10,
  kFloat = 0x20,
  kPacked = 0x50,  // UNORM_INT_101010_2
};

// In elements, or a position. In 2-D arrays z is 0, or 1 in an extent of tiles.
struct ArrayExtent {
  uint64_t x = 0;
  uint64_t y = 0;
  uint64_t z = 0;

  friend constexpr bool operator==(const ArrayExtent& a, const ArrayExtent& b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
  }
};

// CUDA_ARRAY3D_...: bits of ArrayDescriptor::flags. An array without kArraySparse has its own
// memory, and no tiles; with kArrayDeferred it has none until MapTiles maps some to all of it, and
// nothing may access it before.
inline constexpr uint32_t kArrayLayered = 0x01;
inline constexpr uint32_t kArraySurface = 0x02;
inline constexpr uint32_t kArrayGather = 0x08;
inline constexpr uint32_t kArraySparse = 0x40;
inline constexpr uint32_t kArrayDeferred = 0x80;
inline constexpr uint32_t kArrayVideo = 0x100;  // also for video engines

// CUDA_ARRAY3D_DESCRIPTOR.
struct ArrayDescriptor {
  ArrayExtent extent;  // y 0: 1-D; z 0: at most 2-D; z of a layered array: its layers
  ArrayFormat format = ArrayFormat::kUint32;
  uint32_t channels = 1;  // 1, 2 or 4
  uint32_t flags = kArraySparse;
};

// CUarray and CUmipmappedArray; value() is the driver's.
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
// CUarraySparseSubresourceType: the part of the array it applies to.
enum class ArraySubresource : uint32_t { kSparseLevel = 0, kMipTail = 1 };

// Tiles of one level and layer. Each offset is a multiple of the tile, and each extent too, or it
// reaches the edge of the level. Without layers, layer is 0; in two dimensions offset.z is 0 and
// extent.z 1.
struct TileRange {
  uint32_t level = 0;
  uint32_t layer = 0;
  ArrayExtent offset;
  ArrayExtent extent;
};
// Bytes of a mip tail; multiples of 64 KiB. If all layers share one tail, layer is 0.
struct MipTailRange {
  uint32_t layer = 0;
  Bytes offset;
  Bytes size;
};

// One entry of MapTiles: CUarrayMapInfo.
struct TileOperation {
  MipmappedArray mipmap;  // the one it applies to, unless its value is 0; then `array`
  Array array;
  ArraySubresource subresource = ArraySubresource::kSparseLevel;
  TileRange tiles;        // of kSparseLevel
  MipTailRange mip_tail;  // of kMipTail
  TileOperationType type = TileOperationType::kMap;
  AllocationHandle memory;   // for kMap: memory of the tiles, starting at memory_offset
  Bytes memory_offset;       // a multiple of 64 KiB
  uint32_t device_mask = 1;  // one bit: that of the stream's device
  uint32_t flags = 0;        // must be 0
};

class SparseArrays {
 public:
  virtual ~SparseArrays() = default;

  // Creates an array on `device`; the tiles of a sparse one are all unmapped. [SPARSE-1, SPARSE-2]
  // InvalidArgument: an invalid combination of shape, format, number of channels and flags, or more
  // elements than the device allows; a sparse 1-D array. ResourceExhausted: out of memory for an
  // array that has its own. NotFound (INVALID_DEVICE): no such device. Unimplemented: the device
  // has no sparse arrays.
  virtual absl::StatusOr<Array> CreateArray(DeviceOrdinal device,
                                            const ArrayDescriptor& descriptor) = 0;
  // Waits for the work of its device, and unmaps what is mapped.
  // InvalidArgument (INVALID_HANDLE): null. Undefined on drivers: an array that is gone.
  virtual absl::Status DestroyArray(Array array) = 0;
  // The same with `levels` levels, each half the size of the previous one, or as many as possible.
  // [SPARSE-14]
  virtual absl::StatusOr<MipmappedArray> CreateMipmappedArray(DeviceOrdinal device,
                                                              const ArrayDescriptor& descriptor,
                                                              uint32_t levels) = 0;
  virtual absl::Status DestroyMipmappedArray(MipmappedArray mipmap) = 0;
  // A level as an array, for copies; the same one at each call. It ends with the mipmapped array,
  // through which its tiles are mapped. InvalidArgument: no such level. [SPARSE-14]
  virtual absl::StatusOr<Array> GetLevel(MipmappedArray mipmap, uint32_t level) = 0;

  // InvalidArgument: the array is not sparse, or a level. [SPARSE-1, SPARSE-15]
  virtual absl::StatusOr<SparseProperties> GetArraySparseProperties(Array array) = 0;
  virtual absl::StatusOr<SparseProperties> GetMipmappedArraySparseProperties(
      MipmappedArray mipmap) = 0;

  // Maps and unmaps, one operation after another, in stream order. A map replaces what was mapped
  // there; unmapping what is not mapped is not an error. [SPARSE-3 .. SPARSE-13]
  // InvalidArgument, and nothing is done: an empty list, positions or extents that are not whole
  // tiles or exceed the array or the memory, memory of another device, a device mask other than the
  // stream's device, flags not 0, a level of a mipmapped array as an array. Of an array of deferred
  // mapping any part, of any subresource, stands for all of it. Undefined on drivers:
  // memory that was not created with kUsageTilePool, a dead handle.
  virtual absl::Status MapTiles(Stream stream, absl::Span<const TileOperation> operations) = 0;

  // Copies a box of elements, whose rows are packed in host memory, in stream order. The z of a
  // layered array is its layer. [SPARSE-16]
  // InvalidArgument: the box reaches beyond the array; null.
  virtual absl::Status CopyHostToArray(Stream stream, Array array, const ArrayExtent& offset,
                                       const ArrayExtent& extent, const void* source) = 0;
  virtual absl::Status CopyArrayToHost(Stream stream, void* destination, Array array,
                                       const ArrayExtent& offset, const ArrayExtent& extent) = 0;
};

// The size of an element with all its channels. 0 for a format that does not exist, or not with so
// many channels.
Bytes ElementSize(const ArrayDescriptor& descriptor);
// Of those that stand for numbers from 0 or -1 to 1, and have one number of channels each:
// UNORM_INT_101010_2, UNORM_INT8X1 to SNORM_INT16X4. Source: an H200 with driver 580.159.
bool IsNormalised(ArrayFormat format);
// Of one of these but kPacked: integers of what type it stores, and how many.
struct NormalisedElement {
  ArrayFormat stored = ArrayFormat::kUint8;
  uint32_t channels = 1;
};
NormalisedElement NormalisedElementOf(ArrayFormat format);

}  // namespace twinmmu

#endif  // TWINMMU_API_SPARSE_ARRAYS_H_
