#include "sim/ptx/run/device/device_heap.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace twinmmu::ptx {
namespace {

// A block has so many bytes in front of it that belong to nobody, as an H100 has: what is written
// there is lost.
constexpr uint64_t kHeader = 16;
constexpr uint64_t kAlignment = 16;

}  // namespace

DeviceHeap::DeviceHeap(const AddressRange& memory)
    : memory_(memory), largest_gap_(memory.size.value()) {
  gaps_[memory.base.value()] = memory.base.value() + memory.size.value();
}

DeviceAddress DeviceHeap::Allocate(uint64_t size, SiteTable::Site site) {
  if (size > memory_.size.value()) return DeviceAddress(0);
  const uint64_t bytes =
      kHeader + (std::max<uint64_t>(size, 1) + kAlignment - 1) / kAlignment * kAlignment;
  const std::lock_guard lock(mutex_);
  if (bytes > largest_gap_) return DeviceAddress(0);
  // The first gap that is large enough.
  uint64_t largest = 0;
  auto gap = gaps_.begin();
  for (; gap != gaps_.end() && gap->second - gap->first < bytes; ++gap) {
    largest = std::max(largest, gap->second - gap->first);
  }
  if (gap == gaps_.end()) {
    largest_gap_ = largest;
    return DeviceAddress(0);
  }
  const uint64_t begin = gap->first + kHeader;
  const uint64_t end = gap->first + bytes;
  blocks_[begin] = {end, size, site};
  auto rest = gaps_.extract(gap);
  rest.key() = end;
  if (end != rest.mapped()) gaps_.insert(std::move(rest));
  // Nothing that was freed in this place can be told any more.
  auto old = freed_.lower_bound(begin);
  if (old != freed_.begin() && std::prev(old)->second > begin) --old;
  while (old != freed_.end() && old->first < end) old = freed_.erase(old);
  return DeviceAddress(begin);
}

DeviceHeap::Freed DeviceHeap::Free(DeviceAddress address) {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(address.value());
  if (block == blocks_.end()) {
    return freed_.count(address.value()) != 0 ? Freed::kBefore : Freed::kUnknown;
  }
  freed_[block->first] = block->second.end;
  auto gap = gaps_.emplace(block->first - kHeader, block->second.end).first;
  const auto next = std::next(gap);
  if (next != gaps_.end() && next->first == gap->second) {
    gap->second = next->second;
    gaps_.erase(next);
  }
  if (gap != gaps_.begin() && std::prev(gap)->second == gap->first) {
    const auto before = std::prev(gap);
    before->second = gap->second;
    gaps_.erase(gap);
    gap = before;
  }
  largest_gap_ = std::max(largest_gap_, gap->second - gap->first);
  blocks_.erase(block);
  return Freed::kNow;
}

std::vector<DeviceHeap::Left> DeviceHeap::WhatIsLeft() const {
  std::map<SiteTable::Site, Left> sites;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [begin, block] : blocks_) {
      Left& left = sites[block.site];
      left.site = block.site;
      ++left.blocks;
      left.bytes += block.size;
    }
  }
  std::vector<Left> all;
  for (const auto& [site, left] : sites) all.push_back(left);
  return all;
}

}  // namespace twinmmu::ptx
