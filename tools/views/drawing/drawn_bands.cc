#include "tools/views/drawing/drawn_bands.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tools/views/drawing/drawing_words.h"

namespace twinmmu {
namespace {

constexpr double kGap = 12;
constexpr double kAllBands = 380;  // Pixels for all bands, unless they are many.
constexpr double kLowestBand = 30;
constexpr size_t kMostBands = 24;
constexpr size_t kMostSkips = 1000;  // Of a band: more would show nothing else.

uint64_t UsedBytes(const Band& band) {
  double used = 0;
  for (const Stretch& stretch : band.stretches)
    if (!stretch.skipped) used += static_cast<double>(stretch.bytes);
  return static_cast<uint64_t>(std::min(used, 1.8e19));
}

// The share of the band that is below each of its stretches, and 1.
std::vector<double> StartsOf(const Band& band) {
  double used = 0;
  size_t skipped = 0;
  for (const Stretch& stretch : band.stretches) {
    if (stretch.skipped) {
      ++skipped;
    } else {
      used += static_cast<double>(stretch.bytes);
    }
  }
  if (used == 0) used = 1;
  const double small =
      used * std::min(0.07, 0.4 / static_cast<double>(std::max<size_t>(skipped, 1)));
  const double all = used + small * static_cast<double>(skipped);
  std::vector<double> starts = {0};
  for (const Stretch& stretch : band.stretches) {
    const double share = stretch.skipped ? small : static_cast<double>(stretch.bytes);
    starts.push_back(starts.back() + share / all);
  }
  return starts;
}

std::string TitleOf(const Band& band) {
  const char* kind = band.kind == SpanKind::kLinear ? "linear memory"
                     : band.kind == SpanKind::kPool ? "pool"
                     : band.reserved                ? "reserved"
                                                    : "mapped";
  return absl::StrCat(RoundedBytes(band.bytes), " ", kind);
}

std::string ColourOf(int32_t device) {
  return device < 0 ? "host" : absl::StrCat("device-", device % 8);
}

}  // namespace

double TimeScale::At(uint64_t time_ns) const {
  return left + width * std::min(1.0, static_cast<double>(time_ns) / duration);
}

DrawnBands::DrawnBands(const Timeline& timeline, const std::vector<uint64_t>& times,
                       TimeScale scale, double top)
    : timeline_(timeline), times_(times), scale_(scale), bands_(BandsOf(timeline)) {
  Place(top);
  for (uint32_t i = 0; i < timeline_.spans().size(); ++i) {
    const int32_t band = bands_.of_span[i];
    if (band >= 0 && static_cast<size_t>(band) < rows_.size()) Draw(i, rows_[band]);
  }
}

void DrawnBands::Place(double top) {
  const size_t count = std::min(bands_.bands.size(), kMostBands);
  left_out_ = bands_.bands.size() - count;
  double natural = 0;
  for (size_t i = 0; i < count; ++i) {
    Row& row = rows_.emplace_back();
    row.band = &bands_.bands[i];
    row.height = 24 + 9 * std::log2(1 + static_cast<double>(UsedBytes(*row.band)) / (1 << 21));
    row.starts = StartsOf(*row.band);
    natural += row.height;
  }
  double y = top;
  for (Row& row : rows_) {
    row.height = std::max(kLowestBand, std::round(row.height * std::min(2.2, kAllBands / natural)));
    row.top = y;
    y += row.height + kGap;
  }
  bottom_ = y + (left_out_ > 0 ? 16 : 0);
}

double DrawnBands::EndOf(const Span& span) const {
  return span.end == kStillThere ? scale_.right() : scale_.At(times_[span.end]);
}

double DrawnBands::HeightIn(const Row& row, uint64_t address) const {
  const std::vector<Stretch>& stretches = row.band->stretches;
  auto after = std::upper_bound(stretches.begin(), stretches.end(), address,
                                [](uint64_t at, const Stretch& s) { return at < s.address; });
  if (after == stretches.begin()) return row.top + row.height;
  const size_t i = static_cast<size_t>(after - stretches.begin()) - 1;
  const double share =
      std::min(1.0, static_cast<double>(address - stretches[i].address) /
                        static_cast<double>(std::max<uint64_t>(stretches[i].bytes, 1)));
  const double place = row.starts[i] + share * (row.starts[i + 1] - row.starts[i]);
  return row.top + row.height * (1 - place);
}

double DrawnBands::HeightOf(uint32_t process, uint64_t address) const {
  for (const Row& row : rows_) {
    if (row.band->process == process && address >= row.band->address &&
        address - row.band->address < row.band->bytes)
      return HeightIn(row, address);
  }
  return -1;
}

void DrawnBands::Draw(uint32_t index, Row& row) {
  const Span& span = timeline_.spans()[index];
  const uint64_t last =
      span.address > UINT64_MAX - span.bytes ? UINT64_MAX : span.address + span.bytes;
  const double left = scale_.At(times_[span.begin]);
  const double right = std::max(EndOf(span), left + 0.5);
  const double bottom = HeightIn(row, span.address);
  const double top = std::min(HeightIn(row, last), bottom - 0.5);
  if (span.kind == SpanKind::kReservation) {
    row.reservations += BoxPath(left, top, right, bottom);
    const std::vector<Stretch>& stretches = row.band->stretches;
    auto stretch = std::lower_bound(stretches.begin(), stretches.end(), span.address,
                                    [](const Stretch& s, uint64_t at) { return s.address < at; });
    for (; stretch != stretches.end() && stretch->address < last && row.skips < kMostSkips;
         ++stretch) {
      if (!stretch->skipped) continue;
      ++row.skips;
      row.skipped += BoxPath(left, HeightIn(row, stretch->address + stretch->bytes), right,
                             HeightIn(row, stretch->address));
    }
    return;
  }
  devices_.insert(span.device);
  if (right - left < 1 && bottom - top < 1 &&
      !row.drawn.emplace(std::llround(left), std::llround(top)).second)
    return;
  // A line of the ground is between neighbours that are high enough to show one.
  const double line = bottom - top >= 4 ? 0.7 : 0;
  row.spans[span.device] += BoxPath(left, top + line, right, bottom);
  if (span.end == kStillThere && bottom - top >= 2) {
    has_left_ = true;
    row.left += BoxPath(right - 4, top + line, right, bottom);
  }
  if (span.aliased && bottom - top >= 3 && right - left >= 3) {
    has_aliases_ = true;
    row.aliases += BoxPath(left + 0.7, top + line + 0.7, right - 0.7, bottom - 0.7);
  }
}

std::string DrawnBands::TextOf(const Row& row) const {
  std::string text = TextElement(16, row.top + 11, "label", "start", TitleOf(*row.band));
  if (row.height >= 26) {
    text += TextElement(16, row.top + 25, "faint mono", "start",
                        absl::StrCat("0x", absl::Hex(row.band->address)));
  }
  if (row.height >= 40) {
    text += TextElement(16, row.top + 39, "faint", "start",
                        absl::StrCat("process ", row.band->process));
  }
  const auto path = [&](const std::string& style, const std::string& boxes) {
    if (!boxes.empty()) absl::StrAppend(&text, "<path class=\"", style, "\" d=\"", boxes, "\"/>\n");
  };
  path("reserved", row.reservations);
  path("skipped", row.skipped);
  for (const auto& [device, boxes] : row.spans) path(ColourOf(device), boxes);
  path("left", row.left);
  path("alias", row.aliases);
  return text;
}

std::string DrawnBands::Text() const {
  std::string text;
  for (const Row& row : rows_) text += TextOf(row);
  if (left_out_ > 0) {
    text += TextElement(16, bottom_ - 8, "faint", "start",
                        absl::StrCat("and ", left_out_, " more ranges of addresses"));
  }
  return text;
}

}  // namespace twinmmu
