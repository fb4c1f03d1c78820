#include "sim/address_space.h"

#include <algorithm>
#include <iterator>

namespace twinmmu {

AddressSpace::AddressSpace(const AddressRange& window, Bytes granularity)
    : granularity_(granularity.value()) {
  AddSpan(window.base.value(), window.size.value());
}

std::optional<uint32_t> AddressSpace::Reserve(Bytes size, Bytes alignment, DeviceAddress hint) {
  const uint64_t step = std::max(alignment.value(), granularity_);
  const std::optional<uint64_t> base = Place(size.value(), step, hint.value());
  if (!base.has_value()) return std::nullopt;
  const auto span = std::prev(free_.upper_bound(*base));
  const uint64_t span_base = span->first;
  const uint64_t span_end = span->first + span->second;
  free_.erase(span);
  AddSpan(span_base, *base - span_base);
  AddSpan(*base + size.value(), span_end - *base - size.value());
  const uint32_t id = reservations_.Add(AddressRange{DeviceAddress(*base), size, alignment});
  by_base_[*base] = id;
  return id;
}

void AddressSpace::Free(uint32_t id) {
  uint64_t base = reservations_[id].base.value();
  uint64_t end = base + reservations_[id].size.value();
  by_base_.erase(base);
  reservations_.Remove(id);
  auto above = free_.lower_bound(base);
  if (above != free_.end() && above->first == end) {
    end += above->second;
    above = free_.erase(above);
  }
  if (above != free_.begin()) {
    const auto below = std::prev(above);
    if (below->first + below->second == base) {
      base = below->first;
      free_.erase(below);
    }
  }
  AddSpan(base, end - base);
}

std::optional<uint32_t> AddressSpace::Find(DeviceAddress address) const {
  const auto above = by_base_.upper_bound(address.value());
  if (above == by_base_.begin()) return std::nullopt;
  const uint32_t id = std::prev(above)->second;
  if (!reservations_[id].contains(address)) return std::nullopt;
  return id;
}

std::optional<uint64_t> AddressSpace::Place(uint64_t size, uint64_t alignment,
                                            uint64_t hint) const {
  if (hint != 0 && hint % alignment == 0 && IsFree(hint, size)) return hint;
  for (const auto& [base, length] : free_) {
    const uint64_t offset = (alignment - base % alignment) % alignment;
    if (offset <= length && size <= length - offset) return base + offset;
  }
  return std::nullopt;
}

bool AddressSpace::IsFree(uint64_t base, uint64_t size) const {
  const auto above = free_.upper_bound(base);
  if (above == free_.begin()) return false;
  const auto span = std::prev(above);
  const uint64_t offset = base - span->first;
  return offset <= span->second && size <= span->second - offset;
}

void AddressSpace::AddSpan(uint64_t base, uint64_t size) {
  if (size != 0) free_.emplace(base, size);
}

}  // namespace twinmmu
