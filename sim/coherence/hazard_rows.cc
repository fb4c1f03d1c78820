// The accesses of the lanes of a warp, side by side: most of them are alike.

#include <algorithm>

#include "sim/coherence/hazard_checker.h"

namespace twinmmu::coherence {

inline bool HazardChecker::IsQuicklyBefore(const Ordering& ordering, const Entry& entry,
                                           const Mark& mark, bool writes) const {
  if (IsEmpty(entry)) return true;
  const Kind& kind = kinds_[entry.kind];
  return (!writes && !kind.writes()) ||
         ordering.IsBefore({entry.thread, entry.epoch, kind.address, kind.site}, mark.thread,
                           mark.address);
}

inline bool HazardChecker::CheckCellQuickly(const Ordering& ordering, Page* page, size_t index,
                                            const Mark& mark, bool writes, uint32_t number) const {
  const Entry own(mark.thread, mark.epoch, number);
  Entry& first = page->firsts[index];
  if (first.has_rest == 0) {
    if (first.kind == number && first.thread == mark.thread) {
      first.epoch = mark.epoch;
      return true;
    }
    if (!IsQuicklyBefore(ordering, first, mark, writes)) return false;
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
    if (writes || !rest.more->takes_reads || !IsQuicklyBefore(ordering, first, mark, writes)) {
      return false;
    }
    rest.more->entries[mark.thread % rest.more->entries.size()] = own;
    return true;
  }
  Entry& second = rest.second;
  if (second.kind == number && second.thread == mark.thread) {
    second.epoch = mark.epoch;
    return true;
  }
  if (!writes || !IsQuicklyBefore(ordering, first, mark, writes) ||
      !IsQuicklyBefore(ordering, second, mark, writes)) {
    return false;
  }
  first = own;
  second = Entry();
  return true;
}

// Whether each cell has nothing, or one access of the thread that accesses it now, through the same
// address; and where these are reads, of that kind. Then what is there gives way to them.
inline bool HazardChecker::IsOwn(const Entry* cells, uint32_t cells_each, const Row& row,
                                 uint32_t number) const {
  // All of one kind, as the lanes of a warp made them together.
  const uint32_t known =
      row.writes && kinds_[cells->kind].address == row.mark.address ? cells->kind : number;
  bool is_own = true;
  for (uint32_t i = 0; i < row.threads; ++i) {
    for (uint32_t k = 0; k < cells_each; ++k, ++cells) {
      const bool mine = (cells->kind == known) & (cells->thread == row.mark.thread + i);
      const bool empty = (cells->kind == 0) | (cells->thread < first_kept_);
      is_own &= (cells->has_rest == 0) & (mine | empty);
    }
  }
  return is_own;
}

uint32_t HazardChecker::CheckQuickly(Ordering* ordering, const Row& whole) {
  Row row = whole;
  const Kind kind(row.mark, Strength(), row.writes, kWhole);
  const Recent& recent = RecentOf(kind);
  Page* const page = pages_.Find(PageOf(row.first));
  if ((row.first | row.size) % kCellBytes != 0 || row.size > kMaxCelled || page == nullptr ||
      !(recent.kind == kind)) {
    return 0;
  }
  const size_t begin = row.first % kPageBytes / kCellBytes;
  const uint32_t cells_each = row.size / kCellBytes;
  if (begin + cells_each > page->quick_cells) return 0;
  row.threads = std::min(row.threads,
                         static_cast<uint32_t>((page->quick_cells - begin) / cells_each));
  Epoch* const epochs = ordering->EpochsOf(row.mark.thread, row.threads);
  if (epochs == nullptr) return 0;
  if (Entry* cell = &page->firsts[begin]; IsOwn(cell, cells_each, row, recent.number)) {
    for (uint32_t i = 0; i < row.threads; ++i) {
      const Epoch epoch = ++epochs[i];
      // One by one: a whole entry made on the stack is read before its parts are written there.
      for (uint32_t k = 0; k < cells_each; ++k, ++cell) {
        cell->thread = row.mark.thread + i;
        cell->epoch = epoch;
        cell->kind = recent.number;
      }
    }
    return row.threads;
  }
  Mark mark = row.mark;
  for (uint32_t i = 0; i < row.threads; ++i, ++mark.thread) {
    mark.epoch = ++epochs[i];
    for (uint32_t k = 0; k < cells_each; ++k) {
      const size_t index = begin + i * size_t{cells_each} + k;
      // What was done of it already, Check may do again.
      if (!CheckCellQuickly(*ordering, page, index, mark, row.writes, recent.number)) return i;
    }
  }
  return row.threads;
}

}  // namespace twinmmu::coherence
