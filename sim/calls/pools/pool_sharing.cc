// Pools of which other processes use the memory, and what is imported from them.

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "sim/base/errors.h"
#include "sim/calls/pools/pool_calls.h"
#include "sim/diagnostics/call_record.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {
namespace {

// So much of the file an arena takes at least, where the host lets files be as large.
constexpr Bytes kUsualArena = GiB(8);

Bytes RoundDown(Bytes value, Bytes step) {
  return Bytes(value.value() / step.value() * step.value());
}

// The codes are those of an H100 with driver 580.159.
absl::StatusOr<std::shared_ptr<PoolFile>> OpenPool(const char* call, int file_descriptor,
                                                   HandleType type) {
  if (type == HandleType::kFabric || type == HandleType::kWin32) {
    return Fail(DriverCode::kNotSupported, call, "pools are imported from descriptors here");
  }
  if (type != HandleType::kPosixFileDescriptor || file_descriptor == 0) {
    return InvalidValue(call, "pools are imported from descriptors, not 0");
  }
  absl::StatusOr<std::shared_ptr<PoolFile>> file = PoolFile::Open(file_descriptor);
  if (file.ok()) return file;
  if (absl::IsResourceExhausted(file.status())) {
    return Fail(DriverCode::kOutOfMemory, call, file.status().message());
  }
  const bool memory = ReadLabel(file_descriptor).ok();
  return Fail(memory ? DriverCode::kNotSupported : DriverCode::kUnknown, call,
              file.status().message());
}

bool Contains(const PoolWindow& window, const PoolPart& part) {
  return window.offset <= part.offset &&
         part.offset + part.size <= window.offset + window.range.size;
}

}  // namespace

bool IsShareable(const PoolState& pool) {
  return pool.properties.place.location.type == LocationType::kDevice &&
         !IsManaged(pool.properties) &&
         pool.properties.handle_types == HandleType::kPosixFileDescriptor;
}

// --- The exporter

absl::Status PoolCalls::NeedFile(const char* call, PoolState* pool) {
  if (pool->file != nullptr) return absl::OkStatus();
  PoolLabel label;
  label.location = pool->properties.place.location;
  label.traits = SharingTraits::Of(state_.mmu.profile, label.location);
  absl::StatusOr<std::shared_ptr<PoolFile>> made = PoolFile::Make(label);
  if (!made.ok()) return Fail(DriverCode::kOutOfMemory, call, made.status().message());
  pool->file = *std::move(made);
  return absl::OkStatus();
}

// After a call that could not use it.
void PoolCalls::ForgetUnusedFile(PoolState* pool) {
  if (pool->windows.empty() && !pool->exported) pool->file = nullptr;
}

absl::StatusOr<AddressRange> PoolCalls::AddArenaOfFile(PoolState* pool, Bytes size,
                                                       const LinearAllocation& wanted) {
  const absl::Status has_file = NeedFile("cuMemAllocFromPoolAsync", pool);
  if (!has_file.ok()) return has_file;
  if (size > GiB(1) * 65536) return absl::ResourceExhaustedError("nothing has so much room");
  const absl::Cleanup forget = [&] { ForgetUnusedFile(pool); };
  pool->windows.reserve(pool->windows.size() + 1);
  Bytes room = std::max(RoundUp(size, PoolFile::kStep), kUsualArena);
  absl::StatusOr<Bytes> offset = pool->file->Extend(room);
  if (!offset.ok()) {
    room = RoundUp(size, PoolFile::kStep);
    offset = pool->file->Extend(room);
  }
  if (!offset.ok()) return offset.status();
  const auto add = [&] {
    return state_.mmu.linear.AddArenaOfFile(
        {pool->file->descriptor(), pool->file->identity(), *offset}, room, wanted);
  };
  absl::StatusOr<AddressRange> arena = add();
  if (!arena.ok()) {
    room = RoundUp(size, PoolFile::kStep);  // the file has at least as much there
    arena = add();
  }
  if (!arena.ok()) return arena;
  pool->windows.push_back({*offset, *arena, {}, {}});
  WatchShared(*pool->file, pool->windows.back());
  return arena;
}

// What other processes do with the memory is told in its file. Where the host refuses, it is not.
void PoolCalls::WatchShared(const PoolFile& file, const PoolWindow& window) {
  if (!state_.others.enabled()) return;
  const auto bytes = state_.mmu.linear.OpenLogOfArena(window.range.base, file.descriptor());
  if (!bytes.ok()) return;
  state_.others.Share(bytes->memory, bytes->size.value(), bytes->log, window.offset);
}

absl::StatusOr<int> PoolCalls::Export(uint64_t handle, HandleType type) {
  static constexpr char kCall[] = "cuMemPoolExportToShareableHandle";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<int> {
    const std::unique_lock lock(state_.mmu.mutex);
    PoolState* const pool = FindOwnPool(handle);
    if (pool == nullptr) return NoSuchPool(kCall, handle);
    const HandleType types = pool->properties.handle_types;
    const bool known = type == HandleType::kPosixFileDescriptor || type == HandleType::kFabric;
    if (!known || (types & type) == HandleType::kNone) {
      return InvalidValue(kCall, "the pool has no such handles");
    }
    if (types != HandleType::kPosixFileDescriptor) {
      return Fail(DriverCode::kNotPermitted, kCall, "no service gives fabric handles of pools");
    }
    if (!IsShareable(*pool)) {
      return Fail(DriverCode::kNotSupported, kCall, "pools of the host are not shared here");
    }
    const absl::Status has_file = NeedFile(kCall, pool);
    if (!has_file.ok()) return has_file;
    const absl::Cleanup forget = [&] { ForgetUnusedFile(pool); };
    const absl::StatusOr<int> descriptor = pool->file->NewDescriptor();
    if (!descriptor.ok()) {
      return Fail(DriverCode::kOutOfMemory, kCall, descriptor.status().message());
    }
    pool->exported = true;
    return descriptor;
  });
}

absl::StatusOr<PoolPartData> PoolCalls::ExportPiece(DeviceAddress address) {
  static constexpr char kCall[] = "cuMemPoolExportPointer";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<PoolPartData> {
    const std::unique_lock lock(state_.mmu.mutex);
    const PooledPiece* const piece = state_.mmu.pooled.Find(address);
    if (piece == nullptr || piece->freed_by != 0 || piece->range.base != address) {
      return InvalidValue(kCall, "nothing that a pool gave begins at ", ToString(address));
    }
    const PoolState* const pool = pools_.Find(piece->pool);  // null: it is of a graph
    if (pool == nullptr || !pool->exported) {
      return InvalidValue(kCall, "the pool was not exported from here");
    }
    for (const PoolWindow& window : pool->windows) {
      if (!window.range.contains(address)) continue;
      const Bytes offset = window.offset + (piece->range.base - window.range.base);
      return ToData({pool->file->id(), offset, piece->range.size});
    }
    return InvalidValue(kCall, "the pool was not exported from here");
  });
}

// --- The importer

bool HasImports(const PoolState& pool) {
  return std::any_of(pool.windows.begin(), pool.windows.end(),
                     [](const PoolWindow& window) { return !window.imports.empty(); });
}

std::optional<uint64_t> PoolCalls::FindImport(const FileIdentity& file) const {
  std::optional<uint64_t> found;
  pools_.ForEach([&](uint64_t handle, const PoolState& pool) {
    if (pool.imported && !pool.destroyed && pool.file->identity() == file) found = handle;
  });
  return found;
}

absl::StatusOr<uint64_t> PoolCalls::Import(int file_descriptor, HandleType type) {
  static constexpr char kCall[] = "cuMemPoolImportFromShareableHandle";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<uint64_t> {
    const absl::StatusOr<std::shared_ptr<PoolFile>> file = OpenPool(kCall, file_descriptor, type);
    if (!file.ok()) return file.status();
    const PoolLabel& label = (*file)->label();
    PoolProperties properties;
    properties.place.location = label.location;
    if (label.location.type != LocationType::kDevice ||
        !state_.mmu.HasDevice(DeviceOrdinal(label.location.id))) {
      return InvalidValue(kCall, "this machine has no ", ToString(label.location));
    }
    const std::string difference =
        DifferenceOf(label.traits, SharingTraits::Of(state_.mmu.profile, label.location));
    if (!difference.empty()) return InvalidValue(kCall, "it is of another machine: ", difference);
    const uint64_t made_by = RecordCall(state_, kCall);
    const std::unique_lock lock(state_.mmu.mutex);
    if (const std::optional<uint64_t> known = FindImport((*file)->identity())) {
      ++pools_.Find(*known)->imports;
      return *known;
    }
    const uint64_t handle = Insert(properties, made_by);
    PoolState& pool = *pools_.Find(handle);
    pool.made_with = kCall;
    pool.file = *file;
    pool.imported = true;
    pool.imports = 1;
    return handle;
  });
}

absl::StatusOr<PoolWindow*> PoolCalls::NeedWindow(const char* call, PoolState* pool,
                                                  const PoolPart& part) {
  for (PoolWindow& window : pool->windows) {
    if (Contains(window, part)) return &window;
  }
  const Bytes begin = RoundDown(part.offset, PoolFile::kStep);
  const Bytes size = RoundUp(part.offset + part.size, PoolFile::kStep) - begin;
  if (!pool->file->Has({0, begin, size})) {
    return InvalidValue(call, "the pool has no memory there");
  }
  pool->windows.reserve(pool->windows.size() + 1);
  LinearAllocation wanted;
  wanted.kind = LinearKind::kPool;
  wanted.device = DeviceOrdinal(pool->properties.place.location.id);
  wanted.readers = pool->readers;
  LinearMemory& linear = state_.mmu.linear;
  const absl::StatusOr<AddressRange> range = linear.AddArenaOfFile(
      {pool->file->descriptor(), pool->file->identity(), begin, /*imported=*/true}, size, wanted);
  if (!range.ok()) return Fail(DriverCode::kOutOfMemory, call, range.status().message());
  absl::Cleanup remove = [&] { linear.RemoveArena(range->base); };
  const absl::Status committed = linear.Commit(*range);
  if (!committed.ok()) return Fail(DriverCode::kOutOfMemory, call, committed.message());
  std::move(remove).Cancel();
  pool->windows.push_back({begin, *range, {}, {}});
  WatchShared(*pool->file, pool->windows.back());
  return &pool->windows.back();
}

bool PoolCalls::OverlapsPiece(const AddressRange& range) const {
  bool overlaps = false;
  state_.mmu.pooled.ForEachIn(range,
                              [&](const PooledPiece& piece) { overlaps |= piece.freed_by == 0; });
  return overlaps;
}

absl::StatusOr<PoolCalls::ImportedPiece> PoolCalls::ImportPiece(uint64_t handle,
                                                                const PoolPartData& data) {
  static constexpr char kCall[] = "cuMemPoolImportPointer";
  return guard_.Guard(kCall, [&]() -> absl::StatusOr<ImportedPiece> {
    const absl::StatusOr<PoolPart> part = ParsePoolPart(data);
    if (!part.ok()) return InvalidValue(kCall, part.status().message());
    const uint64_t made_by = RecordCall(state_, kCall);
    state_.clocks.Start();
    const std::unique_lock lock(state_.mmu.mutex);
    PoolState* const pool = FindPool(handle);
    if (pool == nullptr) return NoSuchPool(kCall, handle);
    if (!pool->imported || part->size == Bytes(0) || part->pool != pool->file->id() ||
        !pool->file->Has(*part)) {
      return InvalidValue(kCall, "it is not of this pool");
    }
    const auto release = [&] {
      ReleaseImports(pool, [](const StreamOrderedFree& free) { return free.over.load(); });
    };
    release();
    const absl::StatusOr<PoolWindow*> window = NeedWindow(kCall, pool, *part);
    if (!window.ok()) return window.status();
    absl::Cleanup undo = release;  // of the window, if it is new
    // So that a free needs no memory.
    std::vector<StreamOrderedFreePtr>& frees = (*window)->frees;
    const size_t most = frees.size() + (*window)->imports.size() + 1;
    if (frees.capacity() < most) frees.reserve(2 * most);
    PooledPiece piece;
    piece.range = {(*window)->range.base + (part->offset - (*window)->offset), part->size,
                   Bytes(0)};
    const uint64_t base = piece.range.base.value();
    if ((*window)->imports.count(base) != 0) return ImportedPiece{piece.range.base};
    if (OverlapsPiece(piece.range)) {
      return InvalidValue(kCall, "what was imported at ", ToString(piece.range), " is not freed");
    }
    std::set<uint64_t> import{base};
    piece.room = piece.range.size;
    piece.pool = handle;
    piece.made_by = made_by;
    piece.buffer_id = state_.mmu.NextBuffer();
    PooledPieces::Prepared known = PooledPieces::Prepare(piece);
    PooledWork work;
    work.before = state_.clocks.host();
    work.call_id = made_by;
    state_.pooled_order.Allocated(piece.buffer_id, work);
    AddPiece(pool, std::move(known));
    (*window)->imports.merge(import);
    std::move(undo).Cancel();
    return ImportedPiece{piece.range.base, /*is_new=*/true};
  });
}

void PoolCalls::EndImport(PoolState* pool, const PooledPiece& piece, StreamOrderedFreePtr free) {
  for (PoolWindow& window : pool->windows) {
    if (window.imports.erase(piece.range.base.value()) == 0) continue;
    const auto is_over = [](const StreamOrderedFreePtr& other) { return IsOver(*other); };
    std::vector<StreamOrderedFreePtr>& frees = window.frees;
    frees.erase(std::remove_if(frees.begin(), frees.end(), is_over), frees.end());
    if (free != nullptr) frees.push_back(std::move(free));
    return;
  }
}

void PoolCalls::ReleaseImports(PoolState* pool, PoolSpans::MayUse is_over) {
  if (!pool->imported) return;
  const auto is_unused = [&](PoolWindow& window) {
    if (!window.imports.empty()) return false;
    for (const StreamOrderedFreePtr& free : window.frees) {
      if (!is_over(*free)) return false;
    }
    const bool queued = !state_.scheduler.IsIdle();
    state_.mmu.pooled.ForEachIn(window.range, [&](const PooledPiece& piece) {
      state_.pooled_order.Forget(piece.buffer_id, queued);
    });
    state_.mmu.pooled.Remove(window.range);
    state_.mmu.linear.Decommit(window.range);
    state_.mmu.linear.RemoveArena(window.range.base);
    return true;
  };
  std::vector<PoolWindow>& windows = pool->windows;
  windows.erase(std::remove_if(windows.begin(), windows.end(), is_unused), windows.end());
}

}  // namespace twinmmu
