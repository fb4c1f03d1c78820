#include "sim/coherence/model/vector_clock.h"

#include <algorithm>

namespace twinmmu::coherence {
namespace {

using Range = VectorClock::Range;

// The range that `thread` is in, or null.
const Range* Find(const std::vector<Range>& ranges, ThreadId thread) {
  auto after = std::upper_bound(ranges.begin(), ranges.end(), Range(thread, VectorClock::kAll));
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

Epoch VectorClock::Search(const Data& data, ThreadId thread) {
  const std::vector<Entry>& threads = data.threads;
  if (!threads.empty() && thread >= data.first) {
    const size_t most = std::min<size_t>(thread - data.first + size_t{1}, threads.size());
    const auto end = threads.begin() + static_cast<std::ptrdiff_t>(most);
    const auto found = std::lower_bound(threads.begin(), end, Entry(thread, 0));
    if (found != end && found->first == thread) return found->second;
  }
  return Find(data.ended, thread) == nullptr ? 0 : kAll;
}

bool VectorClock::Includes(const Data& a, const Data& b) {
  if (b.threads.size() > a.threads.size() && a.ended.empty()) return false;
  for (const Range& range : b.ended) {
    const Range* const in = Find(a.ended, range.first);
    if (in == nullptr || range.second > in->second) return false;
  }
  auto thread = a.threads.begin();
  auto ended = a.ended.begin();
  for (const Entry& entry : b.threads) {
    while (thread != a.threads.end() && thread->first < entry.first) ++thread;
    if (thread != a.threads.end() && thread->first == entry.first) {
      if (thread->second < entry.second) return false;
      continue;
    }
    while (ended != a.ended.end() && ended->second < entry.first) ++ended;
    if (ended == a.ended.end() || entry.first < ended->first) return false;
  }
  return true;
}

VectorClock::Data VectorClock::Merge(const Data& a, const Data& b) {
  Data merged;
  merged.ended = a.ended;
  if (!b.ended.empty()) {
    merged.ended.insert(merged.ended.end(), b.ended.begin(), b.ended.end());
    merged.ended = Union(std::move(merged.ended));
  }
  merged.threads.reserve(a.threads.size() + b.threads.size());
  auto i = a.threads.begin();
  auto j = b.threads.begin();
  auto ended = merged.ended.begin();
  while (i != a.threads.end() || j != b.threads.end()) {
    Entry next;
    if (j == b.threads.end() || (i != a.threads.end() && i->first < j->first)) {
      next = *i++;
    } else if (i == a.threads.end() || j->first < i->first) {
      next = *j++;
    } else {
      next = {i->first, std::max(i->second, j->second)};
      ++i;
      ++j;
    }
    while (ended != merged.ended.end() && ended->second < next.first) ++ended;
    if (ended == merged.ended.end() || next.first < ended->first) merged.threads.push_back(next);
  }
  return merged;
}

void VectorClock::Set(Data data) {
  if (!data.threads.empty()) data.first = data.threads.front().first;
  data_ = std::make_shared<const Data>(std::move(data));
}

void VectorClock::Add(Data data) {
  if (data_ != nullptr) data = Merge(*data_, data);
  Set(std::move(data));
}

void VectorClock::Raise(ThreadId thread, Epoch epoch) {
  if (epoch == 0 || Get(thread) >= epoch) return;
  Data one;
  one.threads.emplace_back(thread, epoch);
  Add(std::move(one));
}

void VectorClock::Raise(std::vector<Entry> entries) {
  if (entries.empty()) return;
  Data many;
  many.threads = std::move(entries);
  if (data_ == nullptr || !Includes(*data_, many)) Add(std::move(many));
}

void VectorClock::AddEnded(ThreadId first, ThreadId last) {
  Data one;
  one.ended.emplace_back(first, last);
  Add(std::move(one));
}

void VectorClock::Join(const VectorClock& other) {
  if (other.data_ == nullptr || data_ == other.data_) return;
  if (data_ == nullptr || Includes(*other.data_, *data_)) {
    data_ = other.data_;
  } else if (!Includes(*data_, *other.data_)) {
    Set(Merge(*data_, *other.data_));
  }
}

bool VectorClock::HasAll(const Range& range) const {
  const Range* const in = data_ == nullptr ? nullptr : Find(data_->ended, range.first);
  return range.first > range.second || (in != nullptr && range.second <= in->second);
}

Range VectorClock::EndedRange() const {
  Range greatest(1, 0);
  if (data_ == nullptr) return greatest;
  for (const Range& range : data_->ended) {
    if (greatest.first > greatest.second ||
        range.second - range.first > greatest.second - greatest.first) {
      greatest = range;
    }
  }
  return greatest;
}

void VectorClock::Coarsen(const std::function<bool(ThreadId first, ThreadId last)>& runs) {
  constexpr ThreadId kMaxGap = 1024;  // of threads of one block
  if (data_ == nullptr) return;
  Data coarse;
  std::vector<Range> ended = data_->ended;
  bool open = false;  // the last range of `ended` can grow
  for (const Entry& entry : data_->threads) {
    const ThreadId thread = entry.first;
    if (runs(thread, thread)) {
      coarse.threads.push_back(entry);
      open = false;
    } else if (open && thread - ended.back().second <= kMaxGap &&
               !runs(ended.back().second, thread)) {
      ended.back().second = thread;
    } else {
      ended.emplace_back(thread, thread);
      open = true;
    }
  }
  coarse.ended = Union(std::move(ended));
  Set(std::move(coarse));
}

void VectorClock::AppendTo(std::vector<uint64_t>* key) const {
  if (data_ == nullptr) {
    key->push_back(0);
    return;
  }
  key->push_back(data_->threads.size() << 32 | data_->ended.size());
  for (const auto& [thread, epoch] : data_->threads) key->push_back(uint64_t{thread} << 32 | epoch);
  for (const auto& [first, last] : data_->ended) key->push_back(uint64_t{first} << 32 | last);
}

void Clocks::JoinProxies(const Clocks& other) {
  if (proxies == other.proxies) return;
  ProxyClocks joined = proxies == nullptr ? ProxyClocks() : *proxies;
  joined.async.Join(other.proxies->async);
  joined.alias_async.Join(other.proxies->alias_async);
  joined.async_alias.Join(other.proxies->async_alias);
  joined.async_alias_async.Join(other.proxies->async_alias_async);
  proxies = std::make_shared<const ProxyClocks>(std::move(joined));
}

}  // namespace twinmmu::coherence
