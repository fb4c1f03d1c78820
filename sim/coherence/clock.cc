#include "sim/coherence/clock.h"

#include <algorithm>

namespace twinmmu::coherence {
namespace {

using Range = std::pair<ThreadId, ThreadId>;

// The range that `thread` is in, or null.
const Range* Find(const std::vector<Range>& ranges, ThreadId thread) {
  auto after = std::upper_bound(ranges.begin(), ranges.end(), Range(thread, Clock::kAll));
  if (after == ranges.begin()) return nullptr;
  --after;
  return thread <= after->second ? &*after : nullptr;
}

std::vector<Range> Union(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end());
  std::vector<Range> merged;
  for (const Range& range : ranges) {
    if (!merged.empty() && range.first <= uint64_t{merged.back().second} + 1) {
      merged.back().second = std::max(merged.back().second, range.second);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

}  // namespace

Epoch Clock::Get(ThreadId thread) const {
  if (data_ == nullptr) return 0;
  if (Find(data_->ended, thread) != nullptr) return kAll;
  const auto found = std::lower_bound(data_->threads.begin(), data_->threads.end(),
                                      std::pair<ThreadId, Epoch>(thread, 0));
  return found != data_->threads.end() && found->first == thread ? found->second : 0;
}

Clock::Data Clock::Merge(const Data& a, const Data& b) {
  Data merged;
  merged.ended = a.ended;
  if (!b.ended.empty()) {
    merged.ended.insert(merged.ended.end(), b.ended.begin(), b.ended.end());
    merged.ended = Union(std::move(merged.ended));
  }
  merged.threads.reserve(a.threads.size() + b.threads.size());
  auto i = a.threads.begin();
  auto j = b.threads.begin();
  while (i != a.threads.end() || j != b.threads.end()) {
    std::pair<ThreadId, Epoch> next;
    if (j == b.threads.end() || (i != a.threads.end() && i->first < j->first)) {
      next = *i++;
    } else if (i == a.threads.end() || j->first < i->first) {
      next = *j++;
    } else {
      next = {i->first, std::max(i->second, j->second)};
      ++i;
      ++j;
    }
    if (Find(merged.ended, next.first) == nullptr) merged.threads.push_back(next);
  }
  return merged;
}

void Clock::Raise(ThreadId thread, Epoch epoch) {
  if (epoch == 0 || Get(thread) >= epoch) return;
  Data one;
  one.threads.emplace_back(thread, epoch);
  data_ = std::make_shared<const Data>(data_ == nullptr ? std::move(one) : Merge(*data_, one));
}

void Clock::AddEnded(ThreadId first, ThreadId last) {
  Data one;
  one.ended.emplace_back(first, last);
  data_ = std::make_shared<const Data>(data_ == nullptr ? std::move(one) : Merge(*data_, one));
}

void Clock::Join(const Clock& other) {
  if (other.data_ == nullptr || data_ == other.data_) return;
  if (data_ == nullptr) {
    data_ = other.data_;
    return;
  }
  data_ = std::make_shared<const Data>(Merge(*data_, *other.data_));
}

void Clock::AppendTo(std::vector<uint64_t>* key) const {
  if (data_ == nullptr) {
    key->push_back(0);
    return;
  }
  key->push_back(data_->threads.size() << 32 | data_->ended.size());
  for (const auto& [thread, epoch] : data_->threads) key->push_back(uint64_t{thread} << 32 | epoch);
  for (const auto& [first, last] : data_->ended) key->push_back(uint64_t{first} << 32 | last);
}

}  // namespace twinmmu::coherence
