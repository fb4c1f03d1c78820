#include "sim/ptx/run/device_heap.h"

#include <algorithm>
#include <iterator>

namespace twinmmu::ptx {
namespace {

// A block has so many bytes in front of it that belong to nobody, as an H100 has: what is written
// there is lost.
constexpr uint64_t kHeader = 16;
constexpr uint64_t kAlignment = 16;

}  // namespace

DeviceAddress DeviceHeap::Allocate(uint64_t size) {
  const uint64_t room = memory_.size.value();
  if (size > room) return DeviceAddress(0);
  const uint64_t bytes = (std::max<uint64_t>(size, 1) + kAlignment - 1) / kAlignment * kAlignment;
  const std::lock_guard lock(mutex_);
  // The first gap that is large enough.
  uint64_t begin = memory_.base.value() + kHeader;
  for (const auto& [used, end] : blocks_) {
    if (used - kHeader >= begin && used - kHeader - begin >= bytes) break;
    begin = end + kHeader;
  }
  const uint64_t end = memory_.base.value() + room;
  if (begin > end || end - begin < bytes) return DeviceAddress(0);
  blocks_[begin] = begin + bytes;
  // Nothing that was freed in this place can be told any more.
  auto old = freed_.lower_bound(begin);
  if (old != freed_.begin() && std::prev(old)->second > begin) --old;
  while (old != freed_.end() && old->first < begin + bytes) old = freed_.erase(old);
  return DeviceAddress(begin);
}

DeviceHeap::Freed DeviceHeap::Free(DeviceAddress address) {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(address.value());
  if (block == blocks_.end()) {
    return freed_.count(address.value()) != 0 ? Freed::kBefore : Freed::kUnknown;
  }
  freed_[block->first] = block->second;
  blocks_.erase(block);
  return Freed::kNow;
}

}  // namespace twinmmu::ptx
