// What the nodes of graphs allocate: addresses from the start, memory while a launch has it.
// Source: an H100 with driver 580.159.

#include <iterator>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "sim/calls/pools/pool_calls.h"
#include "sim/diagnostics/call_record.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {
namespace {

constexpr Bytes kUnit(512);

AddressRange At(DeviceAddress base, Bytes size) { return AddressRange{base, size, Bytes(0)}; }

// The first room of that size between ranges, which are in order of addresses: RangeOf(entry).
template <typename Entries, typename RangeOf>
std::optional<DeviceAddress> FindGap(const AddressRange& whole, const Entries& entries, Bytes size,
                                     const RangeOf& range_of) {
  DeviceAddress from = whole.base;
  for (auto at = entries.lower_bound(whole.base.value());
       at != entries.end() && whole.contains(range_of(at->second).base); ++at) {
    const AddressRange& taken = range_of(at->second);
    if (taken.base - from >= size) return from;
    from = taken.base + RoundUp(taken.size, kUnit);
  }
  if (whole.end() - from >= size) return from;
  return std::nullopt;
}

}  // namespace

// --- Of all these: with mmu.mutex held alone.

absl::StatusOr<DeviceAddress> PoolCalls::FindAddresses(const char* call, DeviceOrdinal device,
                                                       Bytes size) {
  GraphPool& pool = of_graphs_.at(device.value());
  for (const AddressRange& arena : pool.arenas) {
    const std::optional<DeviceAddress> found =
        FindGap(arena, reserved_, size,
                [](const ReservedRegion& region) -> const AddressRange& { return region.range; });
    if (found.has_value()) return *found;
  }
  pool.arenas.reserve(pool.arenas.size() + 1);
  LinearAllocation wanted;
  wanted.kind = LinearKind::kPool;
  wanted.device = device;
  wanted.readers = pool.readers;
  const absl::StatusOr<AddressRange> arena = state_.mmu.linear.AddArena(size, wanted);
  if (!arena.ok()) return Fail(DriverCode::kOutOfMemory, call, arena.status().message());
  pool.arenas.push_back(*arena);
  return arena->base;
}

// The region of the graph that has room for a piece, which begins at `base` then.
absl::StatusOr<ReservedRegion*> PoolCalls::FindRegion(const char* call, DeviceOrdinal device,
                                                      uint64_t graph, Bytes size,
                                                      DeviceAddress* base) {
  for (auto& [at, region] : reserved_) {
    if (region.graph != graph || region.device != device.value()) continue;
    const std::optional<DeviceAddress> found =
        FindGap(region.range, region.pieces, size,
                [](const ReservedPiece& piece) -> const AddressRange& { return piece.range; });
    if (!found.has_value()) continue;
    *base = *found;
    return &region;
  }
  const Bytes whole = RoundUp(size, PoolSpans::kChunk);
  // More than that is no memory of any device.
  if (whole < size ||
      whole > state_.mmu.profile.devices[static_cast<size_t>(device.value())].memory) {
    return Fail(DriverCode::kOutOfMemory, call, "the device has less than ", ToString(size));
  }
  const absl::StatusOr<DeviceAddress> found = FindAddresses(call, device, whole);
  if (!found.ok()) return found.status();
  ReservedRegion& made = reserved_[found->value()];
  made.range = At(*found, whole);
  made.graph = graph;
  made.device = device.value();
  *base = *found;
  return &made;
}

ReservedRegion* PoolCalls::RegionAt(DeviceAddress address) {
  const auto above = reserved_.upper_bound(address.value());
  if (above == reserved_.begin()) return nullptr;
  ReservedRegion& region = std::prev(above)->second;
  return region.range.contains(address) ? &region : nullptr;
}

ReservedPiece* PoolCalls::ReservedAt(DeviceAddress base) {
  ReservedRegion* const region = RegionAt(base);
  if (region == nullptr) return nullptr;
  const auto found = region->pieces.find(base.value());
  return found == region->pieces.end() ? nullptr : &found->second;
}

// Nothing in it is allocated, and no free is on its way.
bool PoolCalls::IsIdle(const ReservedRegion& region) const {
  for (const auto& [base, piece] : region.pieces) {
    const PooledPiece* const there = state_.mmu.pooled.Find(piece.range.base);
    if (there != nullptr && there->freed_by == 0) return false;
    if (piece.freeing) return false;
    if (piece.free != nullptr && !IsOver(*piece.free)) return false;
  }
  return true;
}

// Where the program has no memory for it, more stays for the next time.
void PoolCalls::ReleaseReserved(int device) {
  GraphPool& pool = of_graphs_.at(device);
  for (auto at = reserved_.begin(); at != reserved_.end();) {
    ReservedRegion& region = at->second;
    if (region.device != device || !region.committed || !IsIdle(region)) {
      ++at;
      continue;
    }
    try {
      state_.mmu.linear.Decommit(region.range);
    } catch (const std::bad_alloc&) {
      return;
    }
    const bool queued = !state_.scheduler.IsIdle();
    state_.mmu.pooled.ForEachIn(region.range, [&](const PooledPiece& piece) {
      state_.pooled_order.Forget(piece.buffer_id, queued);
    });
    state_.mmu.pooled.Remove(region.range);
    region.committed = false;
    pool.used.Set(pool.used.now - region.range.size);
    pool.reserved.Set(pool.reserved.now - region.range.size);
    for (auto piece = region.pieces.begin(); piece != region.pieces.end();) {
      piece = piece->second.forgotten ? region.pieces.erase(piece) : std::next(piece);
    }
    at = region.pieces.empty() ? reserved_.erase(at) : std::next(at);
  }
}

// --- Calls

absl::StatusOr<DeviceAddress> PoolCalls::Reserve(const char* call, DeviceOrdinal device,
                                                 uint64_t graph, Bytes size, uint64_t readers) {
  return guard_.Guard(call, [&]() -> absl::StatusOr<DeviceAddress> {
    const std::unique_lock lock(state_.mmu.mutex);
    GraphPool& pool = of_graphs_[device.value()];
    const uint64_t all = pool.readers | readers | uint64_t{1} << device.value();
    if (std::exchange(pool.readers, all) != all) {
      for (const AddressRange& arena : pool.arenas) state_.mmu.linear.SetReaders(arena.base, all);
    }
    DeviceAddress base(0);
    const absl::StatusOr<ReservedRegion*> region = FindRegion(call, device, graph, size, &base);
    if (!region.ok()) return region.status();
    (*region)->pieces[base.value()].range = At(base, size);
    return base;
  });
}

void PoolCalls::Unreserve(DeviceAddress address) {
  const std::unique_lock lock(state_.mmu.mutex);
  ReservedRegion* const region = RegionAt(address);
  if (region == nullptr) return;
  const auto found = region->pieces.find(address.value());
  if (found == region->pieces.end()) return;
  found->second.forgotten = true;
  if (region->committed) return;
  region->pieces.erase(found);
  if (region->pieces.empty()) reserved_.erase(region->range.base.value());
}

absl::Status PoolCalls::CommitReserved(const char* call, DeviceAddress address) {
  return guard_.Guard(call, [&]() -> absl::Status {
    const std::unique_lock lock(state_.mmu.mutex);
    ReservedRegion* const region = RegionAt(address);
    if (region == nullptr) return InvalidValue(call, ToString(address), " is of no node");
    if (region->committed) return absl::OkStatus();
    absl::Status committed = state_.mmu.linear.Commit(region->range);
    if (!committed.ok()) {
      ReleaseOthers(nullptr);
      committed = state_.mmu.linear.Commit(region->range);
    }
    if (!committed.ok()) return Fail(DriverCode::kOutOfMemory, call, committed.message());
    region->committed = true;
    GraphPool& pool = of_graphs_.at(region->device);
    pool.used.Set(pool.used.now + region->range.size);
    pool.reserved.Set(pool.reserved.now + region->range.size);
    return absl::OkStatus();
  });
}

absl::Status PoolCalls::AllocateReserved(const char* call, Stream stream, DeviceAddress address) {
  return guard_.Guard(call, [&]() -> absl::Status {
    SimulatedStreams::Queue queue;
    const absl::Status usable = streams_.CheckStream(call, stream, &queue);
    if (!usable.ok()) return usable;
    state_.clocks.Start();
    StreamOrderedFreePtr free;
    {
      const std::unique_lock lock(state_.mmu.mutex);
      const ReservedPiece* const piece = ReservedAt(address);
      if (piece != nullptr) free = piece->free;
    }
    if (free != nullptr && !IsOver(*free)) streams_.Wait(queue, free->point);
    CallRecord record(state_, FindCall(call), At(address, Bytes(1)));
    record.SetStream(stream);
    const std::unique_lock lock(state_.mmu.mutex);
    const ReservedPiece* const reserved = ReservedAt(address);
    if (reserved == nullptr) return InvalidValue(call, ToString(address), " is of no node");
    if (!RegionAt(address)->committed) {
      return Fail(DriverCode::kOutOfMemory, call, "there is no memory for it any more");
    }
    const PooledPiece* const there = state_.mmu.pooled.Find(address);
    if (there != nullptr && there->freed_by == 0) {
      return InvalidValue(call, ToString(reserved->range), " is allocated already");
    }
    PooledPiece piece;
    piece.range = reserved->range;
    piece.room = RoundUp(reserved->range.size, kUnit);
    piece.made_by = record.id();
    piece.buffer_id = state_.mmu.NextBuffer();
    PooledPieces::Prepared known = PooledPieces::Prepare(piece);
    state_.pooled_order.Allocated(piece.buffer_id, streams_.Order(queue, piece.made_by));
    AddPiece(nullptr, std::move(known));
    record.Done(piece.range, 0);
    return absl::OkStatus();
  });
}

std::optional<AddressRange> PoolCalls::FindReserved(DeviceAddress address) const {
  const std::shared_lock lock(state_.mmu.mutex);
  const auto above = reserved_.upper_bound(address.value());
  if (above == reserved_.begin()) return std::nullopt;
  const ReservedRegion& region = std::prev(above)->second;
  const auto behind = region.pieces.upper_bound(address.value());
  if (behind == region.pieces.begin()) return std::nullopt;
  const AddressRange& range = std::prev(behind)->second.range;
  if (!range.contains(address)) return std::nullopt;
  return range;
}

void PoolCalls::TrimReserved(DeviceOrdinal device) {
  const std::unique_lock lock(state_.mmu.mutex);
  if (of_graphs_.count(device.value()) != 0) ReleaseReserved(device.value());
}

GraphPool PoolCalls::OfGraphs(DeviceOrdinal device) const {
  const std::shared_lock lock(state_.mmu.mutex);
  const auto known = of_graphs_.find(device.value());
  return known == of_graphs_.end() ? GraphPool{} : known->second;
}

void PoolCalls::ForgetHigh(DeviceOrdinal device, bool of_used) {
  const std::unique_lock lock(state_.mmu.mutex);
  const auto known = of_graphs_.find(device.value());
  if (known == of_graphs_.end()) return;
  WatermarkedBytes& bytes = of_used ? known->second.used : known->second.reserved;
  bytes.high = bytes.now;
}

}  // namespace twinmmu
