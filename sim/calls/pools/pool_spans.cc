#include "sim/calls/pools/pool_spans.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace twinmmu {

void PoolSpans::AddArena(const AddressRange& arena) {
  arenas_.reserve(arenas_.size() + 1);
  parts_.emplace(arena.base.value(), Part{arena.size, nullptr, true});
  arenas_.push_back(arena);
}

std::optional<AddressRange> PoolSpans::TakeAbsentArena() {
  for (auto arena = arenas_.begin(); arena != arenas_.end(); ++arena) {
    const auto part = parts_.find(arena->base.value());
    const bool absent = part != parts_.end() && part->second.absent;
    if (!absent || part->second.size != arena->size) continue;
    const AddressRange taken = *arena;
    parts_.erase(part);
    arenas_.erase(arena);
    return taken;
  }
  return std::nullopt;
}

PoolSpans::Parts::const_iterator PoolSpans::RunFrom(Parts::const_iterator first, MayUse may_use,
                                                    bool with_absent, Bytes* length) const {
  auto next = first;
  while (next != parts_.end() && next->first == first->first + length->value()) {
    const Part& part = next->second;
    const bool usable = part.absent ? with_absent : part.free == nullptr || may_use(*part.free);
    if (!usable) break;
    *length = *length + part.size;
    ++next;
  }
  return next;
}

PoolSpans::Parts::const_iterator PoolSpans::FindRun(Bytes size, MayUse may_use, Runs runs) const {
  const auto is_committed = [](const Parts::value_type& part) { return !part.second.absent; };
  auto best = parts_.end();
  Bytes best_length;
  for (auto first = parts_.begin(); first != parts_.end();) {
    Bytes length;
    const auto next = RunFrom(first, may_use, runs != Runs::kCommitted, &length);
    const bool counts = runs != Runs::kPartlyCommitted || std::any_of(first, next, is_committed);
    if (counts && length >= size && (best == parts_.end() || length < best_length)) {
      best = first;
      best_length = length;
      if (runs == Runs::kAny) break;
    }
    first = next == first ? std::next(first) : next;
  }
  return best;
}

std::optional<DeviceAddress> PoolSpans::FindIn(Runs runs, Bytes size, MayUse may_use) const {
  const auto best = FindRun(size, may_use, runs);
  if (best == parts_.end()) return std::nullopt;
  return DeviceAddress(best->first);
}

std::vector<AddressRange> PoolSpans::AbsentIn(DeviceAddress base, Bytes size) const {
  std::vector<AddressRange> absent;
  const DeviceAddress end = base + size;
  for (auto part = parts_.find(base.value());
       part != parts_.end() && DeviceAddress(part->first) < end; ++part) {
    if (!part->second.absent) continue;
    const Bytes needed = std::min(end - DeviceAddress(part->first), part->second.size);
    absent.push_back({DeviceAddress(part->first), RoundUp(needed, kChunk), Bytes(0)});
  }
  return absent;
}

std::vector<StreamOrderedFreePtr> PoolSpans::FreesIn(const AddressRange& range) const {
  std::vector<StreamOrderedFreePtr> frees;
  for (auto part = parts_.find(range.base.value());
       part != parts_.end() && DeviceAddress(part->first) < range.end(); ++part) {
    if (part->second.free != nullptr) frees.push_back(part->second.free);
  }
  return frees;
}

PoolSpans::Prepared PoolSpans::Prepare() {
  Parts parts;
  return parts.extract(parts.emplace(0, Part()).first);
}

void PoolSpans::Take(const AddressRange& range, Prepared prepared) {
  const auto first = parts_.find(range.base.value());
  Bytes covered;
  auto end = first;
  for (; covered < range.size; ++end) covered = covered + end->second.size;
  prepared.mapped() = Part{covered - range.size, std::prev(end)->second.free, false};
  parts_.erase(first, end);
  if (covered == range.size) return;
  prepared.key() = range.end().value();
  parts_.insert(std::move(prepared));
}

std::vector<AddressRange> PoolSpans::FindGrowth(Bytes size, MayUse may_use) const {
  const std::optional<DeviceAddress> base = FindIn(Runs::kAny, size, may_use);
  return base.has_value() ? AbsentIn(*base, size) : std::vector<AddressRange>();
}

PoolSpans::Parts::iterator PoolSpans::Split(const AddressRange& range) {
  const auto whole = std::prev(parts_.upper_bound(range.base.value()));
  const DeviceAddress end = DeviceAddress(whole->first) + whole->second.size;
  const Part part{range.size, whole->second.free, whole->second.absent};
  Parts nodes;
  if (end > range.end()) {
    Part rest = part;
    rest.size = end - range.end();
    nodes.emplace(range.end().value(), rest);
  }
  const bool begins_it = DeviceAddress(whole->first) == range.base;
  if (!begins_it) nodes.emplace(range.base.value(), part);
  // Nothing fails any more.
  whole->second.size = begins_it ? range.size : range.base - DeviceAddress(whole->first);
  parts_.merge(nodes);
  return parts_.find(range.base.value());
}

void PoolSpans::Commit(const AddressRange& part) {
  const auto found = Split(part);
  found->second.absent = false;
  committed_ = committed_ + part.size;
  Join(found);
}

void PoolSpans::Join(Parts::iterator part) {
  const auto joins = [&](Parts::iterator left, Parts::iterator right) {
    return left->second.free == nullptr && right->second.free == nullptr &&
           left->second.absent == right->second.absent &&
           left->first + left->second.size.value() == right->first;
  };
  const auto next = std::next(part);
  if (next != parts_.end() && joins(part, next)) {
    part->second.size = part->second.size + next->second.size;
    parts_.erase(next);
  }
  if (part == parts_.begin()) return;
  const auto previous = std::prev(part);
  if (!joins(previous, part)) return;
  previous->second.size = previous->second.size + part->second.size;
  parts_.erase(part);
}

void PoolSpans::Give(const AddressRange& range, StreamOrderedFreePtr free, Prepared prepared) {
  prepared.key() = range.base.value();
  prepared.mapped() = Part{range.size, std::move(free), false};
  Join(parts_.insert(std::move(prepared)).position);
}

void PoolSpans::Settle(MayUse is_over) {
  for (auto part = parts_.begin(); part != parts_.end(); ++part) {
    if (part->second.free == nullptr || !is_over(*part->second.free)) continue;
    part->second.free = nullptr;
    const uint64_t base = part->first;
    Join(part);
    part = std::prev(parts_.upper_bound(base));  // it may be a part of that before it
  }
}

std::optional<AddressRange> PoolSpans::TakeFreeChunk() {
  for (auto at = parts_.rbegin(); at != parts_.rend(); ++at) {
    const Part& part = at->second;
    if (part.absent || part.free != nullptr) continue;
    // Arenas begin at multiples of a chunk.
    const uint64_t end = (at->first + part.size.value()) / kChunk.value() * kChunk.value();
    if (end < at->first + kChunk.value()) continue;
    const AddressRange chunk{DeviceAddress(end - kChunk.value()), kChunk, Bytes(0)};
    const auto found = Split(chunk);
    found->second.absent = true;
    committed_ = committed_ - kChunk;
    Join(found);
    return chunk;
  }
  return std::nullopt;
}

}  // namespace twinmmu
