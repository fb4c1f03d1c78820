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
  std::atomic<bool> over{false};  // it has happened
  SimulatedStreams::Point point;  // the work of the stream up to it
};
using StreamOrderedFreePtr = std::shared_ptr<const StreamOrderedFree>;
inline bool IsOver(const StreamOrderedFree& free) {
  return free.over.load(std::memory_order_acquire);
}

// The addresses are arenas, which have memory in chunks. What is not taken is free for everybody,
// or for whom its free allows it, or absent: without memory. Where a call throws std::bad_alloc
// nothing has changed. Not thread-safe.
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
  // Room for `size` bytes: the smallest run of free parts that has it; of several the first. Of
  // parts that are not free for everybody those for which may_use(free). nullopt: there is none.
  std::optional<DeviceAddress> Find(Bytes size, MayUse may_use) const {
    return FindIn(Runs::kCommitted, size, may_use);
  }
  // The same of runs of which parts may be absent, but not all.
  std::optional<DeviceAddress> FindAbsentToo(Bytes size, MayUse may_use) const {
    return FindIn(Runs::kPartlyCommitted, size, may_use);
  }
  // What is absent of room for `size` bytes, in whole chunks.
  std::vector<AddressRange> AbsentIn(DeviceAddress base, Bytes size) const;
  // The frees on which room that Find has found depends.
  std::vector<StreamOrderedFreePtr> FreesIn(const AddressRange& range) const;
  // For Take and Give, which cannot fail with it.
  using Prepared = std::map<uint64_t, Part>::node_type;
  static Prepared Prepare();
  // Takes room that Find has found.
  void Take(const AddressRange& range, Prepared prepared);
  // Makes free what was taken; for everybody if `free` is null.
  void Give(const AddressRange& range, StreamOrderedFreePtr free, Prepared prepared);
  // What must get memory so that there is one; nothing: the arenas have no room.
  std::vector<AddressRange> FindGrowth(Bytes size, MayUse may_use) const;
  // A part that is absent, of whole chunks, is to be committed; and is free for everybody, which
  // cannot fail then.
  void PrepareCommit(const AddressRange& part) { Split(part); }
  void Commit(const AddressRange& part);
  // Those parts are free for everybody now for whose free is_over(free).
  void Settle(MayUse is_over);
  // A chunk that is free for everybody, the last one: it is absent now.
  std::optional<AddressRange> TakeFreeChunk();

  Bytes committed() const { return committed_; }
  const std::vector<AddressRange>& arenas() const { return arenas_; }

 private:
  using Parts = std::map<uint64_t, Part>;  // by base; none goes over the end of an arena

  // The end of the run of parts that may be used, and its length.
  Parts::const_iterator RunFrom(Parts::const_iterator first, MayUse may_use, bool with_absent,
                                Bytes* length) const;
  enum class Runs { kCommitted, kPartlyCommitted, kAny };
  // The best run with room for `size`: the smallest one, or of any the first one.
  Parts::const_iterator FindRun(Bytes size, MayUse may_use, Runs runs) const;
  std::optional<DeviceAddress> FindIn(Runs runs, Bytes size, MayUse may_use) const;
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
