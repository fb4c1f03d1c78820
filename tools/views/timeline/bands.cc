#include "tools/views/timeline/bands.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

namespace twinmmu {
namespace {

// Linear memory this near stands in one band.
constexpr uint64_t kNear = uint64_t{32} << 20;

uint64_t EndOf(uint64_t address, uint64_t bytes) {
  return address > UINT64_MAX - bytes ? UINT64_MAX : address + bytes;
}
uint64_t EndOf(const Span& span) { return EndOf(span.address, span.bytes); }

class BandMaker {
 public:
  explicit BandMaker(const std::vector<Span>& spans) : spans_(spans), found_{{}, {}} {
    found_.of_span.assign(spans.size(), -1);
    for (uint32_t i = 0; i < spans.size(); ++i) order_.push_back(i);
    // A reservation comes before the mappings in it.
    std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
      const Span& x = spans_[a];
      const Span& y = spans_[b];
      return std::tuple(x.process, x.address, x.kind, a) <
             std::tuple(y.process, y.address, y.kind, b);
    });
  }

  Bands Make() {
    for (const uint32_t i : order_) Place(i);
    std::vector<std::vector<uint32_t>> content(found_.bands.size());
    for (const uint32_t i : order_) {
      if (found_.of_span[i] >= 0 && spans_[i].kind != SpanKind::kReservation)
        content[found_.of_span[i]].push_back(i);
    }
    for (size_t i = 0; i < content.size(); ++i) MakeStretches(found_.bands[i], content[i]);
    Sort();
    return std::move(found_);
  }

 private:
  void Place(uint32_t index) {
    const Span& span = spans_[index];
    if (span.kind == SpanKind::kMemory) return;
    const SpanKind kind = span.kind == SpanKind::kMapping ? SpanKind::kReservation : span.kind;
    const bool loose = span.kind != SpanKind::kReservation;
    const auto last = last_.find({span.process, kind});
    if (last != last_.end()) {
      Band& band = found_.bands[last->second];
      const uint64_t end = EndOf(band.address, band.bytes);
      const bool inside = span.address < end;
      // What begins where a reservation ends is not in it.
      const bool near = loose && !(kind == SpanKind::kReservation && band.reserved) &&
                        span.address - band.address >= band.bytes && span.address - end <= kNear;
      if (inside || near) {
        band.bytes = std::max(end, EndOf(span)) - band.address;
        band.reserved |= !loose;
        found_.of_span[index] = static_cast<int32_t>(last->second);
        return;
      }
    }
    last_[{span.process, kind}] = found_.bands.size();
    found_.of_span[index] = static_cast<int32_t>(found_.bands.size());
    Band& band = found_.bands.emplace_back();
    band.kind = kind;
    band.reserved = !loose || kind != SpanKind::kReservation;
    band.process = span.process;
    band.address = span.address;
    band.bytes = EndOf(span) - span.address;
  }

  // `content` is in order of addresses.
  void MakeStretches(Band& band, const std::vector<uint32_t>& content) {
    std::vector<Stretch> used;
    uint64_t all = 0;
    for (const uint32_t i : content) {
      const Span& span = spans_[i];
      const uint64_t end = EndOf(span);
      if (used.empty() || span.address > EndOf(used.back().address, used.back().bytes)) {
        used.push_back({span.address, end - span.address, false});
      } else {
        used.back().bytes = std::max(used.back().bytes, end - used.back().address);
      }
    }
    for (const Stretch& stretch : used) all = EndOf(all, stretch.bytes);
    uint64_t at = band.address;
    const auto add = [&](uint64_t end, bool skipped) {
      if (end <= at) return;
      if (!skipped && !band.stretches.empty() && !band.stretches.back().skipped) {
        band.stretches.back().bytes += end - at;
      } else {
        band.stretches.push_back({at, end - at, skipped});
      }
      at = end;
    };
    for (const Stretch& stretch : used) {
      add(stretch.address, stretch.address - at > all);
      add(EndOf(stretch.address, stretch.bytes), false);
    }
    const uint64_t end = EndOf(band.address, band.bytes);
    if (at < end) add(end, end - at > all && all > 0);
  }

  void Sort() {
    std::vector<uint32_t> order(found_.bands.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      const Band& x = found_.bands[a];
      const Band& y = found_.bands[b];
      return std::tuple(x.process, x.kind, x.address) < std::tuple(y.process, y.kind, y.address);
    });
    std::vector<int32_t> place(order.size());
    std::vector<Band> sorted;
    for (size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = static_cast<int32_t>(i);
      sorted.push_back(std::move(found_.bands[order[i]]));
    }
    found_.bands = std::move(sorted);
    for (int32_t& band : found_.of_span)
      if (band >= 0) band = place[band];
  }

  const std::vector<Span>& spans_;
  std::vector<uint32_t> order_;
  std::map<std::pair<uint32_t, SpanKind>, size_t> last_;  // The band last begun, of each kind.
  Bands found_;
};

}  // namespace

Bands BandsOf(const Timeline& timeline) { return BandMaker(timeline.spans()).Make(); }

}  // namespace twinmmu
