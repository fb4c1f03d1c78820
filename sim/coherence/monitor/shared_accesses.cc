#include "sim/coherence/monitor/shared_accesses.h"

#include <algorithm>
#include <utility>

namespace twinmmu::coherence {

void SharedAccesses::Add(LocationId first, uint64_t size) {
  if (size != 0) regions_.insert_or_assign(first + size - 1, first);
}

void SharedAccesses::Remove(LocationId first) {
  for (auto region = regions_.begin(); region != regions_.end(); ++region) {
    if (region->second == first) {
      regions_.erase(region);
      return;
    }
  }
}

bool SharedAccesses::Has(LocationId first, uint64_t size) const {
  const auto region = regions_.lower_bound(first);
  return size != 0 && region != regions_.end() && region->second <= first + size - 1;
}

void SharedAccesses::Note(uint64_t call, const AccessEvent& event, LocationId first, uint64_t size,
                          bool writes) {
  if (!Has(first, size)) return;
  if (uses_.size() >= kMaxCalls && uses_.count(call) == 0) uses_.erase(uses_.begin());
  Places& places = uses_[call][writes ? 1 : 0];
  SharedUse use{first, first + size - 1, writes, event};
  // Those that it meets, or lies beside.
  auto next = places.lower_bound(first == 0 ? 0 : first - 1);
  if (next != places.end() && next->second.first <= first && use.last <= next->second.last) return;
  while (next != places.end() && next->second.first <= use.last + 1) {
    if (next->second.first <= use.first) use.event = next->second.event;
    use.first = std::min(use.first, next->second.first);
    use.last = std::max(use.last, next->second.last);
    next = places.erase(next);
  }
  if (places.size() < kMaxPlaces) places.emplace(use.last, use);
}

std::vector<SharedUse> SharedAccesses::Take(uint64_t call) {
  std::vector<SharedUse> taken;
  const auto found = uses_.find(call);
  if (found == uses_.end()) return taken;
  for (const Places& places : found->second) {
    for (const auto& [last, use] : places) taken.push_back(use);
  }
  uses_.erase(found);
  return taken;
}

}  // namespace twinmmu::coherence
