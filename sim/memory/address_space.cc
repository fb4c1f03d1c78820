#include "sim/memory/address_space.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace twinmmu {

AddressSpace::AddressSpace(const AddressRange& window, Bytes default_alignment, Bytes area)
    : default_alignment_(default_alignment.value()), area_(area.value()) {
  free_.emplace(window.base.value(), window.size.value());
}

std::optional<uint32_t> AddressSpace::Reserve(Bytes size, Bytes alignment, DeviceAddress hint,
                                              uint64_t call) {
  const uint64_t step = std::max(alignment.value(), default_alignment_);
  const uint64_t next = next_.value();
  const bool placed = next != 0 && next % step == 0 && IsFree(next, size.value());
  const std::optional<uint64_t> base =
      placed ? next : Place(size.value(), step, next != 0 ? 0 : hint.value());
  if (!base.has_value()) return std::nullopt;
  // What can fail comes first: two nodes, and the record.
  Map nodes = {{0, 0}, {1, 0}};
  const uint32_t id =
      reservations_.Add(Reservation{AddressRange{DeviceAddress(*base), size, alignment}, call});
  next_ = DeviceAddress();
  const auto span = std::prev(free_.upper_bound(*base));
  const uint64_t end = *base + size.value();
  const uint64_t span_end = span->first + span->second;
  span->second = *base - span->first;
  if (span->second == 0) free_.erase(span);
  auto reserved = nodes.extract(nodes.begin());
  reserved.key() = *base;
  reserved.mapped() = id;
  by_base_.insert(std::move(reserved));
  if (end == span_end) return id;
  auto rest = nodes.extract(nodes.begin());
  rest.key() = end;
  rest.mapped() = span_end - end;
  free_.insert(std::move(rest));
  return id;
}

void AddressSpace::Free(uint32_t id) {
  uint64_t base = (*this)[id].base.value();
  uint64_t end = base + (*this)[id].size.value();
  auto node = by_base_.extract(base);
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
  node.key() = base;
  node.mapped() = end - base;
  free_.insert(std::move(node));
}

std::optional<uint32_t> AddressSpace::Find(DeviceAddress address) const {
  const auto above = by_base_.upper_bound(address.value());
  if (above == by_base_.begin()) return std::nullopt;
  const auto id = static_cast<uint32_t>(std::prev(above)->second);
  if (!(*this)[id].contains(address)) return std::nullopt;
  return id;
}

std::optional<uint64_t> AddressSpace::Place(uint64_t size, uint64_t alignment, uint64_t hint) {
  if (hint % alignment != 0 || (hint != 0 && !IsFree(hint, size))) hint = 0;
  if (area_ != 0 && size <= area_ / 4 * 3) return PlaceSmall(size, alignment, hint);
  if (area_ != 0) return PlaceLarge(size, alignment, hint);
  return hint != 0 ? hint : LowestFree(size, alignment);
}

std::optional<uint64_t> AddressSpace::PlaceSmall(uint64_t size, uint64_t alignment, uint64_t hint) {
  const bool in_one = hint % area_ + size <= area_;
  if (hint != 0 && in_one && small_areas_.count(hint / area_ * area_) != 0) return hint;
  for (const uint64_t area : small_areas_) {
    const std::optional<uint64_t> found = PlaceIn(area, size, alignment);
    if (found.has_value()) return found;
  }
  const std::optional<uint64_t> made = LowestFree(area_, std::max(alignment, area_));
  if (made.has_value()) small_areas_.insert(*made);
  return made;
}

std::optional<uint64_t> AddressSpace::PlaceIn(uint64_t area, uint64_t size,
                                              uint64_t alignment) const {
  const auto fits = [&](uint64_t from) {
    const uint64_t base = (from + alignment - 1) / alignment * alignment;
    const bool inside = base + size <= area + area_;
    return inside && IsFree(base, size) ? std::optional<uint64_t>(base) : std::nullopt;
  };
  std::optional<uint64_t> found = fits(area);
  for (auto span = free_.upper_bound(area);
       !found.has_value() && span != free_.end() && span->first < area + area_; ++span) {
    found = fits(span->first);
  }
  return found;
}

// Areas for small ones that are empty may go.
std::optional<uint64_t> AddressSpace::PlaceLarge(uint64_t size, uint64_t alignment, uint64_t hint) {
  if (size > ~uint64_t{0} - area_) return std::nullopt;
  const uint64_t whole = (size + area_ - 1) / area_ * area_;
  const std::optional<uint64_t> base =
      hint != 0 ? hint : LowestFree(whole, std::max(alignment, area_));
  if (base.has_value()) {
    small_areas_.erase(small_areas_.lower_bound(*base / area_ * area_),
                       small_areas_.lower_bound(*base + whole));
  }
  return base;
}

std::optional<uint64_t> AddressSpace::LowestFree(uint64_t size, uint64_t alignment) const {
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

}  // namespace twinmmu
