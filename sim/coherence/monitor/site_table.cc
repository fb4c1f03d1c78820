#include "sim/coherence/monitor/site_table.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"

namespace twinmmu {

SiteTable::Site SiteTable::Add(const std::shared_ptr<const SiteSource>& source, uint32_t part,
                               uint32_t count, const std::string& name) {
  std::shared_ptr<const SiteSource> oldest;  // ends without the lock
  const std::lock_guard lock(mutex_);
  try {
    Site& known = known_[{source.get(), part}];
    // Another source may have lain at that address before.
    if (known != kUnknown && !ranges_[known].source.expired()) return known;
    known = kUnknown;
    if (count > std::numeric_limits<Site>::max() - next_) return kUnknown;
    if (ranges_.size() >= most_) ForgetGone();
    ranges_[next_] = Range{count, part, source, name};
    known = next_;
    next_ += count;
    if (std::find(kept_.begin(), kept_.end(), source) == kept_.end()) {
      oldest = std::exchange(kept_[next_kept_++ % kKept], source);
    }
    return known;
  } catch (const std::bad_alloc&) {
    return kUnknown;
  }
}

void SiteTable::ForgetGone() {
  size_t gone = 0;
  for (const auto& [first, range] : ranges_) gone += range.source.expired() ? 1 : 0;
  for (auto range = ranges_.begin(); range != ranges_.end() && gone > kGone;) {
    const bool erases = range->second.source.expired();
    gone -= erases ? 1 : 0;
    range = erases ? ranges_.erase(range) : std::next(range);
  }
  for (auto known = known_.begin(); known != known_.end();) {
    const bool erases = known->second != kUnknown && ranges_.count(known->second) == 0;
    known = erases ? known_.erase(known) : std::next(known);
  }
  most_ = std::max(kFew, 2 * ranges_.size());
}

size_t SiteTable::size() const {
  const std::lock_guard lock(mutex_);
  return std::max(ranges_.size(), known_.size());
}

std::string SiteTable::InWords(Site site) const {
  Range range;
  uint32_t index = 0;
  {
    const std::lock_guard lock(mutex_);
    auto found = ranges_.upper_bound(site);
    if (found == ranges_.begin()) return "a place that is not known";
    --found;
    range = found->second;
    index = site - found->first;
  }
  if (index >= range.count) return "a place that is not known";
  const std::shared_ptr<const SiteSource> source = range.source.lock();
  if (source != nullptr) return source->SiteInWords(range.part, index);
  return absl::StrCat(range.name, ", which is not loaded any more");
}

}  // namespace twinmmu
