// Addresses of pools, of which parts have memory.

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/host/pool_file.h"
#include "sim/memory/linear_memory.h"

namespace twinmmu {
namespace {

// So many pools have room to grow without a gap.
constexpr uint64_t kArenas = 64;
constexpr Bytes kAlignment = MiB(32);
constexpr Bytes kHostArena = GiB(8);

}  // namespace

absl::Status LinearMemory::PlaceArena(Arena* arena, Bytes size) {
  const bool on_device = arena->wanted.on_device();
  absl::StatusOr<Backing> backing =
      Backing::Make(BackingKind::kPrivate, size + (on_device ? Bytes(0) : kAlignment));
  if (!backing.ok()) return backing.status();
  arena->backing = *std::move(backing);
  arena->memory = arena->backing.data();
  if (!on_device) {  // it is seen where it lies
    const Bytes start(reinterpret_cast<uint64_t>(arena->memory));
    const Bytes base = RoundUp(start, kAlignment);
    arena->memory += (base - start).value();
    arena->range = AddressRange{DeviceAddress(base.value()), size, Bytes(0)};
    return absl::OkStatus();
  }
  return ReserveArena(arena, size);
}

absl::Status LinearMemory::ReserveArena(Arena* arena, Bytes size) {
  // Away from other memory, and from other arenas as long as there is room.
  const Bytes spacing(addresses_.size.value() / kArenas / kAlignment.value() * kAlignment.value());
  const Bytes first = RoundUp(Bytes(addresses_.base.value()), kAlignment);
  std::optional<uint32_t> id;
  for (uint64_t k = kArenas - 1; k > 0 && !id.has_value() && size <= spacing; --k) {
    const DeviceAddress hint((first + k * spacing).value());
    id = space_.Reserve(size, kAlignment, hint);
    if (!id.has_value() || space_[*id].base == hint) continue;
    space_.Free(*id);
    id.reset();
  }
  if (!id.has_value()) id = space_.Reserve(size, kAlignment, DeviceAddress(0));
  if (!id.has_value()) return absl::ResourceExhaustedError("no addresses are left for a pool");
  arena->range = AddressRange{space_[*id].base, size, Bytes(0)};
  return absl::OkStatus();
}

absl::StatusOr<AddressRange> LinearMemory::AddArena(Bytes least, const LinearAllocation& wanted) {
  if (least > Bytes(uint64_t{1} << 46)) {
    return absl::ResourceExhaustedError(absl::StrCat("nothing has room for ", ToString(least)));
  }
  const Bytes block = RoundUp(least, kAlignment);
  // One behind the other they would be taken for one.
  const Bytes usual =
      wanted.on_device()
          ? Bytes(addresses_.size.value() / kArenas / kAlignment.value() * kAlignment.value())
          : kHostArena;
  std::map<uint64_t, Arena> node;
  Arena& arena = node[0];
  arena.wanted = wanted;
  absl::Status placed = PlaceArena(&arena, std::max(block + kAlignment, usual));
  if (!placed.ok()) placed = PlaceArena(&arena, block + kAlignment);
  if (!placed.ok()) return placed;
  return InsertArena(&node);
}

absl::StatusOr<AddressRange> LinearMemory::AddArenaOfFile(const ArenaFile& file, Bytes size,
                                                          const LinearAllocation& wanted) {
  std::map<uint64_t, Arena> node;
  Arena& arena = node[0];
  arena.wanted = wanted;
  arena.in_file = true;
  arena.imported = file.imported;
  absl::StatusOr<Backing> backing =
      Backing::OfFile(file.descriptor, file.identity, size, file.offset);
  if (!backing.ok()) return backing.status();
  arena.backing = *std::move(backing);
  arena.memory = arena.backing.data();
  const absl::Status placed = ReserveArena(&arena, size + kAlignment);
  if (!placed.ok()) return placed;
  return InsertArena(&node);
}

absl::StatusOr<LinearMemory::LoggedBytes> LinearMemory::OpenLogOfArena(DeviceAddress base,
                                                                       int descriptor) {
  Arena& arena = arenas_.find(base.value())->second;
  const auto log = arena.backing.OpenLog(descriptor, PoolFile::kLogOffset);
  if (!log.ok()) return log.status();
  return LoggedBytes{arena.memory, arena.range.size - kAlignment, *log};
}

AddressRange LinearMemory::InsertArena(std::map<uint64_t, Arena>* made) {
  auto node = made->extract(made->begin());
  node.mapped().wanted.block_id = ++last_block_id_;
  AddressRange range = node.mapped().range;
  node.key() = range.base.value();
  arenas_.insert(std::move(node));
  range.size = range.size - kAlignment;  // never used, so that the next one is not its neighbour
  return range;
}

void LinearMemory::RemoveArena(DeviceAddress base) {
  const auto arena = arenas_.find(base.value());
  if (arena->second.wanted.on_device()) space_.Free(*space_.Find(base));
  arenas_.erase(arena);
}

void LinearMemory::AddRun(const Arena& arena, const AddressRange& range) {
  LinearAllocation run = arena.wanted;
  run.range = range;
  run.block = range;
  run.memory = arena.memory + (range.base - arena.range.base).value();
  allocations_[range.base.value()] = run;
}

absl::Status LinearMemory::Commit(const AddressRange& part) {
  const LinearAllocation* const there = Find(part.base);
  if (there != nullptr && there->of_pool()) return absl::OkStatus();
  const Arena& arena = ArenaOf(part.base);
  const size_t place = PlaceOf(arena.wanted);
  const absl::Status room = arena.imported ? absl::OkStatus() : CheckRoom(part.size, place);
  if (!room.ok()) return room;
  AddressRange whole = part;
  const LinearAllocation* const before = Find(DeviceAddress(part.base.value() - 1));
  const LinearAllocation* const behind = Find(part.end());
  if (behind != nullptr && behind->of_pool()) whole.size = whole.size + behind->range.size;
  if (before != nullptr && before->of_pool()) {
    whole.base = before->range.base;
    whole.size = whole.size + before->range.size;
  }
  AddRun(arena, whole);
  if (whole.end() != part.end()) allocations_.erase(part.end().value());
  const std::optional<Location> location = LocationOf(place);
  if (location.has_value()) physical_.Occupy(part.size, *location);
  ++generation_;
  return absl::OkStatus();
}

void LinearMemory::Decommit(const AddressRange& part) {
  const Arena& arena = ArenaOf(part.base);
  const AddressRange whole = Find(part.base)->range;
  const AddressRange rest{part.end(), whole.end() - part.end(), Bytes(0)};
  if (!rest.empty()) AddRun(arena, rest);
  if (whole.base == part.base) {
    allocations_.erase(whole.base.value());
  } else {
    AddRun(arena, AddressRange{whole.base, part.base - whole.base, Bytes(0)});
  }
  // What is committed again is new, but for what is another's.
  madvise(arena.memory + (part.base - arena.range.base).value(), part.size.value(),
          arena.in_file && !arena.imported ? MADV_REMOVE : MADV_DONTNEED);
  const std::optional<Location> location = LocationOf(PlaceOf(arena.wanted));
  if (location.has_value()) physical_.Vacate(part.size, *location);
  ++generation_;
}

void LinearMemory::SetReaders(DeviceAddress base, uint64_t readers) {
  Arena& arena = arenas_.find(base.value())->second;
  arena.wanted.readers = readers;
  for (auto at = allocations_.lower_bound(base.value());
       at != allocations_.end() && arena.range.contains(at->second.range.base); ++at) {
    at->second.readers = readers;
  }
  ++generation_;
}

}  // namespace twinmmu
