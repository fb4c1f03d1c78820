// What the checker keeps, what was seen of it, and what it keeps no more.

#include <algorithm>
#include <iterator>

#include "sim/coherence/model/hazard_checker.h"

namespace twinmmu::coherence {
namespace {

constexpr uint64_t kCellsOfPage = kPageBytes / 4;
constexpr uint64_t kPageCost = 256;  // of a page without cells, about

}  // namespace

HazardChecker::Page* HazardChecker::GetPage(uint64_t number) {
  Page* page = pages_.Find(number);
  if (page != nullptr) return page;
  page = pages_.Get(number);
  bytes_ += kPageCost;
  if (bytes_ > limit_) MakeRoom(number);
  return page;
}

void HazardChecker::MakeRoom(uint64_t number) {
  uint64_t oldest = 0;
  while (bytes_ > limit_ && pages_.Oldest(number, &oldest)) {
    const Page& page = *pages_.Find(oldest);
    bytes_ -= std::min(bytes_, kPageCost + page.bytes());
    pages_.Erase(oldest);
  }
}

void HazardChecker::DropForgotten(Page* page) const {
  page->ranges.erase(std::remove_if(page->ranges.begin(), page->ranges.end(),
                                    [&](const RangeEntry& range) { return IsEmpty(range.entry); }),
                     page->ranges.end());
}

void HazardChecker::Observe(LocationId first, uint32_t size, const std::vector<AccessEvent>& writes,
                            const AccessEvent& by) {
  constexpr size_t kMaxObservers = 64;
  Page* const page = pages_.Find(PageOf(first));
  if (page == nullptr || writes.empty()) return;
  const uint64_t begin = first % kPageBytes / kCellBytes;
  const uint64_t end = (first % kPageBytes + size - 1) / kCellBytes;
  SpreadLines(page, PageOf(first), static_cast<uint32_t>(begin) * kCellBytes,
              static_cast<uint32_t>(end) * kCellBytes);
  const auto is_seen = [&](const Entry& entry) {
    return std::any_of(writes.begin(), writes.end(), [&](const AccessEvent& write) {
      return write.thread == entry.thread && write.epoch == entry.epoch;
    });
  };
  for (uint64_t index = begin; index <= end && index < page->firsts.size(); ++index) {
    Cell cell(page, index);
    for (size_t i = 0; i < cell.size(); ++i) {
      const Entry entry = cell[i];
      if (!kinds_[entry.kind].writes()) continue;
      // Also what an atomic operation has seen that this read has seen.
      const bool chained =
          cell.more() != nullptr &&
          std::any_of(cell.more()->observers.begin(), cell.more()->observers.end(),
                      [&](const Observer& observer) {
                        return observer.thread == entry.thread && observer.epoch == entry.epoch &&
                               is_seen(Entry(observer.by.thread, observer.by.epoch, 0));
                      });
      if (!chained && !is_seen(entry)) continue;
      // Its own thread knows, through its own address.
      if (entry.thread == by.thread && kinds_[entry.kind].address == by.address) continue;
      std::vector<Observer>& observers = cell.MakeMore()->observers;
      // The first of a thread is before all that a later one is before.
      const bool known =
          std::any_of(observers.begin(), observers.end(), [&](const Observer& observer) {
            return observer.thread == entry.thread && observer.epoch == entry.epoch &&
                   observer.by.thread == by.thread && observer.by.address == by.address;
          });
      if (known) continue;
      if (observers.size() < kMaxObservers) {
        observers.push_back({entry.thread, entry.epoch, by});
        continue;
      }
      // Too many to keep: without them, it would seem to race with what it does not.
      cell.Remove(i--);
      cell.PruneObservers();
    }
  }
}

void HazardChecker::Forget(LocationId first, LocationId last) {
  pages_.Erase(PageOf(first), PageOf(last), [&](const Page& page) {
    bytes_ -= std::min<uint64_t>(bytes_, kPageCost + page.bytes());
  });
  if (!pages_.empty()) return;
  ForgetKinds();
  bytes_ = 0;
}

// What lies partly in them is forgotten, too: cells, and entries of ranges.
void HazardChecker::ForgetPart(Page* page, uint64_t number, uint32_t first, uint32_t last) {
  SpreadLines(page, number, first, last);
  const size_t end = std::min<size_t>(page->firsts.size(), last / kCellBytes + 1);
  for (size_t index = first / kCellBytes; index < end; ++index) {
    Cell cell(page, index);
    cell.Resize(0);
    cell.PruneObservers();
  }
  const std::vector<RangeEntry> before = std::move(page->ranges);
  page->ranges.clear();
  for (const RangeEntry& range : before) {
    if (range.last < first || last < range.first) {
      page->ranges.push_back(range);
      continue;
    }
    if (range.first < first) {
      page->ranges.push_back({range.entry, range.first, static_cast<uint16_t>(first - 1)});
    }
    if (last < range.last) {
      page->ranges.push_back({range.entry, static_cast<uint16_t>(last + 1), range.last});
    }
  }
}

void HazardChecker::ForgetBytes(LocationId first, LocationId last) {
  const auto forget_part = [&](LocationId from, LocationId to) {
    Page* const page = pages_.Find(PageOf(from));
    if (page == nullptr) return;
    ForgetPart(page, PageOf(from), static_cast<uint32_t>(from % kPageBytes),
               static_cast<uint32_t>(to % kPageBytes));
  };
  const LocationId whole = (first + kPageBytes - 1) / kPageBytes * kPageBytes;
  const LocationId end = (last + 1) / kPageBytes * kPageBytes;
  if (PageOf(first) == PageOf(last) && (first != whole || last + 1 != end)) {
    return forget_part(first, last);
  }
  if (first != whole) forget_part(first, whole - 1);
  if (last + 1 != end) forget_part(end, last);
  if (whole < end) Forget(whole, end - 1);
}

// All entries, also those that are void.
template <typename Visit>
void HazardChecker::ForEachEntry(const Visit& visit) {
  for (auto& [number, page] : pages_) {
    for (Line& line : page.lines) {
      visit(&line.first);
      visit(&line.second);
    }
    for (Entry& entry : page.firsts) visit(&entry);
    for (Rest& rest : page.rests) {
      visit(&rest.second);
      if (rest.more == nullptr) continue;
      for (Entry& entry : rest.more->entries) visit(&entry);
    }
    for (RangeEntry& range : page.ranges) visit(&range.entry);
  }
}

// Addresses have new ids each time that they are mapped, so kinds come and go with them.
void HazardChecker::DropUnusedKinds() {
  std::vector<uint32_t> ids(kinds_.size());  // first whether it is used, then the new one
  ForEachEntry([&](const Entry* entry) { ids[entry->kind] = 1; });
  ids[0] = 0;
  uint32_t next = 1;
  for (size_t id = 1; id < ids.size(); ++id) {
    if (ids[id] == 0) continue;
    kinds_[next] = kinds_[id];
    ids[id] = next++;
  }
  ForEachEntry([&](Entry* entry) { entry->kind = ids[entry->kind] & kNoKind; });
  for (auto known = ids_.begin(); known != ids_.end();) {
    known->second = ids[known->second];
    known = known->second == 0 ? ids_.erase(known) : std::next(known);
  }
  kinds_.resize(next);
  recent_.fill({});
  most_kinds_ = std::max<size_t>(kFewKinds, size_t{2} * next);
  if (most_kinds_ > kMaxKinds) Collapse();
}

void HazardChecker::ForgetKinds() {
  kinds_.resize(1);
  ids_.clear();
  recent_.fill({});
  most_kinds_ = kFewKinds;
}

void HazardChecker::Collapse() {
  pages_.Clear();
  bytes_ = 0;
  first_kept_ = 0;
  ForgetKinds();
}

void HazardChecker::AppendTo(std::vector<uint64_t>* key) const {
  for (const auto& [number, page] : pages_) {
    for (const Line& line : page.lines) {
      for (const Entry& entry : {line.first, line.second}) {
        key->push_back(uint64_t{entry.thread} << 32 | entry.epoch);
      }
    }
    for (size_t index = 0; index < page.firsts.size(); ++index) {
      if (!page.lines.empty() && !page.lines[index / kLineCells].spread) continue;
      const Cell cell(const_cast<Page*>(&page), index);
      if (cell.size() == 0) continue;
      key->push_back((number * kCellsOfPage + index) << 32 | cell.size());
      for (size_t i = 0; i < cell.size(); ++i) {
        key->push_back(uint64_t{cell[i].thread} << 32 | cell[i].epoch);
      }
      if (cell.more() == nullptr) continue;
      for (const Observer& observer : cell.more()->observers) {
        key->push_back(uint64_t{observer.thread} << 32 | observer.epoch);
        key->push_back(uint64_t{observer.by.thread} << 32 | observer.by.epoch);
      }
    }
  }
}

}  // namespace twinmmu::coherence
