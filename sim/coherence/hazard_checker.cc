#include "sim/coherence/hazard_checker.h"

#include <algorithm>

namespace twinmmu::coherence {
namespace {

constexpr uint32_t kBytesOfCell = 4;
constexpr uint32_t kMaxCells = kPageBytes / kBytesOfCell;
constexpr uint64_t kPageCost = 256;  // of a page without cells, about
// So many different accesses are not met; if so, all is forgotten.
constexpr size_t kMaxKinds = size_t{1} << 20;

// The bytes of the cell of `index` that lie from `first` to `last` of the page.
uint8_t MaskOf(uint32_t index, uint32_t first, uint32_t last) {
  const uint32_t begin = index * kBytesOfCell;
  uint8_t mask = 0;
  for (uint32_t i = 0; i < kBytesOfCell; ++i) {
    if (first <= begin + i && begin + i <= last) mask |= static_cast<uint8_t>(1u << i);
  }
  return mask;
}

}  // namespace

size_t HazardChecker::Cell::size() const {
  if (entries[0].kind == 0) return 0;
  if (entries[1].kind == 0) return 1;
  return 2 + (more == nullptr ? 0 : more->entries.size());
}

void HazardChecker::Cell::Resize(size_t size) {
  for (size_t i = size; i < entries.size(); ++i) entries[i] = Entry();
  if (more == nullptr) return;
  more->entries.resize(size <= entries.size() ? 0 : size - entries.size());
  if (more->entries.empty() && more->observers.empty()) more.reset();
}

void HazardChecker::Cell::Add(const Entry& entry) {
  for (Entry& own : entries) {
    if (own.kind != 0) continue;
    own = entry;
    return;
  }
  if (more == nullptr) more = std::make_unique<More>();
  more->entries.push_back(entry);
}

uint32_t HazardChecker::FindKind(const Kind& kind) {
  const auto [found, added] = numbers_.try_emplace(kind, static_cast<uint32_t>(kinds_.size()));
  if (added) kinds_.push_back(kind);
  return found->second;
}

uint32_t HazardChecker::KindOf(const Now& now, uint8_t mask) {
  const Kind kind(now.mark, now.strength, now.writes, mask);
  Recent& recent = RecentOf(kind);
  if (recent.number == 0 || !(recent.kind == kind)) recent = {kind, FindKind(kind)};
  return recent.number;
}

void HazardChecker::MakeRoom(uint64_t number) {
  uint64_t oldest = 0;
  while (bytes_ > limit_ && pages_.Oldest(number, &oldest)) {
    const Page& page = *pages_.Find(oldest);
    bytes_ -= std::min(bytes_, kPageCost + page.cells.capacity() * sizeof(Cell));
    pages_.Erase(oldest);
  }
}

inline HazardChecker::Cell* HazardChecker::CellOf(Page* page, uint64_t number, size_t index) {
  if (index >= page->cells.size()) {
    const size_t before = page->cells.capacity();
    // Whoever touches much of a page touches most of it.
    size_t size = 16;
    while (size <= index) size *= 8;
    page->cells.resize(std::min<size_t>(size, kMaxCells));
    bytes_ += (page->cells.capacity() - before) * sizeof(Cell);
    if (bytes_ > limit_) MakeRoom(number);
  }
  return &page->cells[index];
}

inline bool HazardChecker::Replaces(const Kind& now, const Kind& earlier) {
  if (earlier.address != now.address || earlier.writes() != now.writes() ||
      (earlier.mask() & ~now.mask()) != 0) {
    return false;
  }
  const Strength strength = now.strength();
  if (!strength.IsStrong()) return true;
  const Strength before = earlier.strength();
  return !now.writes() && strength.semantics == before.semantics && strength.scope == before.scope;
}

inline bool HazardChecker::IsBefore(const Ordering& ordering, const Cell* cell, const Entry& entry,
                                    const Mark& earlier, const Mark& now) {
  if (ordering.IsBefore(earlier, now.thread, now.address)) return true;
  if (cell == nullptr || cell->more == nullptr) return false;
  return std::any_of(cell->more->observers.begin(), cell->more->observers.end(),
                     [&](const Observer& observer) {
                       return observer.thread == entry.thread && observer.epoch == entry.epoch &&
                              ordering.IsBefore(observer.by, now.thread, now.address);
                     });
}

void HazardChecker::Report(const Now& now, const Mark& earlier, const Kind& kind) {
  const Ordering& ordering = now.ordering;
  const bool reached = ordering.IsReached(earlier, now.mark.thread);
  const bool same = earlier.address == now.mark.address;
  if (ordering.IsMorallyStrong(earlier.thread, earlier.address, kind.strength(), now.mark.thread,
                               now.mark.address, now.strength) &&
      (same || !reached)) {
    return;
  }
  HazardReport report;
  const int device = ordering.DeviceOf(earlier.address);
  const int other_device = ordering.DeviceOf(now.mark.address);
  report.hazard = same ? Hazard::kData
                  : device >= 0 && other_device >= 0 && device != other_device
                      ? Hazard::kCrossDevice
                      : Hazard::kAlias;
  report.first = earlier;
  report.second = now.mark;
  report.first_writes = kind.writes();
  report.second_writes = now.writes;
  report.missing_fence = !same && reached;
  now.reports->push_back(report);
}

// What need not be kept loses nothing: a weak write can only be passed by what comes after it, and
// so after what came before it. (A strong one can be observed by what comes after nothing else.)
inline bool HazardChecker::Compare(const Now& now, const Kind& kind, const Cell* cell,
                                   const Entry& entry) {
  const Kind& earlier = kinds_[entry.kind];
  const bool same_thread = entry.thread == now.mark.thread;
  if (same_thread && Replaces(kind, earlier)) return true;
  if ((!earlier.writes() && !now.writes) || (earlier.mask() & kind.mask()) == 0) return false;
  if (!same_thread || earlier.address != kind.address) {
    const Mark mark{entry.thread, entry.epoch, earlier.address, earlier.site};
    if (!IsBefore(now.ordering, cell, entry, mark, now.mark)) {
      Report(now, mark, earlier);
      return false;
    }
  }
  return now.writes && !now.strength.IsStrong() && (earlier.mask() & ~kind.mask()) == 0;
}

void HazardChecker::PruneObservers(Cell* cell) {
  std::vector<Observer>& observers = cell->more->observers;
  observers.erase(std::remove_if(observers.begin(), observers.end(),
                                 [&](const Observer& observer) {
                                   for (size_t i = 0; i < cell->size(); ++i) {
                                     if ((*cell)[i].thread == observer.thread &&
                                         (*cell)[i].epoch == observer.epoch) {
                                       return false;
                                     }
                                   }
                                   return true;
                                 }),
                  observers.end());
  if (cell->more->entries.empty() && observers.empty()) cell->more.reset();
}

void HazardChecker::CheckCell(const Now& now, Page* page, Cell* cell, uint32_t byte,
                              uint32_t number) {
  const Kind kind = kinds_[number];
  const Entry own{now.mark.thread, now.mark.epoch, number};
  const size_t size = cell->size();
  if (page->ranges.empty()) {
    if (size == 0) {
      cell->entries[0] = own;
      return;
    }
    Entry& last = (*cell)[size - 1];
    if (last.thread == own.thread && Replaces(kind, kinds_[last.kind])) {
      // What the last one raced with, this one does, and it has been told.
      last = own;
      return;
    }
  }
  for (const RangeEntry& range : page->ranges) {
    const Kind& earlier = kinds_[range.entry.kind];
    const uint8_t mask = MaskOf(byte / kCellBytes, range.first, range.last);
    if ((!earlier.writes() && !now.writes) || (mask & kind.mask()) == 0) continue;
    if (range.entry.thread == own.thread && earlier.address == kind.address) continue;
    const Mark mark{range.entry.thread, range.entry.epoch, earlier.address, earlier.site};
    if (!now.ordering.IsBefore(mark, own.thread, kind.address)) Report(now, mark, earlier);
  }
  size_t kept = 0;
  size_t oldest = size;  // read
  for (size_t i = 0; i < size; ++i) {
    const Entry entry = (*cell)[i];
    if (Compare(now, kind, cell, entry)) continue;
    if (oldest == size && !kinds_[entry.kind].writes()) oldest = kept;
    (*cell)[kept++] = entry;
  }
  if (kept >= kMaxAccesses) {
    if (oldest == size) oldest = 0;
    for (size_t i = oldest + 1; i < kept; ++i) (*cell)[i - 1] = (*cell)[i];
    --kept;
  }
  if (kept != size) cell->Resize(kept);
  cell->Add(own);
  if (kept != size && cell->more != nullptr) PruneObservers(cell);
}

void HazardChecker::CheckRange(const Now& now, Page* page, uint32_t first, uint32_t last) {
  const uint32_t number = KindOf(now, kWhole);
  const bool all = first == 0 && last == kPageBytes - 1;
  bool left = false;
  const size_t end = std::min<size_t>(page->cells.size(), last / kCellBytes + 1);
  for (size_t index = first / kCellBytes; index < end; ++index) {
    Cell& cell = page->cells[index];
    DropForgotten(page, &cell);
    const size_t size = cell.size();
    if (size == 0) continue;
    const Kind kind(now.mark, now.strength, now.writes,
                    MaskOf(static_cast<uint32_t>(index), first, last));
    size_t kept = 0;
    for (size_t i = 0; i < size; ++i) {
      const Entry entry = cell[i];
      if (!Compare(now, kind, &cell, entry)) cell[kept++] = entry;
    }
    if (kept != size) {
      cell.Resize(kept);
      if (cell.more != nullptr) PruneObservers(&cell);
    }
    left = left || kept != 0;
    // One of a kind is enough: they are told once.
    if (now.reports->size() > kMaxCells) break;
  }
  if (all && !left) {
    bytes_ -= std::min<uint64_t>(bytes_, page->cells.capacity() * sizeof(Cell));
    std::vector<Cell>().swap(page->cells);
  }
  std::vector<RangeEntry>& ranges = page->ranges;
  const Kind& kind = kinds_[number];
  ranges.erase(std::remove_if(ranges.begin(), ranges.end(),
                              [&](const RangeEntry& range) {
                                if (range.last < first || last < range.first) return false;
                                const bool gone = Compare(now, kind, nullptr, range.entry);
                                return gone && first <= range.first && range.last <= last;
                              }),
               ranges.end());
  if (ranges.size() >= kMaxAccesses) ranges.erase(ranges.begin());
  ranges.push_back({{now.mark.thread, now.mark.epoch, number},
                    static_cast<uint16_t>(first),
                    static_cast<uint16_t>(last)});
}

void HazardChecker::DropForgotten(Page* page, Cell* cell) const {
  // They came before all others.
  while (cell->size() != 0 && (*cell)[0].thread < first_kept_) {
    for (size_t i = 1; i < cell->size(); ++i) (*cell)[i - 1] = (*cell)[i];
    cell->Resize(cell->size() - 1);
  }
  page->ranges.erase(
      std::remove_if(page->ranges.begin(), page->ranges.end(),
                     [&](const RangeEntry& range) { return range.entry.thread < first_kept_; }),
      page->ranges.end());
}

void HazardChecker::Check(const Ordering& ordering, LocationId first, uint32_t size,
                          const Mark& mark, const Strength& strength, bool writes,
                          std::vector<HazardReport>* reports) {
  const Now now{ordering, mark, strength, writes, reports};
  if (kinds_.size() > kMaxKinds) Collapse();
  const uint64_t number = PageOf(first);
  Page* page = pages_.Find(number);
  if (page == nullptr) {
    page = pages_.Get(number);
    bytes_ += kPageCost;
    if (bytes_ > limit_) MakeRoom(number);
  }
  const auto begin = static_cast<uint32_t>(first % kPageBytes);
  const uint32_t end = begin + size;
  if (size > kMaxCelled) {
    page->quick_cells = 0;
    CheckRange(now, page, begin, end - 1);
    return;
  }
  for (uint32_t byte = begin & ~(kCellBytes - 1); byte < end; byte += kCellBytes) {
    const uint32_t index = byte / kCellBytes;
    const bool whole = begin <= byte && byte + kCellBytes <= end;
    const uint8_t mask = whole ? kWhole : MaskOf(index, begin, end - 1);
    Cell* const cell = CellOf(page, number, index);
    if (first_kept_ != 0) DropForgotten(page, cell);
    CheckCell(now, page, cell, byte, KindOf(now, mask));
  }
  page->quick_cells = page->ranges.empty() ? page->cells.size() : 0;
}

void HazardChecker::Observe(LocationId first, uint32_t size, const std::vector<Mark>& writes,
                            const Mark& by) {
  constexpr size_t kMaxObservers = 64;
  Page* const page = pages_.Find(PageOf(first));
  if (page == nullptr || writes.empty()) return;
  const uint64_t begin = first % kPageBytes / kCellBytes;
  const uint64_t end = (first % kPageBytes + size - 1) / kCellBytes;
  const auto is_seen = [&](const Entry& entry) {
    return std::any_of(writes.begin(), writes.end(), [&](const Mark& write) {
      return write.thread == entry.thread && write.epoch == entry.epoch;
    });
  };
  for (uint64_t index = begin; index <= end && index < page->cells.size(); ++index) {
    Cell& cell = page->cells[index];
    for (size_t i = 0; i < cell.size(); ++i) {
      const Entry entry = cell[i];
      if (!kinds_[entry.kind].writes()) continue;
      // Also what an atomic operation has seen that this read has seen.
      const bool chained = cell.more != nullptr &&
                           std::any_of(cell.more->observers.begin(), cell.more->observers.end(),
                                       [&](const Observer& observer) {
                                         return observer.thread == entry.thread &&
                                                observer.epoch == entry.epoch &&
                                                is_seen({observer.by.thread, observer.by.epoch, 0});
                                       });
      if (!chained && !is_seen(entry)) continue;
      // Its own thread knows, through its own address.
      if (entry.thread == by.thread && kinds_[entry.kind].address == by.address) continue;
      if (cell.more == nullptr) cell.more = std::make_unique<More>();
      std::vector<Observer>& observers = cell.more->observers;
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
      for (size_t k = i + 1; k < cell.size(); ++k) cell[k - 1] = cell[k];
      cell.Resize(cell.size() - 1);
      if (cell.more != nullptr) PruneObservers(&cell);
      --i;
    }
  }
}

void HazardChecker::Forget(LocationId first, LocationId last) {
  pages_.Erase(PageOf(first), PageOf(last));
  bytes_ = 0;
  for (const auto& [number, page] : pages_) {
    bytes_ += kPageCost + page.cells.capacity() * sizeof(Cell);
  }
}

void HazardChecker::Collapse() {
  pages_.Clear();
  bytes_ = 0;
  first_kept_ = 0;
  kinds_.resize(1);
  numbers_.clear();
  recent_.fill({});
}

void HazardChecker::AppendTo(std::vector<uint64_t>* key) const {
  for (const auto& [number, page] : pages_) {
    for (size_t index = 0; index < page.cells.size(); ++index) {
      const Cell& cell = page.cells[index];
      if (cell.size() == 0) continue;
      key->push_back((number * kMaxCells + index) << 32 | cell.size());
      for (size_t i = 0; i < cell.size(); ++i) {
        key->push_back(uint64_t{cell[i].thread} << 32 | cell[i].epoch);
      }
      if (cell.more == nullptr) continue;
      for (const Observer& observer : cell.more->observers) {
        key->push_back(uint64_t{observer.thread} << 32 | observer.epoch);
        key->push_back(uint64_t{observer.by.thread} << 32 | observer.by.epoch);
      }
    }
  }
}

}  // namespace twinmmu::coherence
