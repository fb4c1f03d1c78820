// PoolState: what a pool is.

#ifndef TWINMMU_SIM_CALLS_POOLS_POOL_STATE_H_
#define TWINMMU_SIM_CALLS_POOLS_POOL_STATE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "api/address.h"
#include "api/allocation.h"
#include "sim/calls/pools/pool_spans.h"
#include "sim/host/pool_file.h"

namespace twinmmu {

// CUmemPool_attribute.
enum class PoolAttribute : int {
  kReuseFollowEventDependencies = 1,
  kReuseAllowOpportunistic = 2,
  kReuseAllowInternalDependencies = 3,
  kReleaseThreshold = 4,
  kReservedMemCurrent = 5,
  kReservedMemHigh = 6,
  kUsedMemCurrent = 7,
  kUsedMemHigh = 8,
};

// Where pools are, and of which kind. Each has a default pool.
struct PoolPlace {
  Location location;
  AllocationType type = AllocationType::kPinned;

  friend bool operator<(const PoolPlace& a, const PoolPlace& b) {
    const auto key = [](const PoolPlace& place) {
      return std::make_tuple(place.location.type, place.location.id, place.type);
    };
    return key(a) < key(b);
  }
};

struct PoolProperties {
  PoolPlace place;
  HandleType handle_types = HandleType::kNone;
  Bytes most;          // the pool has no more; 0: as much as there is
  uint16_t usage = 0;  // what it is to be used for
};

inline bool IsManaged(const PoolProperties& properties) {
  return properties.place.type == AllocationType::kManaged;
}

// A count of bytes, and the most that it was since somebody asked to forget that.
struct WatermarkedBytes {
  Bytes now;
  Bytes high;

  void Set(Bytes value) {
    now = value;
    high = std::max(high, value);
  }
};

// A part of the file of a pool, and the addresses where it is seen.
struct PoolWindow {
  Bytes offset;  // into the file
  AddressRange range;
  // Of an imported pool: the addresses of its pieces that were imported and not freed, and the
  // frees that streams have not come to yet.
  std::set<uint64_t> imports;
  std::vector<StreamOrderedFreePtr> frees;
};

struct PoolState {
  PoolProperties properties;
  bool is_default = false;
  bool destroyed = false;  // only its pieces still live
  uint64_t made_by = 0;    // the id of the call
  const char* made_with = "cuMemPoolCreate";
  bool follow_events = true;
  bool opportunistic = true;
  bool internal_dependencies = true;
  Bytes release_threshold;
  WatermarkedBytes reserved;
  WatermarkedBytes used;
  uint64_t readers = 0;         // the devices that may use its memory, a bit for each
  Access told = Access::kNone;  // of a managed pool, to whoever asks: what was granted last
  PoolSpans spans;
  // Of one that other processes may use, from when the file is needed; and of one that was
  // imported, which has only this.
  std::shared_ptr<PoolFile> file;
  std::vector<PoolWindow> windows;
  bool exported = false;
  bool imported = false;
  uint64_t imports = 0;  // how often, of one that was imported
};

// Whether other processes may use its memory.
bool IsShareable(const PoolState& pool);
// Whether memory of another process is in use here that was imported by it.
bool HasImports(const PoolState& pool);

// What a node of a graph allocates.
struct ReservedPiece {
  AddressRange range;         // what was asked for
  bool forgotten = false;     // no graph has the node any more
  bool freeing = false;       // by a call that has not set `free` yet
  StreamOrderedFreePtr free;  // the last one in the order of a stream
};

// Where the pieces of one graph are. All of it has memory, or nothing.
struct ReservedRegion {
  AddressRange range;
  uint64_t graph = 0;
  int device = 0;
  bool committed = false;
  std::map<uint64_t, ReservedPiece> pieces;  // by base
};

// What all graphs have of a device.
struct GraphPool {
  uint64_t readers = 0;  // the devices that may use it, a bit for each
  std::vector<AddressRange> arenas;
  WatermarkedBytes used;
  WatermarkedBytes reserved;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_POOLS_POOL_STATE_H_
