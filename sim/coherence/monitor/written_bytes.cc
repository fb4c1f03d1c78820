#include "sim/coherence/monitor/written_bytes.h"

#include <algorithm>
#include <iterator>

namespace twinmmu::coherence {

// Whether a part of [first, end) is in fresh_.
bool WrittenBytes::IsAnyFresh(LocationId first, LocationId end) {
  if (known_first_ <= first && end <= known_end_) return false;
  const auto above = fresh_.lower_bound(end);
  if (above != fresh_.begin() && std::prev(above)->second > first) return true;
  known_first_ = above == fresh_.begin() ? 0 : std::prev(above)->second;
  known_end_ = above == fresh_.end() ? ~LocationId{0} : above->first;
  return false;
}

void WrittenBytes::Remove(LocationId first, LocationId end) {
  auto at = fresh_.lower_bound(end);
  while (at != fresh_.begin() && std::prev(at)->second > first) {
    --at;
    const LocationId begin = at->first;
    const LocationId stop = at->second;
    if (stop > end) fresh_.emplace_hint(std::next(at), end, stop);
    if (begin < first) {
      at->second = first;
    } else {
      at = fresh_.erase(at);
    }
  }
  known_end_ = 0;
}

void WrittenBytes::SetFresh(LocationId first, uint64_t size) {
  if (size == 0) return;
  Remove(first, first + size);
  // Bits that are left of what was there would hide it.
  for (const LocationId page : {first, first + size - 1}) {
    Bits* const bits = written_.Find(PageOf(page));
    if (bits == nullptr) continue;
    const LocationId base = PageOf(page) << kPageShift;
    const LocationId from = std::max(first, base);
    const LocationId to = std::min(first + size, base + kPageBytes);
    for (LocationId byte = from; byte < to; ++byte) bits->reset(byte - base);
  }
  const uint64_t inside = PageOf(first) + 1;
  const uint64_t end = PageOf(first + size - 1);
  if (inside < end && !written_.empty()) written_.Erase(inside, end - 1, [](const Bits&) {});
  fresh_.emplace(first, first + size);
}

// Of one page.
void WrittenBytes::WritePart(LocationId first, LocationId end) {
  if (!IsAnyFresh(first, end)) return;
  Bits& bits = *written_.Get(PageOf(first));
  const LocationId base = PageOf(first) << kPageShift;
  for (LocationId byte = first; byte < end; ++byte) bits.set(byte - base);
  if (!bits.all()) return;
  Remove(base, base + kPageBytes);
  written_.Erase(PageOf(first));
}

void WrittenBytes::SetWritten(LocationId first, uint64_t size) {
  if (size == 0 || fresh_.empty()) return;
  const LocationId end = first + size;
  const LocationId whole = (first + kPageBytes - 1) / kPageBytes * kPageBytes;
  const LocationId last = end / kPageBytes * kPageBytes;
  if (whole > last) return WritePart(first, end);
  if (first < whole) WritePart(first, whole);
  if (last < end) WritePart(last, end);
  if (whole == last || !IsAnyFresh(whole, last)) return;
  Remove(whole, last);
  if (!written_.empty()) written_.Erase(PageOf(whole), PageOf(last - 1), [](const Bits&) {});
}

void WrittenBytes::Clear() {
  fresh_.clear();
  written_.Clear();
}

bool WrittenBytes::HasFresh(LocationId first, uint64_t size) {
  const LocationId end = first + size;
  while (first < end) {
    const LocationId stop = std::min(end, (PageOf(first) + 1) << kPageShift);
    if (IsAnyFresh(first, stop)) {
      const Bits* const bits = written_.Find(PageOf(first));
      if (bits == nullptr) return true;
      const LocationId base = PageOf(first) << kPageShift;
      for (LocationId byte = first; byte < stop; ++byte) {
        if (!bits->test(byte - base) && IsAnyFresh(byte, byte + 1)) return true;
      }
    }
    first = stop;
  }
  return false;
}

}  // namespace twinmmu::coherence
