#include "sim/diagnostics/neighbours.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "api/diagnostics.h"
#include "sim/diagnostics/explain.h"

namespace twinmmu {
namespace {

constexpr size_t kMostTold = 8;

// Keeps the nearest ones, and makes names only of these.
class Nearest {
 public:
  explicit Nearest(DeviceAddress address) : address_(address.value()) {}

  template <typename Name>
  void Add(const AddressRange& range, const Name& name) {
    const uint64_t distance = DistanceTo(range);
    if (found_.size() == kMostTold && distance >= DistanceTo(found_.back().range)) return;
    const auto place = std::upper_bound(
        found_.begin(), found_.end(), distance,
        [&](uint64_t wanted, const Neighbour& known) { return wanted < DistanceTo(known.range); });
    found_.insert(place, Neighbour{range, name()});
    if (found_.size() > kMostTold) found_.pop_back();
  }

  std::string InWords() const {
    std::string words;
    for (const Neighbour& neighbour : found_) {
      const AddressRange& range = neighbour.range;
      absl::StrAppend(&words, words.empty() ? "" : "; ");
      if (range.contains(DeviceAddress(address_))) {
        absl::StrAppend(&words, "in ");
      } else {
        absl::StrAppend(&words, ToString(Bytes(DistanceTo(range))),
                        address_ < range.base.value() ? " before " : " after ");
      }
      absl::StrAppend(&words, neighbour.name, ", ", twinmmu::InWords(range));
    }
    return words;
  }

 private:
  // 0 inside, and right behind the end.
  uint64_t DistanceTo(const AddressRange& range) const {
    if (address_ < range.base.value()) return range.base.value() - address_;
    return address_ < range.end().value() ? 0 : address_ - range.end().value();
  }

  const uint64_t address_;
  std::vector<Neighbour> found_;  // the nearest first
};

}  // namespace

std::string NeighboursInWords(const SimulatorState& state, DeviceAddress address,
                              const std::vector<Neighbour>& variables) {
  Nearest nearest(address);
  for (const Neighbour& variable : variables) {
    nearest.Add(variable.range, [&] { return variable.name; });
  }
  state.mmu.ForEachMapping([&](const MappingRecord& mapping) {
    nearest.Add(state.mmu.RangeOf(mapping),
                [&] { return absl::StrCat("the mapping of call ", mapping.call); });
  });
  const auto memory_of = [](Call call, uint64_t made_by) {
    return absl::StrCat("memory of ", NameOf(call), ", call ", made_by);
  };
  state.mmu.linear.ForEach([&](const LinearAllocation& allocation) {
    const Call made = MakerOf(allocation.kind);
    // Of pools their pieces, of modules their variables.
    if (allocation.of_pool() || made == Call::kLoadModule) return;
    nearest.Add(allocation.range, [&] { return memory_of(made, allocation.made_by); });
  });
  state.mmu.pooled.ForEach([&](const PooledPiece& piece) {
    if (piece.freed_by != 0) return;
    nearest.Add(piece.range, [&] { return memory_of(Call::kAllocateAsync, piece.made_by); });
  });
  return nearest.InWords();
}

}  // namespace twinmmu
