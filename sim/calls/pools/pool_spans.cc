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

std::optional<DeviceAddress> PoolSpans::FindIn(Runs runs, Bytes size) const {
  std::optional<DeviceAddress> best;
  Bytes best_length;
  for (auto first = parts_.begin(); first != parts_.end();) {
    Bytes length;
    bool whole = true;
    auto next = first;
    for (; next != parts_.end() && next->first == first->first + length.value(); ++next) {
      const Part& part = next->second;
      if (part.free != nullptr || (part.absent && runs == Runs::kCommitted)) break;
      whole = whole && !part.absent;
      length = length + part.size;
    }
    const bool counts = whole || runs == Runs::kAny;
    if (counts && length >= size && (!best.has_value() || length < best_length)) {
      best = DeviceAddress(first->first);
      best_length = length;
    }
    first = next == first ? std::next(first) : next;
  }
  return best;
}

std::optional<DeviceAddress> PoolSpans::FindFreed(Bytes size, MayUse may_use) const {
  const Parts::value_type* best = nullptr;
  const auto key = [](const Parts::value_type& part) {
    return std::pair(part.second.size, part.second.free->freed_by);
  };
  for (const Parts::value_type& part : parts_) {
    const StreamOrderedFreePtr& free = part.second.free;
    if (free == nullptr || part.second.size < size || !may_use(*free)) continue;
    if (best == nullptr || key(part) < key(*best)) best = &part;
  }
  if (best == nullptr) return std::nullopt;
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

StreamOrderedFreePtr PoolSpans::FreeAt(DeviceAddress base) const {
  return parts_.find(base.value())->second.free;
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
  const auto joins = [](const Part& left, const Part& right) {
    if (left.free == nullptr || right.free == nullptr) {
      return left.free == right.free && left.absent == right.absent;
    }
    return left.free->line == right.free->line;
  };
  const auto join = [&](Parts::iterator left, Parts::iterator right) {
    const bool touch = left->first + left->second.size.value() == right->first;
    if (!touch || !joins(left->second, right->second)) return;
    StreamOrderedFreePtr& free = left->second.free;
    StreamOrderedFreePtr& other = right->second.free;
    if (free != nullptr && free->place.number < other->place.number) free = std::move(other);
    left->second.size = left->second.size + right->second.size;
    parts_.erase(right);
  };
  const auto next = std::next(part);
  if (next != parts_.end()) join(part, next);
  if (part != parts_.begin()) join(std::prev(part), part);
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

std::vector<AddressRange> PoolSpans::FreeChunks(const AddressRange& room) const {
  std::vector<AddressRange> chunks;
  for (auto at = parts_.rbegin(); at != parts_.rend(); ++at) {
    const Part& part = at->second;
    if (part.absent || part.free != nullptr) continue;
    // Arenas begin at multiples of a chunk.
    uint64_t end = (at->first + part.size.value()) / kChunk.value() * kChunk.value();
    for (; end >= at->first + kChunk.value(); end -= kChunk.value()) {
      const AddressRange chunk{DeviceAddress(end - kChunk.value()), kChunk, Bytes(0)};
      if (!chunk.overlaps(room)) chunks.push_back(chunk);
    }
  }
  return chunks;
}

void PoolSpans::Uncommit(const AddressRange& chunk) {
  const auto found = Split(chunk);
  found->second.absent = true;
  committed_ = committed_ - chunk.size;
  Join(found);
}

}  // namespace twinmmu
