#include "tools/views/site_totals.h"

#include <algorithm>

#include "tools/views/event_words.h"

namespace twinmmu {

void SiteTotals::Change(const LiveObject& object, bool made) {
  // Memory of another process is that one's.
  if (object.imported) return;
  const std::string kind = WordOf(object.kind);
  const std::string place = object.stack->empty() ? "?" : InWords(object.stack->front());
  for (const std::string& of : {std::string(), place}) {
    SiteTotal& total = totals_[{kind, of}];
    total.count += made ? 1 : 0;
    total.left = made ? total.left + object.bytes : total.left - object.bytes;
    total.peak = std::max(total.peak, total.left);
  }
}

void SiteTotals::Add(const record::Event& event, const record::Stack& stack) {
  const MemoryChange change = memory_.Apply(event, stack);
  for (const LiveObject& object : change.ended) Change(object, false);
  for (const LiveObject* const made : change.made) Change(*made, true);
}

std::vector<GrowthRow> CompareSites(const std::map<SiteKey, SiteTotal>& before,
                                    const std::map<SiteKey, SiteTotal>& after) {
  std::map<SiteKey, GrowthRow> rows;
  for (const auto& [site, total] : before) rows[site].before = total;
  for (const auto& [site, total] : after) rows[site].after = total;
  std::vector<GrowthRow> sorted;
  for (auto& [site, row] : rows) {
    row.site = site;
    sorted.push_back(row);
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const GrowthRow& a, const GrowthRow& b) {
    const bool a_is_sum = a.site.second.empty();
    const bool b_is_sum = b.site.second.empty();
    return a_is_sum != b_is_sum ? a_is_sum : !a_is_sum && a.grown() > b.grown();
  });
  return sorted;
}

}  // namespace twinmmu
