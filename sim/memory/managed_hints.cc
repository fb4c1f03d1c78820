#include "sim/memory/managed_hints.h"

#include <algorithm>
#include <iterator>
#include <new>

namespace twinmmu {
namespace {

constexpr uint64_t kPage = 4096;

uint64_t FirstOf(const AddressRange& range) { return range.base.value() / kPage * kPage; }
uint64_t EndOf(const AddressRange& range) {
  return RoundUp(Bytes(range.end().value()), Bytes(kPage)).value();
}

ManagedHints CommonTo(const ManagedHints& a, const ManagedHints& b) {
  ManagedHints both;
  both.read_mostly = a.read_mostly && b.read_mostly;
  if (a.preferred == b.preferred) both.preferred = a.preferred;
  if (a.prefetched == b.prefetched) both.prefetched = a.prefetched;
  both.accessed_by = a.accessed_by & b.accessed_by;
  both.accessed_by_host = a.accessed_by_host && b.accessed_by_host;
  return both;
}

}  // namespace

bool ManagedHints::operator==(const ManagedHints& other) const {
  return read_mostly == other.read_mostly && preferred == other.preferred &&
         prefetched == other.prefetched && accessed_by == other.accessed_by &&
         accessed_by_host == other.accessed_by_host;
}

void HintsByPage::Split(uint64_t address) {
  const auto behind = pieces_.lower_bound(address);
  if (behind == pieces_.begin()) return;
  Piece& before = std::prev(behind)->second;
  if (before.end <= address) return;
  pieces_.emplace_hint(behind, address, before);
  before.end = address;
}

void HintsByPage::Edit(const AddressRange& range, absl::FunctionRef<void(ManagedHints&)> change) {
  const uint64_t first = FirstOf(range);
  const uint64_t end = EndOf(range);
  Split(first);
  Split(end);
  // Pages of which nothing was said become pieces: what fails does so before anything is changed.
  auto next = pieces_.lower_bound(first);
  for (uint64_t at = first; at < end;) {
    if (next == pieces_.end() || next->first != at) {
      const uint64_t gap_end = next != pieces_.end() ? std::min(next->first, end) : end;
      next = pieces_.emplace_hint(next, at, Piece{gap_end, {}});
    }
    at = next->second.end;
    ++next;
  }
  const auto begin = pieces_.lower_bound(first);
  for (auto piece = begin; piece != next; ++piece) change(piece->second.hints);
  // Neighbours with the same hints become one, and what has none goes.
  for (auto piece = begin; piece != next;) {
    const auto behind = std::next(piece);
    const bool joins = behind != next && behind->second.hints == piece->second.hints;
    if (joins) {
      piece->second.end = behind->second.end;
      pieces_.erase(behind);
      continue;
    }
    if (piece->second.hints == ManagedHints()) pieces_.erase(piece);
    piece = behind;
  }
}

void HintsByPage::Forget(const AddressRange& range) {
  try {
    Edit(range, [](ManagedHints& hints) { hints = ManagedHints(); });
  } catch (const std::bad_alloc&) {
    pieces_.clear();
  }
}

ManagedHints HintsByPage::InCommon(const AddressRange& range) const {
  std::optional<ManagedHints> common;
  const auto add = [&](const ManagedHints& hints) {
    common = common.has_value() ? CommonTo(*common, hints) : hints;
  };
  auto next = pieces_.upper_bound(FirstOf(range));
  if (next != pieces_.begin() && std::prev(next)->second.end > FirstOf(range)) --next;
  uint64_t at = FirstOf(range);
  for (; next != pieces_.end() && next->first < EndOf(range); ++next) {
    if (at < next->first) add(ManagedHints());  // a gap
    add(next->second.hints);
    at = next->second.end;
  }
  if (at < EndOf(range)) add(ManagedHints());
  return common.value_or(ManagedHints());
}

}  // namespace twinmmu
