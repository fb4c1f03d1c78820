#include "sim/state/pooled_order.h"

#include <algorithm>
#include <new>
#include <utility>

namespace twinmmu {

PooledOrder::Piece* PooledOrder::FindMeant(uint64_t piece, uint64_t call_id) {
  const auto found = pieces_.find(piece);
  if (found == pieces_.end()) return nullptr;
  if (found->second.allocated.call_id < call_id) return &found->second;
  const AddressRange& range = found->second.range;
  const auto meant = std::find_if(gone_.rbegin(), gone_.rend(), [&](const Piece& gone) {
    return gone.range.overlaps(range) && gone.allocated.call_id < call_id;
  });
  // Where it had other borders it could be a neighbour.
  return meant != gone_.rend() && meant->range.contains(range) ? &*meant : nullptr;
}

void PooledOrder::Allocated(uint64_t piece, const PooledWork& work) {
  const std::lock_guard lock(mutex_);
  pieces_[piece] = Piece{{}, work, std::nullopt, {}, false};
}

void PooledOrder::Place(uint64_t piece, const AddressRange& range) {
  const std::lock_guard lock(mutex_);
  pieces_.find(piece)->second.range = range;
}

std::optional<OrderFinding> PooledOrder::Used(uint64_t piece, const PooledWork& work) {
  const std::lock_guard lock(mutex_);
  Piece* const found = FindMeant(piece, work.call_id);
  if (found == nullptr) return std::nullopt;
  std::optional<OrderFinding> finding;
  if (!work.IsAfter(found->allocated.place)) {
    finding = OrderFinding{OrderFinding::kUseBeforeAllocation, found->allocated.call_id};
  } else if (found->freed.has_value() && work.IsAfter(found->freed->place)) {
    finding = OrderFinding{OrderFinding::kUseAfterFree, found->freed->call_id};
  } else if (found->freed.has_value() && !found->freed->IsAfter(work.place)) {
    finding = OrderFinding{OrderFinding::kUnorderedFree, found->freed->call_id};
  }
  const auto of_line = std::find_if(found->uses.begin(), found->uses.end(), [&](const Use& use) {
    return use.place.line == work.place.line;
  });
  if (of_line != found->uses.end()) {
    *of_line = {work.place, work.call_id};
  } else {
    found->uses.push_back({work.place, work.call_id});
  }
  if (finding.has_value() && std::exchange(found->found, true)) return std::nullopt;
  return finding;
}

std::optional<OrderFinding> PooledOrder::Freed(uint64_t piece, const PooledWork& work) {
  const std::lock_guard lock(mutex_);
  const auto found = pieces_.find(piece);
  if (found == pieces_.end()) return std::nullopt;
  Piece& freed = found->second;
  freed.freed = work;
  std::optional<OrderFinding> finding;
  if (!work.IsAfter(freed.allocated.place)) {
    finding = OrderFinding{OrderFinding::kUnorderedFree, freed.allocated.call_id};
  }
  for (const Use& use : freed.uses) {
    if (work.IsAfter(use.place)) continue;
    finding = OrderFinding{OrderFinding::kUnorderedFree, use.call_id};
    break;
  }
  if (finding.has_value() && std::exchange(freed.found, true)) return std::nullopt;
  return finding;
}

void PooledOrder::Forget(uint64_t piece, bool work_is_queued) {
  const std::lock_guard lock(mutex_);
  const auto found = pieces_.find(piece);
  if (found == pieces_.end()) return;
  if (!work_is_queued) {
    gone_.clear();
  } else {
    try {
      gone_.push_back(std::move(found->second));
    } catch (const std::bad_alloc&) {  // then it is forgotten
    }
    if (gone_.size() > kRemembered) gone_.pop_front();
  }
  pieces_.erase(found);
}

}  // namespace twinmmu
