// Memory of pools: taken, given back in the order of streams, and released.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "sim/base/errors.h"
#include "sim/calls/pools/pool_calls.h"
#include "sim/diagnostics/call_record.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {
namespace {

// Source: an H100 with driver 580.159.
constexpr Bytes kUnit(512);

AddressRange At(DeviceAddress base, Bytes size) { return AddressRange{base, size, Bytes(0)}; }

// What a wait leaves of a pool: no more than its threshold, in chunks. Source: an H100 with driver
// 580.159.
Bytes MostFree(const PoolState& pool) {
  return pool.release_threshold / PoolSpans::kChunk * PoolSpans::kChunk;
}

}  // namespace

// --- What a pool has of the machine. Of all these: with mmu.mutex held alone.

absl::Status PoolCalls::AddArena(const char* call, PoolState* pool, Bytes size) {
  LinearMemory& linear = state_.mmu.linear;
  const Location& location = pool->properties.place.location;
  const bool on_device = location.type == LocationType::kDevice;
  LinearAllocation wanted;
  wanted.kind = IsManaged(pool->properties) ? LinearKind::kManagedPool
                : on_device                 ? LinearKind::kPool
                                            : LinearKind::kHostPool;
  wanted.sync_memops = wanted.managed();
  wanted.device = DeviceOrdinal(on_device ? location.id : 0);
  wanted.readers = pool->readers;
  const auto add = [&] {
    return IsShareable(*pool) ? AddArenaOfFile(pool, size, wanted) : linear.AddArena(size, wanted);
  };
  absl::StatusOr<AddressRange> arena = add();
  if (!arena.ok()) {
    RemoveAbsentArenas();
    arena = add();
  }
  if (!arena.ok()) return Fail(DriverCode::kOutOfMemory, call, arena.status().message());
  try {
    pool->spans.AddArena(*arena);
  } catch (const std::bad_alloc&) {
    if (IsShareable(*pool)) {
      pool->windows.pop_back();
      ForgetUnusedFile(pool);
    }
    linear.RemoveArena(arena->base);
    throw;
  }
  return absl::OkStatus();
}

// Memory that the pool has elsewhere, free for everybody, comes first. Source: an H200 with driver
// 580.159.
absl::Status PoolCalls::Commit(const char* call, PoolState* pool, const AddressRange& room) {
  LinearMemory& linear = state_.mmu.linear;
  const std::vector<AddressRange> absent = pool->spans.AbsentIn(room.base, room.size);
  Bytes more;
  for (const AddressRange& part : absent) more = more + part.size;
  std::vector<AddressRange> spare = pool->spans.FreeChunks(room);
  spare.resize(std::min<size_t>(spare.size(), more / PoolSpans::kChunk));
  const Bytes kept = pool->spans.committed() - spare.size() * PoolSpans::kChunk;
  const Bytes most = RoundUp(pool->properties.most, PoolSpans::kChunk);
  if (most != Bytes(0) && (more > most || kept > most - more)) {
    return Fail(DriverCode::kOutOfMemory, call, "the pool has no room for ", ToString(more));
  }
  for (const AddressRange& chunk : spare) ReleaseChunk(pool, chunk);
  for (const AddressRange& part : absent) pool->spans.PrepareCommit(part);
  for (const AddressRange& part : absent) {
    if (IsManaged(pool->properties)) PreferPlaceOf(*pool, part);
    absl::Status committed = linear.Commit(part);
    if (!committed.ok()) {
      ReleaseOthers(pool);
      committed = linear.Commit(part);
    }
    if (!committed.ok()) return Fail(DriverCode::kOutOfMemory, call, committed.message());
    pool->spans.Commit(part);
  }
  return absl::OkStatus();
}

// Managed memory of a pool is rather where the pool is.
void PoolCalls::PreferPlaceOf(const PoolState& pool, const AddressRange& part) {
  const Location& place = pool.properties.place.location;
  if (place.type == LocationType::kInvalid) return;
  const Location preferred = place.type == LocationType::kDevice ? place : Location::Host();
  state_.mmu.linear.hints().Edit(part, part,
                                 [&](ManagedHints& hints) { hints.preferred = preferred; });
}

void PoolCalls::ReleaseChunk(PoolState* pool, const AddressRange& chunk) {
  pool->spans.Uncommit(chunk);
  const bool queued = !state_.scheduler.IsIdle();
  state_.mmu.pooled.ForEachIn(chunk, [&](const PooledPiece& piece) {
    state_.pooled_order.Forget(piece.buffer_id, queued);
  });
  state_.mmu.pooled.Remove(chunk);
  state_.mmu.linear.Decommit(chunk);
  if (IsManaged(pool->properties)) state_.mmu.linear.hints().Forget(chunk);
}

// Where the program has no memory for it, more stays for the next time.
void PoolCalls::Release(PoolState* pool, Bytes keep) {
  const auto has_too_much = [&] {
    const Bytes committed = pool->spans.committed();
    return keep < committed && committed - keep >= PoolSpans::kChunk;
  };
  try {
    // Most often a pool keeps all, and need not be searched.
    if (has_too_much()) {
      for (const AddressRange& chunk : pool->spans.FreeChunks()) {
        if (!has_too_much()) break;
        ReleaseChunk(pool, chunk);
      }
    }
  } catch (const std::bad_alloc&) {
  }
  pool->reserved.Set(pool->spans.committed());
}

void PoolCalls::ReleaseOthers(const PoolState* pool) {
  pools_.ForEach([&](uint64_t handle, const PoolState& known) {
    if (&known == pool) return;
    PoolState* const other = pools_.Find(handle);
    other->spans.Settle(IsOver);
    Release(other, Bytes(0));
  });
  for (const auto& [device, graphs] : of_graphs_) ReleaseReserved(device);
}

// Their addresses are for others.
void PoolCalls::RemoveAbsentArenas() {
  pools_.ForEach([&](uint64_t handle, const PoolState&) {
    PoolState& pool = *pools_.Find(handle);
    while (const std::optional<AddressRange> arena = pool.spans.TakeAbsentArena()) {
      const auto is_of_arena = [&](const PoolWindow& window) {
        return window.range.base == arena->base;
      };
      std::vector<PoolWindow>& windows = pool.windows;
      windows.erase(std::remove_if(windows.begin(), windows.end(), is_of_arena), windows.end());
      state_.mmu.linear.RemoveArena(arena->base);
    }
  });
}

void PoolCalls::DropIfUnused(uint64_t handle) {
  PoolState* const pool = pools_.Find(handle);
  Release(pool, Bytes(0));
  ReleaseImports(pool, IsOver);
  if (pool->spans.committed() != Bytes(0) || (pool->imported && !pool->windows.empty())) return;
  for (const AddressRange& arena : pool->spans.arenas()) state_.mmu.linear.RemoveArena(arena.base);
  pools_.Erase(HandleTable<PoolState>::IndexOf(handle));
}

// --- Other calls

absl::Status PoolCalls::TrimTo(uint64_t handle, Bytes keep) {
  static constexpr char kCall[] = "cuMemPoolTrimTo";
  return guard_.Guard(kCall, [&]() -> absl::Status {
    const std::unique_lock lock(state_.mmu.mutex);
    PoolState* const pool = FindOwnPool(handle);
    if (pool == nullptr) return NoSuchPool(kCall, handle);
    // In chunks, of which a driver finds none in the last numbers there are.
    const bool none = keep.value() > ~uint64_t{0} - (PoolSpans::kChunk.value() - 1);
    Release(pool, none ? Bytes(0) : keep);
    return absl::OkStatus();
  });
}

void PoolCalls::ReleaseUnused() {
  const std::unique_lock lock(state_.mmu.mutex);
  ReleaseOthers(nullptr);
}

// What the host has waited for is free for everybody, whatever the attributes of the pool.
void PoolCalls::Synchronized() {
  const StreamClocks::Clock host = state_.clocks.host();
  const std::unique_lock lock(state_.mmu.mutex);
  pools_.ForEach([&](uint64_t handle, const PoolState&) {
    PoolState* const pool = pools_.Find(handle);
    pool->spans.Settle(
        [&](const StreamOrderedFree& free) { return StreamClocks::Has(host, free.place); });
    ReleaseImports(pool, IsOver);
    if (pool->destroyed) {
      DropIfUnused(handle);
    } else {
      Release(pool, MostFree(*pool));
    }
  });
}

// --- Allocations

std::optional<DeviceAddress> PoolCalls::FindNewRoom(const char* call, PoolState* pool, Bytes room) {
  std::optional<DeviceAddress> found = pool->spans.FindAbsentToo(room);
  if (!found.has_value() && AddArena(call, pool, room).ok()) {
    found = pool->spans.FindAbsentToo(room);
  }
  if (!found.has_value() || Commit(call, pool, At(*found, room)).ok()) return found;
  return pool->spans.FindCommitted(room);
}

// What the stream has freed itself comes first, then room that has all its memory, then what others
// have freed, where the order of streams allows it, or the free has happened. Before there is new
// memory, what has happened is for everybody. Last comes what others have freed, behind their work.
// Source: an H100 and an H200 with driver 580.159.
absl::StatusOr<DeviceAddress> PoolCalls::FindRoom(const char* call, PoolState* pool, Bytes room,
                                                  const SimulatedStreams::Queue& queue,
                                                  StreamOrderedFreePtr* wait) {
  PoolSpans& spans = pool->spans;
  std::optional<DeviceAddress> found = spans.FindFreed(
      room, [&](const StreamOrderedFree& free) { return free.line == queue->clock; });
  if (!found.has_value()) found = spans.FindWhole(room);
  if (found.has_value()) return *found;
  const StreamClocks::Clock before = state_.clocks.Record(queue->clock);
  if (pool->follow_events) {
    found = spans.FindFreed(
        room, [&](const StreamOrderedFree& free) { return StreamClocks::Has(before, free.place); });
  }
  if (!found.has_value() && pool->opportunistic) found = spans.FindFreed(room, IsOver);
  if (found.has_value()) return *found;
  if (pool->opportunistic) spans.Settle(IsOver);
  found = FindNewRoom(call, pool, room);
  if (!found.has_value() && pool->internal_dependencies) {
    found = spans.FindFreed(room, [](const StreamOrderedFree&) { return true; });
    if (found.has_value()) *wait = spans.FreeAt(*found);
  }
  if (found.has_value()) return *found;
  return Fail(DriverCode::kOutOfMemory, call, "the pool has no room for ", ToString(room));
}

absl::StatusOr<DeviceAddress> PoolCalls::AllocateIn(const char* call, Stream stream,
                                                    const SimulatedStreams::Queue& queue,
                                                    uint64_t handle, Bytes size) {
  state_.clocks.Start();
  StreamOrderedFreePtr wait;
  PooledPiece piece;
  {
    CallRecord record(state_, FindCall(call), At(DeviceAddress(0), size));
    record.SetStream(stream);
    const std::unique_lock lock(state_.mmu.mutex);
    PoolState* const pool = FindOwnPool(handle);
    if (pool == nullptr) return NoSuchPool(call, handle);
    if (size == Bytes(0)) return DeviceAddress(0);
    piece.room = RoundUp(size, kUnit);
    if (piece.room < size) return Fail(DriverCode::kOutOfMemory, call, "the size wraps");
    piece.pool = handle;
    piece.on_device = pool->properties.place.location.type == LocationType::kDevice ||
                      IsManaged(pool->properties);
    piece.handle_types = pool->properties.handle_types;
    piece.made_by = record.id();
    piece.buffer_id = state_.mmu.NextBuffer();
    // What can fail comes before the pool gets memory.
    PoolSpans::Prepared rest = PoolSpans::Prepare();
    PooledPieces::Prepared known = PooledPieces::Prepare(piece);
    state_.pooled_order.Allocated(piece.buffer_id, streams_.Order(queue, piece.made_by));
    absl::Cleanup undo = [&] { state_.pooled_order.Forget(piece.buffer_id, false); };
    const absl::StatusOr<DeviceAddress> base = FindRoom(call, pool, piece.room, queue, &wait);
    if (!base.ok()) return base.status();
    std::move(undo).Cancel();
    piece.range = At(*base, size);
    known.mapped().range = piece.range;
    pool->spans.Take(At(*base, piece.room), std::move(rest));
    AddPiece(pool, std::move(known));
    record.Done(piece.range, 0);
  }
  if (wait != nullptr) {
    SimulatedStreams::Point point = wait->point;
    point.clock = StreamClocks::Clock();  // that the stream waits for it is not the program's order
    try {
      streams_.Wait(queue, point);
    } catch (const std::bad_alloc&) {
      streams_.Finish(point);  // then it waits for nothing
    }
  }
  return piece.range.base;
}

// Takes the place of those that were freed there. `pool`: null for a piece of a graph.
void PoolCalls::AddPiece(PoolState* pool, PooledPieces::Prepared prepared) {
  const PooledPiece piece = prepared.mapped();
  const bool queued = !state_.scheduler.IsIdle();
  state_.mmu.pooled.ForEachIn(At(piece.range.base, piece.room), [&](const PooledPiece& freed) {
    state_.pooled_order.Forget(freed.buffer_id, queued);
  });
  // Whoever had it before: that is what the rules of pools are for.
  const LinearAllocation* const memory = state_.mmu.linear.Find(piece.range.base);
  if (memory != nullptr) {
    char* const bytes = Mmu::MemoryOf(*memory, piece.range.base);
    state_.aliases.Forget(bytes, piece.room.value());
    if (piece.on_device && piece.handle_types == HandleType::kNone) {
      state_.aliases.Allocate(bytes, piece.range.size.value());
    }
  }
  state_.pooled_order.Place(piece.buffer_id, piece.range);
  state_.mmu.pooled.Add(std::move(prepared));
  state_.mmu.buffers_made = static_cast<uint32_t>(piece.buffer_id);
  state_.mmu.linear.ChangePieces();
  if (pool == nullptr) return;
  pool->reserved.Set(pool->spans.committed());
  pool->used.Set(pool->used.now + piece.range.size);
}

absl::StatusOr<DeviceAddress> PoolCalls::AllocateFrom(Stream stream, uint64_t pool, Bytes size) {
  static constexpr char kCall[] = "cuMemAllocFromPoolAsync";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<DeviceAddress> {
    SimulatedStreams::Queue queue;
    const absl::Status usable = streams_.CheckStream(kCall, stream, &queue);
    if (!usable.ok()) return usable;
    return AllocateIn(kCall, stream, queue, pool, size);
  });
}

absl::StatusOr<DeviceAddress> PoolCalls::Allocate(Stream stream, Bytes size) {
  static constexpr char kCall[] = "cuMemAllocAsync";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<DeviceAddress> {
    SimulatedStreams::Queue queue;
    const absl::Status usable = streams_.CheckStream(kCall, stream, &queue);
    if (!usable.ok()) return usable;
    const PoolPlace place{Location::Device(stream.device()), AllocationType::kPinned};
    const absl::StatusOr<uint64_t> pool = CurrentPool(kCall, place);
    if (!pool.ok()) return pool.status();
    return AllocateIn(kCall, stream, queue, *pool, size);
  });
}

// --- Frees

const PooledPiece* PoolCalls::FindFreeable(CallRecord* call, DeviceAddress address,
                                           absl::Status* refused) const {
  const PooledPiece* const piece = state_.mmu.pooled.Find(address);
  if (piece != nullptr && piece->range.base == address && piece->freed_by == 0) return piece;
  Misuse misuse = WhyLinearNotFreed(state_, address);
  if (piece != nullptr && piece->freed_by != 0) {
    misuse.kind = DiagnosticKind::kDoubleFreeOfMemory;
    misuse.cause = piece->freed_by;
    *refused = call->Refuse(misuse, "stream-ordered memory at ", address, " is freed already");
  } else if (piece != nullptr) {
    *refused = call->Refuse(misuse, address, " is inside of what begins at ", piece->range.base);
  } else {
    *refused = call->Refuse(misuse, "nothing that cuMemAllocAsync made begins at ", address);
  }
  return nullptr;
}

void PoolCalls::CheckFree(CallRecord* call, const PooledPiece& piece, const PooledWork& work) {
  const std::optional<OrderFinding> finding = state_.pooled_order.Freed(piece.buffer_id, work);
  if (!finding.has_value()) return;
  call->Report(Severity::kError, {DiagnosticKind::kUnorderedFreeInStream, piece.range.base},
               "nothing orders it behind call ", finding->cause, ", which uses or makes ",
               piece.range);
}

absl::Status PoolCalls::Free(Stream stream, DeviceAddress address) {
  static constexpr char kCall[] = "cuMemFreeAsync";
  return guard_.Guard(kCall, [&]() -> absl::Status {
    SimulatedStreams::Queue queue;
    absl::Status status = streams_.CheckStream(kCall, stream, &queue);
    if (!status.ok()) return status;
    const auto free = std::make_shared<StreamOrderedFree>();
    free->line = queue->clock;
    PooledPiece piece;
    PoolSpans::Prepared prepared = PoolSpans::Prepare();
    {
      CallRecord record(state_, Call::kFreeAsync, At(address, Bytes(1)));
      record.SetStream(stream);
      const std::unique_lock lock(state_.mmu.mutex);
      const PooledPiece* const found = FindFreeable(&record, address, &status);
      if (found == nullptr) return status;
      piece = *found;
      const PooledWork work = streams_.Order(queue, record.id());
      free->place = work.place;
      free->freed_by = record.id();
      CheckFree(&record, piece, work);
      EndPiece(piece, record.id());
      PoolState* const pool = pools_.Find(piece.pool);
      if (pool != nullptr) {
        pool->used.Set(pool->used.now - piece.range.size);
      } else if (ReservedPiece* const of_node = ReservedAt(piece.range.base)) {
        of_node->freeing = true;
      }
      record.Done(piece.range, 0);
    }
    const auto end = [free] { free->over.store(true, std::memory_order_release); };
    try {
      status = streams_.SubmitTask(kCall, stream, end);
      free->point = streams_.Record(queue);
    } catch (const std::bad_alloc&) {
      state_.FinishDevice(stream.device());  // as late as the work behind it would have been
      end();
    }
    const std::unique_lock lock(state_.mmu.mutex);
    GiveBack(piece, free, std::move(prepared));
    return status;
  });
}

// Nothing is waited for, and the memory does not count as unused: as measured.
absl::Status PoolCalls::FreeNow(DeviceAddress address) {
  static constexpr char kCall[] = "cuMemFree";
  return guard_.Guard(kCall, [&]() -> absl::Status {
    absl::Status status = state_.sticky_error.Check(kCall);
    if (!status.ok()) return status;
    PoolSpans::Prepared prepared = PoolSpans::Prepare();
    CallRecord record(state_, Call::kFreeMemory, At(address, Bytes(1)));
    const std::unique_lock lock(state_.mmu.mutex);
    const PooledPiece* const found = FindFreeable(&record, address, &status);
    if (found == nullptr) return status;
    const PooledPiece piece = *found;
    PooledWork work;
    work.before = state_.clocks.host();
    work.call_id = record.id();
    CheckFree(&record, piece, work);
    EndPiece(piece, record.id());
    record.Done(piece.range, 0);
    GiveBack(piece, nullptr, std::move(prepared));
    PoolState* const pool = pools_.Find(piece.pool);
    if (pool != nullptr) Release(pool, MostFree(*pool));
    return absl::OkStatus();
  });
}

void PoolCalls::EndPiece(const PooledPiece& piece, uint64_t call_id) {
  state_.mmu.pooled.SetFreed(piece.range.base, call_id);
  state_.mmu.linear.ChangePieces();
}

void PoolCalls::GiveBack(const PooledPiece& piece, StreamOrderedFreePtr free,
                         PoolSpans::Prepared prepared) {
  PoolState* const pool = pools_.Find(piece.pool);
  if (pool == nullptr) {
    if (ReservedPiece* const of_node = ReservedAt(piece.range.base)) {
      of_node->freeing = false;
      of_node->free = std::move(free);
    }
    return;
  }
  if (pool->imported) {
    EndImport(pool, piece, std::move(free));
    ReleaseImports(pool, IsOver);
  } else {
    pool->spans.Give(At(piece.range.base, piece.room), std::move(free), std::move(prepared));
  }
  if (pool->destroyed) DropIfUnused(piece.pool);
}

}  // namespace twinmmu
