// Bands: the addresses that a run used, without all those between them that it did not.

#ifndef TWINMMU_TOOLS_VIEWS_TIMELINE_BANDS_H_
#define TWINMMU_TOOLS_VIEWS_TIMELINE_BANDS_H_

#include <cstdint>
#include <vector>

#include "tools/views/timeline/timeline.h"

namespace twinmmu {

// Addresses that follow one another. A picture gives `skipped` ones, which nothing was ever in and
// which are more than all that was used, a small place.
struct Stretch {
  uint64_t address = 0;
  uint64_t bytes = 0;
  bool skipped = false;
};

// A reservation (with those that overlap it, at other times), or neighbouring linear memory.
struct Band {
  SpanKind kind = SpanKind::kReservation;  // or kLinear, kPool
  bool reserved = true;                    // false: the record has no reservation around it.
  uint32_t process = 0;
  uint64_t address = 0;
  uint64_t bytes = 0;
  std::vector<Stretch> stretches;
};

struct Bands {
  std::vector<Band> bands;       // By process, kind and address.
  std::vector<int32_t> of_span;  // The band of each span; -1: physical memory has none.
};

Bands BandsOf(const Timeline& timeline);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_TIMELINE_BANDS_H_
