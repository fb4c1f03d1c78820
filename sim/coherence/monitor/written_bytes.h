// WrittenBytes: which bytes of memory nothing has written since it was allocated.

#ifndef TWINMMU_SIM_COHERENCE_MONITOR_WRITTEN_BYTES_H_
#define TWINMMU_SIM_COHERENCE_MONITOR_WRITTEN_BYTES_H_

#include <bitset>
#include <cstdint>
#include <map>

#include "sim/coherence/model/page_map.h"

namespace twinmmu::coherence {

// What was never said to be fresh counts as written. A page has a bit for each byte only where a
// part of it was written, so that memory which is filled as a whole costs next to nothing. Where
// the host has no memory for that, more counts as written than is.
class WrittenBytes {
 public:
  // Whether all counts as written.
  bool empty() const { return fresh_.empty(); }

  // Nothing has written these bytes; or all of them count as written.
  void SetFresh(LocationId first, uint64_t size);
  void SetWritten(LocationId first, uint64_t size);
  // Whether any of these is not written.
  bool HasFresh(LocationId first, uint64_t size);
  // All counts as written. Takes no memory.
  void Clear();

 private:
  using Bits = std::bitset<kPageBytes>;

  bool IsAnyFresh(LocationId first, LocationId end);
  void Remove(LocationId first, LocationId end);
  void WritePart(LocationId first, LocationId end);

  std::map<LocationId, LocationId> fresh_;  // where it begins and ends, but for bits that are set
  PageMap<Bits> written_;                   // of pages that are partly fresh
  // Looked up last: none of these is fresh.
  LocationId known_first_ = 0;
  LocationId known_end_ = 0;
};

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_MONITOR_WRITTEN_BYTES_H_
