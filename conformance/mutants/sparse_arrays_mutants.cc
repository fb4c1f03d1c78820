// Mutants of sparse arrays.

#include <cstring>
#include <utility>
#include <vector>

#include "conformance/mutants/framework/mutant.h"

namespace twinmmu::conformance {
namespace {

using Operations = std::vector<TileOperation>;

// The operations, each changed by change(operation).
template <typename Change>
Operations Changed(absl::Span<const TileOperation> operations, const Change& change) {
  Operations changed(operations.begin(), operations.end());
  for (TileOperation& operation : changed) change(operation);
  return changed;
}

// One that makes `change` of each operation.
#define TILES_MUTANT(rule_id, sentence, change)                                                    \
  MUTANT(rule_id, MapTiles, sentence) {                                                            \
    return Real::MapTiles(stream, Changed(operations, [&](TileOperation& operation) { change; })); \
  }

MUTANT_EDIT(SPARSE_1, GetArraySparseProperties, "A tile is twice as wide as it is.",
            answer->tile.x *= 2)

MUTANT_EDIT(SPARSE_1, GetArraySparseProperties, "An array with tiles has a mip tail.",
            answer->mip_tail_size = KiB(64))

MUTANT(SPARSE_2, CreateArray, "Three channels are four.") {
  ArrayDescriptor changed = descriptor;
  if (changed.channels == 3) changed.channels = 4;
  return Real::CreateArray(device, changed);
}

MUTANT(SPARSE_2, CreateArray, "One dimension is two.") {
  ArrayDescriptor changed = descriptor;
  if (changed.extent.y == 0) changed.extent.y = 1;
  return Real::CreateArray(device, changed);
}

MUTANT(SPARSE_2, CreateArray, "Flags that do not go together are ignored.") {
  ArrayDescriptor changed = descriptor;
  changed.flags &= ~kArraySurface;
  return Real::CreateArray(device, changed);
}

MUTANT(SPARSE_3, CopyArrayToHost, "An element that is not mapped is not read.") {
  uint32_t value = 0;
  const absl::Status status = Real::CopyArrayToHost(stream, &value, array, offset, extent);
  if (!status.ok() || !Real::SynchronizeStream(stream).ok()) return status;
  if (value != 0) std::memcpy(destination, &value, sizeof(value));
  return status;
}

TILES_MUTANT(SPARSE_4, "All tiles of a list get the memory of the first.",
             operation.memory_offset = operations.front().memory_offset)

MUTANT(SPARSE_4, MapTiles, "Nothing is mapped.") { return Ok(); }

// Each tile gets memory that no other tile has.
class Apart : public Real {
 public:
  using Real::Real;
  CALL(MapTiles) override {
    return Real::MapTiles(stream, Changed(operations, [&](TileOperation& operation) {
                            operation.memory_offset = KiB(64) * next_++;
                          }));
  }

 private:
  uint64_t next_ = 0;
};

MUTANT_CLASS(SPARSE_5, Apart, "Tiles of one memory are apart.")

MUTANT(SPARSE_6, MapTiles, "Unmapping does nothing.") {
  Operations maps;
  for (const TileOperation& operation : operations) {
    if (operation.type == TileOperationType::kMap) maps.push_back(operation);
  }
  return maps.empty() ? Ok() : Real::MapTiles(stream, maps);
}

MUTANT_CLASS(SPARSE_6, Apart, "Memory that is mapped again is other memory.")

TILES_MUTANT(SPARSE_7, "An offset inside a tile is taken for its beginning.",
             if (operation.tiles.offset.x == 1) operation.tiles.offset.x = 0)

TILES_MUTANT(SPARSE_7, "An extent is rounded up to tiles.",
             if (operation.tiles.extent.x == 64) operation.tiles.extent.x = 128)

MUTANT(SPARSE_7, MapTiles, "The edge of an array that ends inside a tile cannot be mapped.") {
  for (const TileOperation& operation : operations) {
    if (operation.tiles.extent.x == 44) return Refuse();
  }
  return Real::MapTiles(stream, operations);
}

TILES_MUTANT(SPARSE_8, "A memory offset inside a tile is rounded down.",
             operation.memory_offset = operation.memory_offset - operation.memory_offset % KiB(64))

MUTANT(SPARSE_8, MapTiles, "Beyond the memory it begins anew.") {
  return Real::MapTiles(stream, Changed(operations, [&](TileOperation& operation) {
                          const Bytes size = SizeOf(operation.memory);
                          if (operation.memory_offset == size) operation.memory_offset = Bytes(0);
                        }));
}

TILES_MUTANT(SPARSE_9, "The device mask is ignored.", operation.device_mask = 1)

TILES_MUTANT(SPARSE_9, "Flags are ignored.", operation.flags = 0)

MUTANT_IF(SPARSE_9, MapTiles, "An empty list is no error.", operations.empty(), Ok())

MUTANT(SPARSE_9, MapTiles, "An operation that does not exist unmaps.") {
  return Real::MapTiles(stream, Changed(operations, [](TileOperation& operation) {
                          if (operation.type == TileOperationType::kMap) return;
                          operation.type = TileOperationType::kUnmap;
                        }));
}

MUTANT(SPARSE_10, MapTiles, "What comes before a refused operation is done.") {
  for (const TileOperation& operation : operations) {
    const absl::Status status = Real::MapTiles(stream, {operation});
    if (!status.ok()) return status;
  }
  return Ok();
}

MUTANT(SPARSE_10, MapTiles, "A list is done from its end.") {
  return Real::MapTiles(stream, Operations(operations.rbegin(), operations.rend()));
}

TILES_MUTANT(SPARSE_11, "The layer is ignored.", operation.tiles.layer = 0)

// A pool that is released takes its tiles along.
class ReleasedTiles : public Real {
 public:
  using Real::Real;
  CALL(MapTiles) override {
    for (TileOperation operation : operations) {
      operation.type = TileOperationType::kUnmap;
      undo_.push_back({stream, operation});
    }
    return Real::MapTiles(stream, operations);
  }
  CALL(Release) override {
    for (const auto& [stream, operation] : undo_) {
      if (operation.memory == handle) Real::MapTiles(stream, {operation}).IgnoreError();
    }
    return Real::Release(handle);
  }

 private:
  std::vector<std::pair<Stream, TileOperation>> undo_;
};

MUTANT_CLASS(SPARSE_12, ReleasedTiles, "Tiles go with the last reference to their memory.")

MUTANT(SPARSE_13, MapTiles, "Memory of no tile pool is mapped.") {
  const absl::Status status = Real::MapTiles(stream, operations);
  return operations.size() == 1 ? Ok() : status;
}

MUTANT_EDIT(SPARSE_14, GetMipmappedArraySparseProperties, "The tail begins one level later.",
            ++answer->mip_tail_level)

MUTANT_IF_REFUSED(SPARSE_14, GetLevel, "Beyond the last level is the last one.",
                  Real::GetLevel(mipmap, 10))

MUTANT(SPARSE_14, MapTiles, "A mip tail is not mapped.") {
  for (const TileOperation& operation : operations) {
    if (operation.subresource == ArraySubresource::kMipTail && operation.mip_tail.layer == 0 &&
        operation.mip_tail.offset == Bytes(0) && operation.mip_tail.size == KiB(64)) {
      return Ok();
    }
  }
  return Real::MapTiles(stream, operations);
}

MUTANT(SPARSE_15, GetArraySparseProperties, "Every array has sparse properties.") {
  return SparseProperties{{128, 128, 1}, 0, Bytes(0), false};
}

MUTANT(SPARSE_16, CopyArrayToHost, "A box is cut at the edge.") {
  ArrayExtent cut = extent;
  if (offset.x < 1024 && offset.x + cut.x > 1024) cut.x = 1024 - offset.x;
  return Real::CopyArrayToHost(stream, destination, array, offset, cut);
}

MUTANT_IF_REFUSED(SPARSE_16, CopyHostToArray, "What is beyond the array is left out.", Ok())

MUTANT(SPARSE_17, MapTiles, "Maps take effect after the copies that follow.") {
  const auto other = Real::CreateStream(stream.device());
  if (!other.ok()) return other.status();
  const absl::Status status = Real::MapTiles(*other, operations);
  Real::DestroyStream(*other).IgnoreError();
  return status;
}

}  // namespace
}  // namespace twinmmu::conformance
