// What sparse arrays give to streams: maps.

#include <mutex>
#include <new>
#include <shared_mutex>
#include <utility>

#include "sim/base/errors.h"
#include "sim/calls/arrays/simulated_sparse_arrays.h"
#include "sim/calls/executor/simulated_streams.h"
#include "sim/diagnostics/call_record.h"

namespace twinmmu {
namespace {

constexpr char kMapCall[] = "cuMemMapArrayAsync";

// Whether [offset, offset + extent) are whole tiles of a level that has `size` elements.
bool AreTiles(uint64_t offset, uint64_t extent, uint64_t tile, uint64_t size) {
  if (offset % tile != 0 || extent == 0 || offset >= size || extent > size - offset) return false;
  return extent % tile == 0 || extent == size - offset;
}

absl::Status NoSuchOperation(const TileOperation& operation) {
  return InvalidValue(kMapCall, "there is no operation ", static_cast<uint32_t>(operation.type));
}

}  // namespace

absl::StatusOr<std::vector<uint64_t>> SimulatedSparseArrays::BlocksOf(
    const State& state, const TileOperation& operation) const {
  const ArrayLayout& layout = state.layout;
  std::vector<uint64_t> blocks;
  if (operation.subresource == ArraySubresource::kMipTail) {
    const MipTailRange& tail = operation.mip_tail;
    const Bytes block(ArrayLayout::kBlock);
    const bool whole = tail.offset % block == Bytes(0) && tail.size % block == Bytes(0);
    if (!whole || tail.layer >= layout.tails() || tail.size == Bytes(0) ||
        !IsInside(tail.offset.value(), tail.size.value(),
                  layout.properties().mip_tail_size.value())) {
      return InvalidValue(kMapCall, ToString(tail.size), " at ", ToString(tail.offset),
                          " of layer ", tail.layer, " are not tiles of the mip tail, which has ",
                          ToString(layout.properties().mip_tail_size));
    }
    for (uint64_t i = 0; i < tail.size / block; ++i) {
      blocks.push_back(layout.TailBlock(tail.layer, tail.offset / block + i));
    }
    return blocks;
  }
  if (operation.subresource != ArraySubresource::kSparseLevel) {
    return InvalidValue(kMapCall, "there is no subresource type ",
                        static_cast<uint32_t>(operation.subresource));
  }
  const TileRange& tiles = operation.tiles;
  if (tiles.level >= layout.levels() || layout.InTail(tiles.level) ||
      tiles.layer >= layout.layers()) {
    return InvalidValue(kMapCall, "level ", tiles.level, " of layer ", tiles.layer,
                        " has no tiles");
  }
  const ArrayExtent& size = layout.level(tiles.level).extent;
  const ArrayExtent& tile = layout.properties().tile;
  if (!AreTiles(tiles.offset.x, tiles.extent.x, tile.x, size.x) ||
      !AreTiles(tiles.offset.y, tiles.extent.y, tile.y, size.y) ||
      !AreTiles(tiles.offset.z, tiles.extent.z, tile.z, size.z)) {
    return InvalidValue(kMapCall, tiles.extent.x, " x ", tiles.extent.y, " x ", tiles.extent.z,
                        " elements at ", tiles.offset.x, ", ", tiles.offset.y, ", ", tiles.offset.z,
                        " are not tiles of level ", tiles.level);
  }
  const auto end = [](uint64_t offset, uint64_t extent, uint64_t step) {
    return (offset + extent + step - 1) / step;
  };
  for (uint64_t z = tiles.offset.z / tile.z; z < end(tiles.offset.z, tiles.extent.z, tile.z); ++z) {
    for (uint64_t y = tiles.offset.y / tile.y; y < end(tiles.offset.y, tiles.extent.y, tile.y);
         ++y) {
      for (uint64_t x = tiles.offset.x / tile.x; x < end(tiles.offset.x, tiles.extent.x, tile.x);
           ++x) {
        blocks.push_back(layout.TileBlock(tiles.level, tiles.layer, {x, y, z}));
      }
    }
  }
  return blocks;
}

// With mmu_.mutex held.
absl::Status SimulatedSparseArrays::CheckMemory(Stream stream, const TileOperation& operation,
                                                uint64_t blocks) const {
  const AllocationHandle handle = operation.memory;
  const AllocationRecord* const allocation = mmu_.memory.Find(handle);
  if (allocation == nullptr || (allocation->references == 0 && allocation->mappings == 0)) {
    return RefuseCall(state_, kMapCall, AddressRange(), WhyNotUsable(state_, handle),
                      words::NamesNoAllocation(handle));
  }
  if ((allocation->properties.usage & kUsageTilePool) == 0) {
    return RefuseCall(state_, kMapCall, AddressRange(),
                      {DiagnosticKind::kTilesOfOtherMemory, std::nullopt, handle},
                      "the memory was not created for a tile pool");
  }
  if (allocation->pages->location != Location::Device(stream.device())) {
    return InvalidValue(kMapCall, "the memory is of ", ToString(allocation->pages->location),
                        ", the stream of ", ToString(stream.device()));
  }
  const Bytes size = Bytes(ArrayLayout::kBlock) * blocks;
  if (operation.memory_offset % Bytes(ArrayLayout::kBlock) != Bytes(0) ||
      !IsInside(operation.memory_offset.value(), size.value(), allocation->pages->size.value())) {
    return InvalidValue(kMapCall, ToString(size), " at ", ToString(operation.memory_offset),
                        " are not tiles of the memory, which has ",
                        ToString(allocation->pages->size));
  }
  return absl::OkStatus();
}

absl::StatusOr<SimulatedSparseArrays::StatePtr> SimulatedSparseArrays::ArrayOf(
    Stream stream, const TileOperation& operation) const {
  const bool mipmapped = operation.mipmap.value() != 0;
  const uint64_t value = mipmapped ? operation.mipmap.value() : operation.array.value();
  StatePtr state;
  bool is_level = false;
  {
    const std::lock_guard lock(mutex_);
    const NamedArray* const array = mipmapped ? nullptr : arrays_.Find(value);
    const NamedMipmap* const mipmap = mipmapped ? mipmaps_.Find(value) : nullptr;
    if (array != nullptr) state = array->state;
    if (mipmap != nullptr) state = mipmap->state;
    is_level = array != nullptr && array->mipmap != 0;
  }
  if (state == nullptr || state->gone) {
    return NoSuchArray(kMapCall, stream.device(), value, DriverCode::kInvalidValue);
  }
  if (is_level) {
    return InvalidValue(kMapCall,
                        "the array is a level of a mipmapped array, which is the one to name");
  }
  if (state->device != stream.device()) {
    return InvalidValue(kMapCall, "the array is of ", ToString(state->device), ", the stream of ",
                        ToString(stream.device()));
  }
  if ((state->descriptor.flags & (kArraySparse | kArrayDeferred)) == 0) {
    return InvalidValue(kMapCall, "the array is not sparse, nor one of deferred mapping");
  }
  return state;
}

// With mmu_.mutex held.
absl::StatusOr<SimulatedSparseArrays::Change> SimulatedSparseArrays::Prepare(
    Stream stream, const TileOperation& operation) {
  const absl::StatusOr<StatePtr> state = ArrayOf(stream, operation);
  if (!state.ok()) return state.status();
  Change change;
  change.state = *state;
  if (operation.flags != 0) return InvalidValue(kMapCall, "flags ", operation.flags, " are not 0");
  if (stream.device().value() >= 32 ||
      operation.device_mask != 1u << static_cast<unsigned>(stream.device().value())) {
    return InvalidValue(kMapCall, "device mask ", operation.device_mask, " is not ",
                        ToString(stream.device()), " alone");
  }
  if (change.state->is_deferred()) return PrepareWhole(stream, operation, std::move(change));
  const absl::StatusOr<std::vector<uint64_t>> blocks = BlocksOf(*change.state, operation);
  if (!blocks.ok()) return blocks.status();
  if (operation.type == TileOperationType::kUnmap) {
    change.unmapped = *blocks;
    return change;
  }
  if (operation.type != TileOperationType::kMap) return NoSuchOperation(operation);
  const absl::Status memory = CheckMemory(stream, operation, blocks->size());
  if (!memory.ok()) return memory;
  uint64_t offset = operation.memory_offset.value();
  for (const uint64_t block : *blocks) {
    change.mapped[block] = {PhysicalMemory::IndexOf(operation.memory), offset};
    offset += ArrayLayout::kBlock;
  }
  return change;
}

// All of an array of deferred mapping, whatever part is named. With mmu_.mutex held.
absl::StatusOr<SimulatedSparseArrays::Change> SimulatedSparseArrays::PrepareWhole(
    Stream stream, const TileOperation& operation, Change change) const {
  change.unmaps_all = operation.type == TileOperationType::kUnmap;
  if (change.unmaps_all) return change;
  if (operation.type != TileOperationType::kMap) return NoSuchOperation(operation);
  const uint64_t blocks = change.state->layout.blocks();
  const absl::Status memory = CheckMemory(stream, operation, blocks);
  if (!memory.ok()) return memory;
  const uint32_t allocation = PhysicalMemory::IndexOf(operation.memory);
  const uint64_t offset = operation.memory_offset.value();
  for (uint64_t block = 0; block < blocks; ++block) {
    change.mapped[block] = {allocation, offset + block * ArrayLayout::kBlock};
  }
  return change;
}

absl::Status SimulatedSparseArrays::DoMapTiles(Stream stream,
                                               absl::Span<const TileOperation> operations) {
  SimulatedStreams::Queue queue;
  const absl::Status known = streams_.CheckStream(kMapCall, stream, &queue);
  if (!known.ok()) return known;
  if (operations.empty()) return InvalidValue(kMapCall, "there is no operation");
  const auto changes = std::make_shared<std::vector<Change>>();
  {
    const std::unique_lock lock(mmu_.mutex);
    for (const TileOperation& operation : operations) {
      absl::StatusOr<Change> change = Prepare(stream, operation);
      if (!change.ok()) return change.status();
      changes->push_back(*std::move(change));
    }
    for (const Change& change : *changes) {
      for (const auto& [number, block] : change.mapped) mmu_.memory.Pin(block.allocation);
    }
  }
  const auto unpin = [&] {
    const std::unique_lock lock(mmu_.mutex);
    for (const Change& change : *changes) {
      for (const auto& [number, block] : change.mapped) mmu_.memory.Unpin(block.allocation);
    }
  };
  try {
    const absl::Status submitted =
        streams_.SubmitTask(kMapCall, stream, [this, changes] { Apply(*changes); });
    if (!submitted.ok()) unpin();
    return submitted;
  } catch (const std::bad_alloc&) {
    unpin();
    throw;
  }
}

// The work: moves entries that exist, and allocates nothing.
void SimulatedSparseArrays::Apply(std::vector<Change>& changes) {
  const std::unique_lock lock(mmu_.mutex);
  for (Change& change : changes) {
    std::map<uint64_t, Block>& blocks = change.state->blocks;
    const auto unmap = [&](uint64_t number) {
      const auto found = blocks.find(number);
      if (found == blocks.end()) return;
      const uint32_t allocation = found->second.allocation;
      blocks.erase(found);
      mmu_.memory.Unpin(allocation);
    };
    for (const uint64_t number : change.unmapped) unmap(number);
    while (change.unmaps_all && !blocks.empty()) unmap(blocks.begin()->first);
    while (!change.mapped.empty()) {
      auto entry = change.mapped.extract(change.mapped.begin());
      if (change.state->gone) {
        mmu_.memory.Unpin(entry.mapped().allocation);
        continue;
      }
      unmap(entry.key());
      blocks.insert(std::move(entry));
    }
  }
}

}  // namespace twinmmu
