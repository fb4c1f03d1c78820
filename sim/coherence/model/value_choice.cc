#include "sim/coherence/model/value_choice.h"

#include <algorithm>

namespace twinmmu::coherence {

const uint64_t* Caches::Find(uint64_t sm, LocationId location, AddressId address) const {
  const auto lines = of_sm_.find(sm);
  if (lines == of_sm_.end()) return nullptr;
  const auto line = lines->second.find({location, address});
  return line == lines->second.end() ? nullptr : &line->second;
}

void Caches::Fill(uint64_t sm, LocationId location, AddressId address, uint64_t write) {
  auto& lines = of_sm_[sm];
  if (lines.size() >= kMaxLines) lines.clear();
  lines[{location, address}] = write;
}

void Caches::Drop(uint64_t sm, LocationId location, AddressId address) {
  const auto lines = of_sm_.find(sm);
  if (lines != of_sm_.end()) lines->second.erase({location, address});
}

void Caches::Invalidate(uint64_t sm) { of_sm_.erase(sm); }

size_t Choose(Policy policy, const ChoiceOfRead& read, const std::vector<uint64_t>& writes,
              size_t newest, Caches* caches) {
  switch (policy) {
    case Policy::kCoherent:
      return newest;
    case Policy::kStale:
      return read.newest_is_strong ? newest : 0;
    case Policy::kRandom:
      return read.random % writes.size();
    case Policy::kL1:
      break;
  }
  if (!read.is_cached) return newest;
  if (const uint64_t* const line = caches->Find(read.sm, read.location, read.address)) {
    const auto found = std::find(writes.begin(), writes.end(), *line);
    if (found != writes.end()) return static_cast<size_t>(found - writes.begin());
  }
  caches->Fill(read.sm, read.location, read.address, writes[newest]);
  return newest;
}

}  // namespace twinmmu::coherence
