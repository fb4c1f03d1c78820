// SiteTotals: how much memory each place of a program made; and what grew from one run to another.

#ifndef TWINMMU_TOOLS_VIEWS_SITE_TOTALS_H_
#define TWINMMU_TOOLS_VIEWS_SITE_TOTALS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/record/event.h"
#include "tools/views/live_memory.h"

namespace twinmmu {

// What one place made of one kind.
struct SiteTotal {
  uint64_t count = 0;
  uint64_t peak = 0;  // bytes that were alive at once
  uint64_t left = 0;  // bytes that are alive at the end
};

// A kind and a place, in words: "mapping", "Pool::Grow (pool.cc:42)".
using SiteKey = std::pair<std::string, std::string>;

// Of all processes together.
class SiteTotals : public record::EventSink {
 public:
  void Add(const record::Event& event, const record::Stack& stack) override;
  // All kinds together have the place "".
  std::map<SiteKey, SiteTotal> Finish() const { return totals_; }
  // What found no room, in words, or empty.
  std::string LeftOut() const { return memory_.LeftOut(); }

 private:
  void Change(const LiveObject& object, bool made);

  LiveMemory memory_;
  std::map<SiteKey, SiteTotal> totals_;
};

// A row for each place that is in one of the runs.
struct GrowthRow {
  SiteKey site;
  SiteTotal before;
  SiteTotal after;

  int64_t grown() const { return static_cast<int64_t>(after.peak - before.peak); }
};

// What grew most comes first, the sums of a kind before its places.
std::vector<GrowthRow> CompareSites(const std::map<SiteKey, SiteTotal>& before,
                                    const std::map<SiteKey, SiteTotal>& after);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_VIEWS_SITE_TOTALS_H_
