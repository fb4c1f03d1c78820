#include "sim/coherence/model/hazard_checker.h"

#include <algorithm>

namespace twinmmu::coherence {
namespace {

constexpr uint32_t kBytesOfCell = 4;
constexpr uint32_t kMaxCells = kPageBytes / kBytesOfCell;

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
  if (first().kind == 0) return 0;
  if (first().has_rest == 0 || rest().second.kind == 0) return 1;
  return 2 + (rest().more == nullptr ? 0 : rest().more->entries.size());
}

const HazardChecker::Entry& HazardChecker::Cell::operator[](size_t i) const {
  if (i == 0) return first();
  return i == 1 ? rest().second : rest().more->entries[i - 2];
}

void HazardChecker::Cell::Set(size_t i, Entry entry) {
  entry.has_rest = i == 0 ? first().has_rest : 0;
  const_cast<Entry&>((*this)[i]) = entry;
}

void HazardChecker::Cell::Remove(size_t i) {
  const size_t left = size() - 1;
  for (; i < left; ++i) Set(i, (*this)[i + 1]);
  Resize(left);
}

void HazardChecker::Cell::MakeRest() {
  if (page_->rests.empty()) page_->rests.resize(page_->firsts.size());
  if (first().has_rest == 0) rest() = Rest();
  first().has_rest = 1;
}

HazardChecker::More* HazardChecker::Cell::MakeMore() {
  MakeRest();
  if (rest().more == nullptr) rest().more = std::make_unique<More>();
  rest().more->takes_reads = false;
  return rest().more.get();
}

void HazardChecker::Cell::DropEmptyRest() {
  if (first().has_rest == 0) return;
  std::unique_ptr<More>& more = rest().more;
  if (more != nullptr && more->entries.empty() && more->observers.empty()) more.reset();
  if (more == nullptr && rest().second.kind == 0) first().has_rest = 0;
}

void HazardChecker::Cell::Resize(size_t size) {
  if (size == 0) Set(0, Entry());
  if (first().has_rest == 0) return;
  if (size < 2) rest().second = Entry();
  if (rest().more != nullptr) {
    rest().more->takes_reads = false;
    rest().more->entries.resize(size < 2 ? 0 : size - 2);
  }
  DropEmptyRest();
}

void HazardChecker::Cell::Add(const Entry& entry) {
  const size_t place = size();
  if (place == 1) MakeRest();
  if (place >= 2) MakeMore()->entries.emplace_back();
  Set(place, entry);
}

void HazardChecker::Cell::PruneObservers() {
  if (more() == nullptr) return;
  std::vector<Observer>& observers = more()->observers;
  observers.erase(std::remove_if(observers.begin(), observers.end(),
                                 [&](const Observer& observer) {
                                   for (size_t i = 0; i < size(); ++i) {
                                     if ((*this)[i].thread == observer.thread &&
                                         (*this)[i].epoch == observer.epoch) {
                                       return false;
                                     }
                                   }
                                   return true;
                                 }),
                  observers.end());
  DropEmptyRest();
}

uint32_t HazardChecker::FindKind(const Kind& kind) {
  const auto [found, added] = ids_.try_emplace(kind, static_cast<uint32_t>(kinds_.size()));
  if (added) kinds_.push_back(kind);
  return found->second;
}

uint32_t HazardChecker::IdOf(const Kind& kind) {
  Recent& recent = RecentOf(kind);
  if (recent.id == 0 || !(recent.kind == kind)) recent = {kind, FindKind(kind)};
  return recent.id;
}

HazardChecker::Cell HazardChecker::CellOf(Page* page, uint64_t number, size_t index) {
  if (index >= page->firsts.size()) {
    const size_t before = page->bytes();
    // Whoever touches much of a page touches most of it.
    size_t size = kLineCells;
    while (size <= index) size *= 8;
    size = std::min<size_t>(size, kMaxCells);
    page->firsts.resize(size);
    if (!page->rests.empty()) page->rests.resize(size);
    bytes_ += page->bytes() - before;
    if (bytes_ > limit_) MakeRoom(number);
  }
  return Cell(page, index);
}

bool HazardChecker::Replaces(const Kind& now, const Kind& earlier) {
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
                                    const AccessEvent& earlier, const AccessEvent& now) {
  if (ordering.IsBefore(earlier, now.thread, now.address)) return true;
  const More* const more = cell == nullptr ? nullptr : cell->more();
  if (more == nullptr) return false;
  return std::any_of(more->observers.begin(), more->observers.end(), [&](const Observer& observer) {
    return observer.thread == entry.thread && observer.epoch == entry.epoch &&
           ordering.IsBefore(observer.by, now.thread, now.address);
  });
}

void HazardChecker::Report(const Now& now, const AccessEvent& earlier, const Kind& kind) {
  const Ordering& ordering = now.ordering;
  const bool reached = ordering.IsReached(earlier, now.event.thread);
  const bool same = earlier.address == now.event.address;
  if (ordering.IsMorallyStrong(earlier.thread, earlier.address, kind.strength(), now.event.thread,
                               now.event.address, now.strength) &&
      (same || !reached)) {
    return;
  }
  HazardReport report;
  const int device = ordering.DeviceOf(earlier.address);
  const int other_device = ordering.DeviceOf(now.event.address);
  const bool proxies = ordering.ProxyOf(earlier.address) != ordering.ProxyOf(now.event.address);
  report.hazard = same      ? Hazard::kData
                  : proxies ? Hazard::kProxy
                  : device >= 0 && other_device >= 0 && device != other_device
                      ? Hazard::kCrossDevice
                      : Hazard::kAlias;
  report.first = earlier;
  report.second = now.event;
  report.first_writes = kind.writes();
  report.second_writes = now.writes;
  report.first_strength = kind.strength();
  report.missing_fence = !same && reached;
  now.reports->push_back(report);
}

// What need not be kept loses nothing: a weak write can only be passed by what comes after it, and
// so after what came before it. (A strong one can be observed by what comes after nothing else.)
inline bool HazardChecker::Compare(const Now& now, const Kind& kind, const Cell* cell,
                                   const Entry& entry) {
  const Kind& earlier = kinds_[entry.kind];
  const bool same_thread = entry.thread == now.event.thread;
  if (same_thread && Replaces(kind, earlier)) return true;
  if ((!earlier.writes() && !now.writes) || (earlier.mask() & kind.mask()) == 0) return false;
  if (!same_thread || earlier.address != kind.address) {
    const AccessEvent event{entry.thread, entry.epoch, earlier.address, earlier.site};
    if (!IsBefore(now.ordering, cell, entry, event, now.event)) {
      Report(now, event, earlier);
      return false;
    }
  }
  return now.writes && !now.strength.IsStrong() && (earlier.mask() & ~kind.mask()) == 0;
}

void HazardChecker::CheckCell(const Now& now, Page* page, Cell* cell, uint32_t byte,
                              uint32_t number) {
  const Kind kind = kinds_[number];
  const Entry own(now.event.thread, now.event.epoch, number);
  const size_t size = cell->size();
  if (page->ranges.empty() && size != 0) {
    const Entry last = (*cell)[size - 1];
    if (last.thread == own.thread && Replaces(kind, kinds_[last.kind])) {
      // What the last one raced with, this one does, and it has been reported.
      cell->Set(size - 1, own);
      return;
    }
  }
  for (const RangeEntry& range : page->ranges) {
    const Kind& earlier = kinds_[range.entry.kind];
    const uint8_t mask = MaskOf(byte / kCellBytes, range.first, range.last);
    if ((!earlier.writes() && !now.writes) || (mask & kind.mask()) == 0) continue;
    if (range.entry.thread == own.thread && earlier.address == kind.address) continue;
    const AccessEvent event{range.entry.thread, range.entry.epoch, earlier.address, earlier.site};
    if (!now.ordering.IsBefore(event, own.thread, kind.address)) Report(now, event, earlier);
  }
  std::array<Entry, kMaxAccesses> kept;
  size_t count = 0;
  for (size_t i = 0; i < size; ++i) {
    const Entry& entry = (*cell)[i];
    if (!IsEmpty(entry) && !Compare(now, kind, cell, entry)) kept[count++] = entry;
  }
  if (count == kMaxAccesses) {
    // A read gives way to it, in place: order matters between a write and what comes after it.
    size_t place = 1 + own.thread % (kMaxAccesses - 1);
    while (place > 0 && kinds_[kept[place].kind].writes()) --place;
    if (!now.writes && !kinds_[kept[place].kind].writes()) {
      cell->Set(place, own);
      SetTakesReads(cell);
      return;
    }
    std::copy(kept.begin() + static_cast<std::ptrdiff_t>(place) + 1, kept.end(),
              kept.begin() + static_cast<std::ptrdiff_t>(place));
    --count;
  }
  if (count != size) {
    for (size_t i = 0; i < count; ++i) cell->Set(i, kept[i]);
    cell->Resize(count);
  }
  const size_t before = page->bytes();
  cell->Add(own);
  bytes_ += page->bytes() - before;
  if (count != size) cell->PruneObservers();
  if (count + 1 == kMaxAccesses) SetTakesReads(cell);
}

void HazardChecker::SetTakesReads(Cell* cell) const {
  bool only_reads = cell->size() == kMaxAccesses && cell->more()->observers.empty();
  for (size_t i = 1; only_reads && i < kMaxAccesses; ++i) {
    only_reads = !kinds_[(*cell)[i].kind].writes();
  }
  if (only_reads) cell->more()->takes_reads = true;
}

void HazardChecker::CheckRange(const Now& now, Page* page, uint32_t first, uint32_t last) {
  const uint32_t number = KindOf(now, kWhole);
  const bool all = first == 0 && last == kPageBytes - 1;
  bool left = false;
  const size_t end = std::min<size_t>(page->firsts.size(), last / kCellBytes + 1);
  for (size_t index = first / kCellBytes; index < end; ++index) {
    if (page->firsts[index].kind == 0) continue;
    Cell cell(page, index);
    const size_t size = cell.size();
    const Kind kind(now.event, now.strength, now.writes,
                    MaskOf(static_cast<uint32_t>(index), first, last));
    size_t kept = 0;
    for (size_t i = 0; i < size; ++i) {
      const Entry entry = cell[i];
      if (!IsEmpty(entry) && !Compare(now, kind, &cell, entry)) cell.Set(kept++, entry);
    }
    if (kept != size) {
      cell.Resize(kept);
      cell.PruneObservers();
    }
    left = left || kept != 0;
    // One of a kind is enough: they are reported once.
    if (now.reports->size() > kMaxCells) break;
  }
  if (all && !left) {
    bytes_ -= std::min<uint64_t>(bytes_, page->bytes());
    std::vector<Line>().swap(page->lines);
    std::vector<Entry>().swap(page->firsts);
    std::vector<Rest>().swap(page->rests);
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
  ranges.push_back({Entry(now.event.thread, now.event.epoch, number), static_cast<uint16_t>(first),
                    static_cast<uint16_t>(last)});
}

void HazardChecker::Check(const Ordering& ordering, LocationId first, uint32_t size,
                          const AccessEvent& event, const Strength& strength, bool writes,
                          std::vector<HazardReport>* reports) {
  const Now now{ordering, event, strength, writes, reports};
  if (kinds_.size() > most_kinds_) DropUnusedKinds();
  const uint64_t number = PageOf(first);
  Page* const page = GetPage(number);
  if (!page->ranges.empty()) DropForgotten(page);
  const auto begin = static_cast<uint32_t>(first % kPageBytes);
  const uint32_t end = begin + size;
  SpreadLines(page, number, begin, end - 1);
  if (size > kMaxCelled) {
    CheckRange(now, page, begin, end - 1);
    return;
  }
  for (uint32_t byte = begin & ~(kCellBytes - 1); byte < end; byte += kCellBytes) {
    const uint32_t index = byte / kCellBytes;
    const bool whole = begin <= byte && byte + kCellBytes <= end;
    const uint8_t mask = whole ? kWhole : MaskOf(index, begin, end - 1);
    Cell cell = CellOf(page, number, index);
    CheckCell(now, page, &cell, byte, KindOf(now, mask));
  }
}

}  // namespace twinmmu::coherence
