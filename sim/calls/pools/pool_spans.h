// PoolSpans: the addresses of one pool: which have memory, and which of those are free.

#ifndef TWINMMU_SIM_CALLS_POOLS_POOL_SPANS_H_
#define TWINMMU_SIM_CALLS_POOLS_POOL_SPANS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "api/address.h"
#include "sim/calls/executor/simulated_streams.h"
#include "sim/streams/stream_clocks.h"

namespace twinmmu {

// A free in the order of a stream: what was freed by it is whose work comes after it.
struct StreamOrderedFree {
  StreamClocks::Line line;  // of the stream
  StreamClocks::Place place;
  uint64_t freed_by = 0;          // the id of the call
  std::atomic<bool> over{false};  // it has happened
  SimulatedStreams::Point point;  // the work of the stream up to it
};
using StreamOrderedFreePtr = std::shared_ptr<const StreamOrderedFree>;
inline bool IsOver(const StreamOrderedFree& free) {
  return free.over.load(std::memory_order_acquire);
}

// The addresses are arenas, which have memory in chunks. What is not taken is free for everybody,
// or for whom its free allows it, or absent: without memory. What one stream has freed side by side
// is one part, by the last free; it is none with what is free for everybody. Where a call throws
// std::bad_alloc nothing has changed. Not thread-safe.
class PoolSpans {
 private:
  struct Part {
    Bytes size;
    StreamOrderedFreePtr free;  // null: for everybody, or absent
    bool absent = false;
  };

 public:
  // Source: an H100 with driver 580.159.
  static constexpr Bytes kChunk = MiB(32);

  using MayUse = absl::FunctionRef<bool(const StreamOrderedFree&)>;

  // All of it is absent.
  void AddArena(const AddressRange& arena);
  // One that has no memory, which is then none of these any more.
  std::optional<AddressRange> TakeAbsentArena();
  // Of all these: the smallest room for `size` bytes; of several the first. nullopt: there is none.
  // Of what is free for everybody: where nothing is absent on both sides either; which may be
  // absent; of which nothing is.
  std::optional<DeviceAddress> FindWhole(Bytes size) const { return FindIn(Runs::kWhole, size); }
  std::optional<DeviceAddress> FindAbsentToo(Bytes size) const { return FindIn(Runs::kAny, size); }
  std::optional<DeviceAddress> FindCommitted(Bytes size) const {
    return FindIn(Runs::kCommitted, size);
  }
  // Of what was freed, and may_use(free); of several that which was freed first.
  std::optional<DeviceAddress> FindFreed(Bytes size, MayUse may_use) const;
  // What is absent of room for `size` bytes, in whole chunks.
  std::vector<AddressRange> AbsentIn(DeviceAddress base, Bytes size) const;
  // The free of what FindFreed has found.
  StreamOrderedFreePtr FreeAt(DeviceAddress base) const;
  // For Take and Give, which cannot fail with it.
  using Prepared = std::map<uint64_t, Part>::node_type;
  static Prepared Prepare();
  // Takes room that was found.
  void Take(const AddressRange& range, Prepared prepared);
  // Makes free what was taken; for everybody if `free` is null.
  void Give(const AddressRange& range, StreamOrderedFreePtr free, Prepared prepared);
  // A part that is absent, of whole chunks, is to be committed; and is free for everybody, which
  // cannot fail then.
  void PrepareCommit(const AddressRange& part) { Split(part); }
  void Commit(const AddressRange& part);
  // Those parts are free for everybody now for whose free is_over(free).
  void Settle(MayUse is_over);
  // The chunks that are free for everybody and not in `room`; the last ones first.
  std::vector<AddressRange> FreeChunks(const AddressRange& room = AddressRange()) const;
  // One of them is absent now.
  void Uncommit(const AddressRange& chunk);

  Bytes committed() const { return committed_; }
  const std::vector<AddressRange>& arenas() const { return arenas_; }

 private:
  using Parts = std::map<uint64_t, Part>;  // by base; none goes over the end of an arena

  enum class Runs { kWhole, kAny, kCommitted };
  std::optional<DeviceAddress> FindIn(Runs runs, Bytes size) const;
  // Makes of the part in which `range` lies up to three.
  Parts::iterator Split(const AddressRange& range);
  // Joins it with what is the same on both sides.
  void Join(Parts::iterator part);

  std::vector<AddressRange> arenas_;
  Parts parts_;
  Bytes committed_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_POOLS_POOL_SPANS_H_
