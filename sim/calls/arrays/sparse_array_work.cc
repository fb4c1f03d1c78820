// What sparse arrays give to streams: maps, and copies.

#include <algorithm>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <utility>

#include "sim/base/errors.h"
#include "sim/calls/arrays/simulated_sparse_arrays.h"
#include "sim/calls/executor/simulated_streams.h"
#include "sim/diagnostics/call_record.h"
#include "sim/host/guarded_access.h"

namespace twinmmu {
namespace {

constexpr char kMapCall[] = "cuMemMapArrayAsync";
constexpr char kCopyCall[] = "cuMemcpy3DAsync";

// Whether [offset, offset + extent) are whole tiles of a level that has `size` elements.
bool AreTiles(uint64_t offset, uint64_t extent, uint64_t tile, uint64_t size) {
  if (offset % tile != 0 || extent == 0 || offset >= size || extent > size - offset) return false;
  return extent % tile == 0 || extent == size - offset;
}

bool IsInside(uint64_t offset, uint64_t extent, uint64_t size) {
  return offset <= size && extent <= size - offset;
}

Fault MissingHost(const void* address, Access access) {
  const DeviceAddress missing(reinterpret_cast<uint64_t>(address));
  return Fault{kCopyCall, AddressRange{missing, Bytes(1), Bytes(0)}, access, Location::Host()};
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
  if ((state->descriptor.flags & kArraySparse) == 0) {
    return InvalidValue(kMapCall, "the array is not sparse");
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
  const absl::StatusOr<std::vector<uint64_t>> blocks = BlocksOf(*change.state, operation);
  if (!blocks.ok()) return blocks.status();
  if (operation.type == TileOperationType::kUnmap) {
    change.unmapped = *blocks;
    return change;
  }
  if (operation.type != TileOperationType::kMap) {
    return InvalidValue(kMapCall, "there is no operation ", static_cast<uint32_t>(operation.type));
  }
  const absl::Status memory = CheckMemory(stream, operation, blocks->size());
  if (!memory.ok()) return memory;
  uint64_t offset = operation.memory_offset.value();
  for (const uint64_t block : *blocks) {
    change.mapped[block] = {PhysicalMemory::IndexOf(operation.memory), offset};
    offset += ArrayLayout::kBlock;
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

absl::Status SimulatedSparseArrays::SubmitCopy(Stream stream, Array array, Copy copy) {
  SimulatedStreams::Queue queue;
  const absl::Status known = streams_.CheckStream(kCopyCall, stream, &queue);
  if (!known.ok()) return known;
  const absl::StatusOr<NamedArray> found = Find(kCopyCall, array, DriverCode::kInvalidValue);
  if (!found.ok()) return found.status();
  copy.state = found->state;
  copy.level = found->level;
  const ArrayLayout& layout = found->state->layout;
  const ArrayExtent& size = layout.level(found->level).extent;
  const uint64_t depth = layout.has_depth() ? size.z : layout.layers();
  const uint64_t unit = copy.in_bytes ? 1 : layout.element();
  if (!IsInside(copy.offset.x, copy.extent.x, size.x * (layout.element() / unit)) ||
      !IsInside(copy.offset.y, copy.extent.y, size.y) ||
      !IsInside(copy.offset.z, copy.extent.z, depth)) {
    return InvalidValue(kCopyCall, "the box reaches beyond the array of ", size.x, " x ", size.y,
                        " x ", depth);
  }
  copy.in_bytes = true;
  copy.offset.x *= unit;
  copy.extent.x *= unit;
  const Bytes bytes(copy.extent.x * copy.extent.y * copy.extent.z);
  if (bytes == Bytes(0)) return absl::OkStatus();
  const AddressRange host{DeviceAddress(reinterpret_cast<uint64_t>(copy.host)), bytes, Bytes(0)};
  if (copy.host == nullptr || mmu_.OverlapsDevices(host)) {
    return InvalidValue(kCopyCall, "the pointer is null, or not of host memory");
  }
  const Access access = copy.to_array ? Access::kRead : Access::kReadWrite;
  const void* const missing = FindInaccessible(host, access);
  if (missing != nullptr) {
    const std::shared_lock lock(mmu_.mutex);
    return RefuseFault(state_, MissingHost(missing, access));
  }
  return streams_.SubmitTask(kCopyCall, stream, [this, copy] { Run(copy); });
}

// The work: what has no memory reads as zeros, and takes nothing.
void SimulatedSparseArrays::Run(const Copy& copy) const {
  const State& state = *copy.state;
  const ArrayLayout& layout = state.layout;
  const std::shared_lock lock(mmu_.mutex);
  if (state.gone) return;
  const auto memory_of = [&](uint64_t block) -> char* {
    if (state.own.data() != nullptr) return state.own.data() + block * ArrayLayout::kBlock;
    const auto found = state.blocks.find(block);
    if (found == state.blocks.end()) return nullptr;
    return mmu_.memory[found->second.allocation].pages->backing.data() + found->second.offset;
  };
  const uint64_t element = layout.element();
  char* host = copy.host;
  for (uint64_t z = copy.offset.z; z < copy.offset.z + copy.extent.z; ++z) {
    const uint64_t layer = layout.has_depth() ? 0 : z;
    for (uint64_t y = copy.offset.y; y < copy.offset.y + copy.extent.y; ++y) {
      for (uint64_t x = copy.offset.x; x < copy.offset.x + copy.extent.x;) {
        const ArrayLayout::Run run =
            layout.RunAt(copy.level, layer, {x / element, y, layout.has_depth() ? z : 0});
        const uint64_t inside = x % element;  // of an element that is not copied whole
        const size_t bytes =
            std::min(run.elements * element - inside, copy.offset.x + copy.extent.x - x);
        char* const memory = memory_of(run.block);
        char* const inner = memory == nullptr ? nullptr : memory + run.offset + inside;
        const void* missing = nullptr;
        if (copy.to_array) {
          if (inner != nullptr) missing = GuardedCopy(inner, host, bytes, false);
        } else {
          missing = inner == nullptr ? GuardedFill(host, bytes, 0, 1, false)
                                     : GuardedCopy(host, inner, bytes, false);
        }
        if (missing != nullptr) {
          return state_.sticky_error.Raise(
              MissingHost(missing, copy.to_array ? Access::kRead : Access::kReadWrite));
        }
        host += bytes;
        x += bytes;
      }
    }
  }
}

absl::Status SimulatedSparseArrays::CopyBytes(Stream stream, Array array, const ArrayExtent& offset,
                                              const ArrayExtent& extent, char* host,
                                              bool to_array) {
  Copy copy;
  copy.offset = offset;
  copy.extent = extent;
  copy.in_bytes = true;
  copy.host = host;
  copy.to_array = to_array;
  return guard_.Guard(kCopyCall, [&] { return SubmitCopy(stream, array, copy); });
}

absl::Status SimulatedSparseArrays::DoCopyHostToArray(Stream stream, Array array,
                                                      const ArrayExtent& offset,
                                                      const ArrayExtent& extent,
                                                      const void* source) {
  Copy copy;
  copy.offset = offset;
  copy.extent = extent;
  copy.host = const_cast<char*>(static_cast<const char*>(source));
  copy.to_array = true;
  return SubmitCopy(stream, array, copy);
}

absl::Status SimulatedSparseArrays::DoCopyArrayToHost(Stream stream, void* destination, Array array,
                                                      const ArrayExtent& offset,
                                                      const ArrayExtent& extent) {
  Copy copy;
  copy.offset = offset;
  copy.extent = extent;
  copy.host = static_cast<char*>(destination);
  return SubmitCopy(stream, array, copy);
}

}  // namespace twinmmu
