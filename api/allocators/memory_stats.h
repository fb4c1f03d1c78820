// What a pool or a buffer holds, and the driver calls it made.

#ifndef TWINMMU_API_ALLOCATORS_MEMORY_STATS_H_
#define TWINMMU_API_ALLOCATORS_MEMORY_STATS_H_

#include <cstdint>
#include <ostream>

#include "api/address.h"

namespace twinmmu {

// Calls made, including failed ones. Queries whose answer cannot change are not counted.
struct DriverCallCounts {
  uint64_t create = 0;
  uint64_t release = 0;
  uint64_t map = 0;
  uint64_t unmap = 0;
  uint64_t set_access = 0;

  constexpr uint64_t total() const { return create + release + map + unmap + set_access; }

  // The calls counted since `b`.
  friend constexpr DriverCallCounts operator-(const DriverCallCounts& a,
                                              const DriverCallCounts& b) {
    return {a.create - b.create, a.release - b.release, a.map - b.map, a.unmap - b.unmap,
            a.set_access - b.set_access};
  }
  friend constexpr bool operator==(const DriverCallCounts& a, const DriverCallCounts& b) {
    return a.create == b.create && a.release == b.release && a.map == b.map && a.unmap == b.unmap &&
           a.set_access == b.set_access;
  }
  friend constexpr bool operator!=(const DriverCallCounts& a, const DriverCallCounts& b) {
    return !(a == b);
  }
};

// Physical memory in whole pages: in_use + leaving + cached is what it takes from the device.
struct MemoryStats {
  Bytes in_use;
  Bytes peak;     // the most that was ever in use
  Bytes leaving;  // given up, but still needed by work, or the driver refused to unmap it
  Bytes cached;   // kept for reuse
  uint64_t cached_pages = 0;
  uint64_t commits = 0;    // successful calls that requested memory: Allocate, Resize, Wake, ...
  uint64_t decommits = 0;  // successful calls that gave it up: Deallocate, ShrinkToFit, Sleep, ...
  DriverCallCounts calls;
};

// "create 3, release 0, map 3, unmap 1, set access 1".
std::ostream& operator<<(std::ostream& out, const DriverCallCounts& counts);
// "6 MiB in use (peak 8 MiB), 0 B leaving, 2 MiB cached; create 4, ...".
std::ostream& operator<<(std::ostream& out, const MemoryStats& stats);

}  // namespace twinmmu

#endif  // TWINMMU_API_ALLOCATORS_MEMORY_STATS_H_
