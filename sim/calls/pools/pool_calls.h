// PoolCalls: the driver's calls for pools and for stream-ordered memory.

#ifndef TWINMMU_SIM_CALLS_POOLS_POOL_CALLS_H_
#define TWINMMU_SIM_CALLS_POOLS_POOL_CALLS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/diagnostics.h"
#include "api/executor.h"
#include "sim/base/call_guard.h"
#include "sim/base/handle_table.h"
#include "sim/calls/executor/simulated_streams.h"
#include "sim/calls/pools/pool_state.h"
#include "sim/host/pool_file.h"
#include "sim/memory/linear_allocation.h"
#include "sim/memory/pooled_pieces.h"

namespace twinmmu {

class CallRecord;
struct SimulatorState;

// A pool gets memory from the machine in chunks, and gives pieces of it out in the order of
// streams. A piece that is freed stays in the pool, and its addresses keep their memory, until the
// pool gives them away again or releases the chunk: so kernels behind the free find what is there,
// while calls do not know the address any more. Linear memory to all other calls.
//
// Errors, state after an error, thread safety: as in api/vmm.h. Handles are never 0.
class PoolCalls {
 public:
  // Both must outlive this object.
  PoolCalls(SimulatorState* state, SimulatedStreams* streams);

  // cuMemPoolCreate. What is left of a pool when it is destroyed goes with its last piece.
  // InvalidArgument: properties that no pool has; a default pool, which is never destroyed.
  absl::StatusOr<uint64_t> Create(const PoolProperties& properties);
  absl::Status Destroy(uint64_t pool);
  // Releases what nobody uses, as far as the host has waited for, but for `keep` bytes.
  absl::Status TrimTo(uint64_t pool, Bytes keep);
  // The same of all pools, for who finds no memory.
  void ReleaseUnused();
  absl::StatusOr<uint64_t> GetAttribute(uint64_t pool, PoolAttribute attribute);
  absl::Status SetAttribute(uint64_t pool, PoolAttribute attribute, uint64_t value);
  // Which devices may use the memory of the pool, beside its own.
  absl::Status SetAccess(uint64_t pool, absl::Span<const AccessGrant> grants);
  absl::StatusOr<Access> GetAccess(uint64_t pool, const Location& location);

  // The pool of a location from the start, and the one that it uses.
  absl::StatusOr<uint64_t> DefaultPool(const char* call, const PoolPlace& place);
  absl::StatusOr<uint64_t> CurrentPool(const char* call, const PoolPlace& place);
  absl::Status SetCurrentPool(const char* call, const PoolPlace& place, uint64_t pool);

  // cuMemAllocFromPoolAsync; cuMemAllocAsync, of the current pool of the stream's device.
  // Size 0 gives address 0, and that is freed. ResourceExhausted: there is no room.
  // InvalidArgument: no such pool.
  absl::StatusOr<DeviceAddress> AllocateFrom(Stream stream, uint64_t pool, Bytes size);
  absl::StatusOr<DeviceAddress> Allocate(Stream stream, Bytes size);
  // cuMemFreeAsync. InvalidArgument: no piece begins there, or it is freed already.
  absl::Status Free(Stream stream, DeviceAddress address);
  // cuMemFree of a piece, whatever work uses it.
  absl::Status FreeNow(DeviceAddress address);

  // cuMemPoolExportToShareableHandle: a new descriptor of the pool, for other processes.
  // InvalidArgument: the pool was not made for it.
  absl::StatusOr<int> Export(uint64_t pool, HandleType type);
  // cuMemPoolImportFromShareableHandle: the same pool as often as it is imported, which lives until
  // it is destroyed as often. Nothing is allocated from it, and it has no attributes.
  // InvalidArgument: the descriptor is that of no pool.
  absl::StatusOr<uint64_t> Import(int file_descriptor, HandleType type);
  // cuMemPoolExportPointer and cuMemPoolImportPointer: where a piece is, and the same piece here.
  // However often it is imported, it has one address, and is freed once.
  absl::StatusOr<PoolPartData> ExportPiece(DeviceAddress address);
  struct ImportedPiece {
    DeviceAddress address;
    bool is_new = false;
  };
  absl::StatusOr<ImportedPiece> ImportPiece(uint64_t pool, const PoolPartData& data);

  // --- What the nodes of graphs allocate: a node has addresses from the start, and memory there
  // from each launch up to the free, which is Free or FreeNow.
  // Addresses of the device that nobody else has, of `size` bytes, not 0, beside others of the same
  // graph. `readers`: the devices that may use the memory beside its own, a bit for each; may then
  // use all that graphs have of the device. ResourceExhausted: there are none.
  absl::StatusOr<DeviceAddress> Reserve(const char* call, DeviceOrdinal device, uint64_t graph,
                                        Bytes size, uint64_t readers);
  // No graph has the node any more. What is allocated there stays until it is freed.
  void Unreserve(DeviceAddress address);
  // Memory so that AllocateReserved finds some. ResourceExhausted: there is no room.
  absl::Status CommitReserved(const char* call, DeviceAddress address);
  // In the order of a stream. InvalidArgument: it is allocated already.
  absl::Status AllocateReserved(const char* call, Stream stream, DeviceAddress address);
  // The reserved addresses around `address`, allocated or not.
  std::optional<AddressRange> FindReserved(DeviceAddress address) const;
  // Takes the memory away from what is not allocated, as far as no free is on its way.
  void TrimReserved(DeviceOrdinal device);
  GraphPool OfGraphs(DeviceOrdinal device) const;
  // The most that graphs had; of what they use, or what they reserve.
  void ForgetHigh(DeviceOrdinal device, bool of_used);

  // Whether `address` is in what pools have of the machine.
  bool Has(DeviceAddress address) const;
  // The piece that contains `address`, if it is not freed.
  std::optional<PooledPiece> Find(DeviceAddress address) const;
  // The pools that were made and not destroyed.
  std::vector<Diagnostic> Leaks() const;

 private:
  // Of all these: with mmu.mutex held alone, or where they are const, shared.
  PoolState* FindPool(uint64_t pool);
  // The same, but for pools that were imported.
  PoolState* FindOwnPool(uint64_t pool);
  absl::Status NoSuchPool(const char* call, uint64_t pool) const;
  absl::Status CheckProperties(const char* call, const PoolProperties& properties) const;
  absl::Status CheckManaged(const char* call, const PoolProperties& properties) const;
  absl::Status CheckGrant(const PoolState& pool, const AccessGrant& grant) const;
  uint64_t Insert(const PoolProperties& properties, uint64_t made_by);
  absl::StatusOr<uint64_t> DefaultOf(const char* call, const PoolPlace& place);
  absl::StatusOr<uint64_t> CurrentOf(const char* call, const PoolPlace& place);
  // Of pools that are shared: the file, which is made if there is none; addresses for `size` bytes
  // more of it.
  absl::Status NeedFile(const char* call, PoolState* pool);
  static void ForgetUnusedFile(PoolState* pool);
  absl::StatusOr<AddressRange> AddArenaOfFile(PoolState* pool, Bytes size,
                                              const LinearAllocation& wanted);
  void WatchShared(const PoolFile& file, const PoolWindow& window);
  // The pool that was imported from that file, if it was.
  std::optional<uint64_t> FindImport(const FileIdentity& file) const;
  // Of an imported pool: where that part of the file is seen, from now on if it was not.
  absl::StatusOr<PoolWindow*> NeedWindow(const char* call, PoolState* pool, const PoolPart& part);
  // Whether a piece that is not freed has a byte of `range`.
  bool OverlapsPiece(const AddressRange& range) const;
  static void EndImport(PoolState* pool, const PooledPiece& piece, StreamOrderedFreePtr free);
  // The windows of which all pieces are freed, in the order of streams too, are gone.
  void ReleaseImports(PoolState* pool, PoolSpans::MayUse is_over);
  // Addresses that have room for `size`.
  absl::Status AddArena(const char* call, PoolState* pool, Bytes size);
  void PreferPlaceOf(const PoolState& pool, const AddressRange& part);
  // Memory for what is absent of room that the pool has.
  absl::Status Commit(const char* call, PoolState* pool, const AddressRange& room);
  void ReleaseChunk(PoolState* pool, const AddressRange& chunk);
  // Releases free chunks, but for `keep` bytes of the pool; of all other pools all
  // of them.
  void Release(PoolState* pool, Bytes keep);
  void ReleaseOthers(const PoolState* pool);
  void RemoveAbsentArenas();
  // Forgets a destroyed pool of which nothing is left.
  void DropIfUnused(uint64_t handle);
  // Room that is free for everybody, with memory that the pool did not have; without, if it may not
  // have more.
  std::optional<DeviceAddress> FindNewRoom(const char* call, PoolState* pool, Bytes room);
  // Room for a piece that the stream may use, once it has waited for `wait`, if that is one.
  absl::StatusOr<DeviceAddress> FindRoom(const char* call, PoolState* pool, Bytes room,
                                         const SimulatedStreams::Queue& queue,
                                         StreamOrderedFreePtr* wait);
  void AddPiece(PoolState* pool, PooledPieces::Prepared prepared);
  // The piece that begins there and is not freed; or null, and why.
  const PooledPiece* FindFreeable(CallRecord* call, DeviceAddress address,
                                  absl::Status* refused) const;
  void CheckFree(CallRecord* call, const PooledPiece& piece, const PooledWork& work);
  // The piece is freed; then others may have its room, as `free` says.
  void EndPiece(const PooledPiece& piece, uint64_t call_id);
  void GiveBack(const PooledPiece& piece, StreamOrderedFreePtr free, PoolSpans::Prepared prepared);

  // Of what graphs reserve.
  absl::StatusOr<ReservedRegion*> FindRegion(const char* call, DeviceOrdinal device, uint64_t graph,
                                             Bytes size, DeviceAddress* base);
  absl::StatusOr<DeviceAddress> FindAddresses(const char* call, DeviceOrdinal device, Bytes size);
  ReservedRegion* RegionAt(DeviceAddress address);
  ReservedPiece* ReservedAt(DeviceAddress base);
  bool IsIdle(const ReservedRegion& region) const;
  void ReleaseReserved(int device);

  // These lock it.
  void Synchronized();
  absl::StatusOr<DeviceAddress> AllocateIn(const char* call, Stream stream,
                                           const SimulatedStreams::Queue& queue, uint64_t pool,
                                           Bytes size);

  SimulatorState& state_;
  SimulatedStreams& streams_;
  const CallGuard guard_;
  // Guarded by mmu.mutex.
  HandleTable<PoolState> pools_;
  std::map<PoolPlace, uint64_t> defaults_;
  std::map<PoolPlace, uint64_t> current_;        // where it is not the default
  std::map<int, GraphPool> of_graphs_;           // by device
  std::map<uint64_t, ReservedRegion> reserved_;  // by base
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_POOLS_POOL_CALLS_H_
