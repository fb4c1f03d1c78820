// The accesses of the lanes of a warp, side by side: most of them are alike.

#include <algorithm>

#include "sim/coherence/model/hazard_checker.h"

namespace twinmmu::coherence {
namespace {

// So many threads at once, whose number the compiler knows.
constexpr uint32_t kTogether = 8;

// The last epoch of any of the threads. They may have made different numbers of accesses: some are
// left out then.
Epoch LastOf(const Epoch* epochs, uint32_t threads) {
  Epoch differences = threads % kTogether;
  for (uint32_t i = 0; i + kTogether <= threads; i += kTogether) {
    for (uint32_t k = 0; k < kTogether; ++k) differences |= epochs[i + k] ^ epochs[0];
  }
  return differences == 0 ? epochs[0] : *std::max_element(epochs, epochs + threads);
}

}  // namespace

inline bool HazardChecker::IsQuicklyBefore(const Ordering& ordering, const Entry& entry,
                                           const AccessEvent& event, bool writes) const {
  if (IsEmpty(entry)) return true;
  const Kind& kind = kinds_[entry.kind];
  return (!writes && !kind.writes()) ||
         ordering.IsBefore({entry.thread, entry.epoch, kind.address, kind.site}, event.thread,
                           event.address);
}

inline bool HazardChecker::CheckCellQuickly(const Ordering& ordering, Page* page, size_t index,
                                            const AccessEvent& event, bool writes,
                                            uint32_t number) const {
  const Entry own(event.thread, event.epoch, number);
  const auto replaces = [&](Entry* entry) {
    if (entry->thread != event.thread ||
        (entry->kind != number && !Replaces(kinds_[number], kinds_[entry->kind]))) {
      return false;
    }
    entry->epoch = event.epoch;
    entry->kind = number;
    return true;
  };
  Entry& first = page->firsts[index];
  if (first.has_rest == 0) {
    if (replaces(&first)) return true;
    if (!IsQuicklyBefore(ordering, first, event, writes)) return false;
    if (writes || IsEmpty(first)) {
      first = own;
      return true;
    }
    if (page->rests.empty()) return false;
    first.has_rest = 1;
    page->rests[index].second = own;
    return true;
  }
  Rest& rest = page->rests[index];
  if (rest.more != nullptr) {
    if (writes || !rest.more->takes_reads || !IsQuicklyBefore(ordering, first, event, writes)) {
      return false;
    }
    rest.more->entries[event.thread % rest.more->entries.size()] = own;
    return true;
  }
  Entry& second = rest.second;
  if (replaces(&second)) return true;
  if (!writes && !kinds_[second.kind].writes() && replaces(&first)) return true;
  if (!writes || !IsQuicklyBefore(ordering, first, event, writes) ||
      !IsQuicklyBefore(ordering, second, event, writes)) {
    return false;
  }
  first = own;
  second = Entry();
  return true;
}

// Whether each cell has nothing, or one access of the thread that accesses it now, through the same
// address; and where these are reads, of that kind. Then what is there gives way to them.
bool HazardChecker::IsOwn(const Entry* cells, const Row& row, uint32_t number) const {
  // All of one kind, as the lanes of a warp made them together.
  const uint32_t known =
      row.writes && kinds_[cells->kind].address == row.event.address ? cells->kind : number;
  for (uint32_t i = 0; i < row.threads; ++i) {
    for (uint32_t k = 0; k < row.size; k += kCellBytes, ++cells) {
      const bool mine = (cells->kind == known) & (cells->thread == row.event.thread + i);
      const bool empty = (cells->kind == 0) | (cells->thread < first_kept_);
      if (cells->has_rest != 0 || !(mine | empty)) return false;
    }
  }
  return true;
}

// Returns how many of the threads were noted.
uint32_t HazardChecker::CheckCellsQuickly(Ordering* ordering, Page* page, const Row& row,
                                          uint32_t number) {
  Epoch* const epochs = ordering->EpochsOf(row.event.thread, row.threads);
  if (epochs == nullptr) return 0;
  const uint32_t cells_each = row.size / kCellBytes;
  const auto begin = static_cast<uint32_t>(row.first % kPageBytes);
  const uint32_t end = begin + row.threads * row.size;
  SpreadLines(page, PageOf(row.first), begin, end - 1);
  CellOf(page, PageOf(row.first), (end - 1) / kCellBytes);
  size_t index = begin / kCellBytes;
  if (row.threads > 1 && IsOwn(&page->firsts[index], row, number)) {
    Entry* cell = &page->firsts[index];
    for (uint32_t i = 0; i < row.threads; ++i) {
      const Epoch epoch = ++epochs[i];
      // One by one: a whole entry made on the stack is read before its parts are written there.
      for (uint32_t k = 0; k < cells_each; ++k, ++cell) {
        cell->thread = row.event.thread + i;
        cell->epoch = epoch;
        cell->kind = number;
      }
    }
    return row.threads;
  }
  AccessEvent event = row.event;
  for (uint32_t i = 0; i < row.threads; ++i, ++event.thread) {
    event.epoch = ++epochs[i];
    for (uint32_t k = 0; k < cells_each; ++k, ++index) {
      // What was done of it already, Check may do again.
      if (!CheckCellQuickly(*ordering, page, index, event, row.writes, number)) return i;
    }
  }
  return row.threads;
}

// --- Lines ---

bool HazardChecker::IsLineBefore(const Ordering& ordering, const Entry& entry,
                                 const Row& row) const {
  if (IsEmpty(entry)) return true;
  const Kind& kind = kinds_[entry.kind];
  if (!row.writes && !kind.writes()) return true;
  if (entry.thread == row.event.thread && kind.address == row.event.address) return true;
  for (uint32_t i = 0; i < row.threads; ++i) {
    if (!ordering.IsBefore({entry.thread + i, entry.epoch, kind.address, kind.site},
                           row.event.thread + i, row.event.address)) {
      return false;
    }
  }
  return true;
}

// As CheckCellQuickly, for all cells at once.
bool HazardChecker::CheckLine(const Ordering& ordering, Line* line, const Row& row,
                              const Entry& own) const {
  const uint32_t cells_each = row.size / kCellBytes;
  if (line->spread) return false;
  if (IsEmpty(line->first)) {
    *line = {own, Entry(), cells_each, false};
    return true;
  }
  if (line->cells_each != cells_each) return false;
  if (row.writes) {
    if (!IsLineBefore(ordering, line->first, row) || !IsLineBefore(ordering, line->second, row)) {
      return false;
    }
    line->first = own;
    line->second = Entry();
    return true;
  }
  const auto is_replaced = [&](const Entry& entry) {
    return entry.thread == own.thread && Replaces(kinds_[own.kind], kinds_[entry.kind]);
  };
  if (is_replaced(line->first)) {
    line->first = own;
    return true;
  }
  if (!IsEmpty(line->second) && !is_replaced(line->second)) return false;
  if (!IsLineBefore(ordering, line->first, row)) return false;
  line->second = own;
  return true;
}

// Notes an access of a whole line. False: it is not to be noted so, and nothing was done.
bool HazardChecker::NoteInLine(Ordering* ordering, Page* page, const Row& row, uint32_t number) {
  Epoch* const epochs = ordering->EpochsOf(row.event.thread, row.threads);
  if (epochs == nullptr) return false;
  if (page->lines.empty()) {
    Line line;
    line.spread = !page->firsts.empty();
    page->lines.resize(kPageBytes / kCellBytes / kLineCells, line);
    bytes_ += page->lines.capacity() * sizeof(Line);
  }
  const size_t index = row.first % kPageBytes / kCellBytes;
  Line* const line = &page->lines[index / kLineCells];
  const Epoch epoch = 1 + LastOf(epochs, row.threads);
  const Entry own(row.event.thread, epoch, number);
  if (line->spread && (index >= page->firsts.size() || IsOwn(&page->firsts[index], row, number))) {
    *line = Line();
  }
  if (!CheckLine(*ordering, line, row, own)) return false;
  std::fill_n(epochs, row.threads, epoch);
  return true;
}

void HazardChecker::Spread(Page* page, uint64_t number, size_t index) {
  Line& line = page->lines[index];
  if (line.spread) return;
  const size_t begin = index * kLineCells;
  if (!IsEmpty(line.first)) CellOf(page, number, begin + kLineCells - 1);
  const auto of_cell = [&](const Entry& entry, size_t i) {
    return Entry(entry.thread + static_cast<ThreadId>(i / line.cells_each), entry.epoch,
                 entry.kind);
  };
  const size_t before = page->bytes();
  for (size_t i = 0; i < kLineCells && begin + i < page->firsts.size(); ++i) {
    page->firsts[begin + i] = Entry();
    if (IsEmpty(line.first)) continue;
    Cell cell(page, begin + i);
    cell.Add(of_cell(line.first, i));
    if (!IsEmpty(line.second)) cell.Add(of_cell(line.second, i));
  }
  bytes_ += page->bytes() - before;
  line = Line();
  line.spread = true;
}

// --- Rows ---

bool HazardChecker::AreRangesBefore(const Ordering& ordering, const Page& page,
                                    const Row& row) const {
  for (const RangeEntry& range : page.ranges) {
    const Kind& kind = kinds_[range.entry.kind];
    if (!row.writes && !kind.writes()) continue;
    const AccessEvent event{range.entry.thread, range.entry.epoch, kind.address, kind.site};
    for (uint32_t i = 0; i < row.threads; ++i) {
      if (!ordering.IsBefore(event, row.event.thread + i, row.event.address)) return false;
    }
  }
  return true;
}

uint32_t HazardChecker::CheckQuickly(Ordering* ordering, const Row& row) {
  constexpr uint32_t kLineBytes = kLineCells * kCellBytes;
  if ((row.first | row.size) % kCellBytes != 0 || row.size > kMaxCelled ||
      kinds_.size() > most_kinds_) {
    return 0;
  }
  Page* const page = GetPage(PageOf(row.first));
  if (!page->ranges.empty()) {
    DropForgotten(page);
    if (!AreRangesBefore(*ordering, *page, row)) return 0;
  }
  const uint32_t number = IdOf(Kind(row.event, Strength(), row.writes, kWhole));
  uint32_t done = 0;
  while (done < row.threads) {
    Row part = row;
    part.first += uint64_t{done} * row.size;
    part.event.thread += done;
    part.threads -= done;
    const auto to_next = static_cast<uint32_t>(kLineBytes - part.first % kLineBytes);
    // Up to the next line; beyond it, where one access crosses it.
    part.threads = std::min(part.threads, (to_next + row.size - 1) / row.size);
    const bool is_line = to_next == kLineBytes && part.threads * row.size == kLineBytes;
    if (!is_line || !NoteInLine(ordering, page, part, number)) {
      const uint32_t noted = CheckCellsQuickly(ordering, page, part, number);
      if (noted < part.threads) return done + noted;
    }
    done += part.threads;
  }
  return done;
}

}  // namespace twinmmu::coherence
