// The state of a model as a text.

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "conformance/random/model.h"

namespace twinmmu::conformance::random {

// Of others that share its memory, and of descriptors, only how many there are.
std::string Model::ShapeOf(const Allocation& allocation, DeviceAddress origin) const {
  const Memory& memory = memories_.at(allocation.memory);
  const auto sharing =
      std::count_if(allocations_.begin(), allocations_.end(),
                    [&](const auto& other) { return other.second.memory == allocation.memory; });
  const auto opened =
      std::count_if(descriptors_.begin(), descriptors_.end(),
                    [&](const auto& descriptor) { return descriptor.second == allocation.memory; });
  const auto at = [origin](DeviceAddress address) {
    return address == DeviceAddress(0) ? -1 : static_cast<int64_t>((address - origin).value());
  };
  return absl::StrCat(
      static_cast<int>(memory.properties.location.type), ".", memory.properties.location.id, " ",
      memory.size.value(), memory.tile_pool ? "t" : "", " h",
      static_cast<int>(allocation.properties.requested_handle_types), " r", allocation.references,
      " ", sharing, " ", opened, " ", at(allocation.first), " ", at(allocation.holder));
}

std::string Model::Shape(DeviceAddress origin) const {
  std::string shape = faulted_ ? "faulted;" : "";
  for (const auto& [base, range] : reservations_) {
    absl::StrAppend(&shape, base - origin.value(), "+", range.size.value(), ";");
  }
  // Handles have the numbers of their first mappings, and those without any are sorted.
  std::map<uint64_t, size_t> numbers;
  for (const auto& [address, granule] : granules_) {
    const auto [known, is_new] = numbers.emplace(granule.handle, numbers.size());
    absl::StrAppend(&shape, address - origin.value(), "=", (granule.mapping.base - origin).value(),
                    " ", known->second, " ", granule.number, granule.device_last ? "l" : "");
    for (const Access access : granule.access) {
      absl::StrAppend(&shape, ",", static_cast<int>(access));
    }
    if (is_new) absl::StrAppend(&shape, ":", ShapeOf(allocations_.at(granule.handle), origin));
    shape += ';';
  }
  std::multiset<std::string> others;
  for (const auto& [handle, allocation] : allocations_) {
    if (numbers.count(handle) == 0) others.insert(ShapeOf(allocation, origin));
  }
  for (const std::string& other : others) absl::StrAppend(&shape, other, ";");
  return shape;
}

std::string Model::StateOf(const Memory& memory) {
  std::string state = absl::StrCat(ToString(memory.properties), " ", memory.size.value(),
                                   memory.tile_pool ? "t" : "");
  for (const auto& [number, content] : memory.content) {
    absl::StrAppend(&state, " ", number, ":");
    for (const Byte byte : content) {
      byte.has_value() ? absl::StrAppend(&state, *byte, ",") : absl::StrAppend(&state, "?,");
    }
  }
  return state;
}

std::string Model::State() const {
  std::string state = faulted_ ? "faulted;" : "";
  for (const auto& [base, range] : reservations_) {
    absl::StrAppend(&state, base, "+", range.size.value(), ";");
  }
  // The numbers of memories tell in which order they were made: those of their first handles, and
  // of what else is of them, stand for them.
  std::map<uint64_t, size_t> numbers;
  const auto add = [&](uint64_t memory) {
    const auto [known, is_new] = numbers.emplace(memory, numbers.size());
    absl::StrAppend(&state, " m", known->second);
    if (!is_new) return;
    const auto there = memories_.find(memory);
    absl::StrAppend(&state, "(", there == memories_.end() ? "gone" : StateOf(there->second), ")");
  };
  for (const auto& [handle, allocation] : allocations_) {
    absl::StrAppend(&state, handle, "=", ToString(allocation.properties), " ",
                    allocation.references, " ", allocation.mappings, " ", allocation.first.value(),
                    " ", allocation.holder.value());
    add(allocation.memory);
  }
  for (const auto& [address, granule] : granules_) {
    absl::StrAppend(&state, ";", address, " ", granule.mapping.base.value(), "+",
                    granule.mapping.size.value(), " ", granule.handle, " ", granule.number,
                    granule.device_last ? "l" : "");
    for (const Access access : granule.access)
      absl::StrAppend(&state, ",", static_cast<int>(access));
  }
  for (const auto& [descriptor, memory] : descriptors_) {
    absl::StrAppend(&state, ";d", descriptor);
    add(memory);
  }
  for (const auto& [name, memory] : fabric_) {
    absl::StrAppend(&state, ";f", std::string(name.begin(), name.end()));
    add(memory);
  }
  return state;
}

}  // namespace twinmmu::conformance::random
