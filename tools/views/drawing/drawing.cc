#include "tools/views/drawing/drawing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tools/views/drawing/drawing_words.h"
#include "tools/views/drawing/drawn_bands.h"

namespace twinmmu {
namespace {

using record::Event;
using record::EventKind;
using record::Severity;

constexpr double kWidth = 960;
constexpr double kLeft = 176;
constexpr double kRight = kWidth - 16;
constexpr double kBandsTop = 84;
constexpr double kCurvesHeight = 96;

// The colours are those of the page (tools/views/page/source/page.css).
constexpr std::string_view kStyle = R"(<style>
text { font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1b1f27; }
.title { font-size: 16px; font-weight: 650; }
.faint { font-size: 11px; fill: #5c6675; }
.label { font-size: 11.5px; }
.mono { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 10.5px; }
.ground { fill: #ffffff; stroke: #d7dce4; }
.tick { stroke: #d7dce4; fill: none; }
.reserved { fill: #e9edf3; stroke: #c3ccd9; }
.skipped { fill: url(#hatch); }
.hatch { stroke: #c3ccd9; }
.alias { fill: none; stroke: #14171d; stroke-width: 1.4; }
.left { fill: #c9182b; }
.mark { fill: #c9182b; stroke: #ffffff; stroke-width: 1; }
.mild { fill: #a65b00; }
.host { fill: #7a8699; }
.device-0 { fill: #3579c8; }
.device-1 { fill: #d9822b; }
.device-2 { fill: #2f9e77; }
.device-3 { fill: #9a5cc6; }
.device-4 { fill: #c7457f; }
.device-5 { fill: #7a8b1f; }
.device-6 { fill: #1c9fb3; }
.device-7 { fill: #a0623a; }
.curve { fill: none; stroke-width: 1.75; }
.mapped { stroke: #2f7fd1; stroke-width: 4; stroke-opacity: 0.5; }
.created { stroke: #c2611a; }
.other { stroke: #9a5cc6; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e9ef; }
  .faint { fill: #9aa5b5; }
  .ground { fill: #1a1f28; stroke: #2f3744; }
  .tick { stroke: #2f3744; }
  .reserved { fill: #252c38; stroke: #465164; }
  .hatch { stroke: #465164; }
  .alias { stroke: #f4f6fa; }
  .left { fill: #ff6b78; }
  .mark { fill: #ff6b78; stroke: #1a1f28; }
  .mild { fill: #f0aa4a; }
  .device-0 { fill: #4a8fdf; }
  .device-1 { fill: #dd8c3c; }
  .device-2 { fill: #38ab83; }
  .device-3 { fill: #a970d3; }
  .mapped { stroke: #5aa2ee; }
  .created { stroke: #ec8c45; }
  .other { stroke: #b884e0; }
}
</style>
<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse"><path class="hatch" d="M0 6L6 0M-1 1L1 -1M5 7L7 5"/></pattern></defs>
)";

// Bytes after each event.
struct Curves {
  std::vector<double> mapped, created, other;
};

Curves CurvesOf(const Timeline& timeline) {
  const size_t count = timeline.events() + 1;
  Curves curves = {std::vector<double>(count), std::vector<double>(count),
                   std::vector<double>(count)};
  for (const Span& span : timeline.spans()) {
    if (span.kind == SpanKind::kReservation) continue;
    std::vector<double>& curve = span.kind == SpanKind::kMapping  ? curves.mapped
                                 : span.kind == SpanKind::kMemory ? curves.created
                                                                  : curves.other;
    curve[span.begin] += static_cast<double>(span.bytes);
    if (span.end != kStillThere) curve[span.end] -= static_cast<double>(span.bytes);
  }
  for (std::vector<double>* curve : {&curves.mapped, &curves.created, &curves.other})
    for (size_t i = 1; i < count; ++i) (*curve)[i] += (*curve)[i - 1];
  return curves;
}

double LargestOf(const std::vector<double>& curve) {
  return *std::max_element(curve.begin(), curve.end());
}

std::string CurvePath(const std::vector<double>& curve, const std::vector<uint64_t>& times,
                      const TimeScale& scale, double bottom, double largest, const char* style) {
  std::string path = absl::StrCat("M", Pixels(scale.left), " ", Pixels(bottom));
  std::string last_x, last_y;
  for (size_t i = 0; i < times.size(); ++i) {
    const std::string x = Pixels(scale.At(times[i]));
    const std::string y = Pixels(bottom - curve[i] / largest * (kCurvesHeight - 12));
    if (y == last_y) continue;
    absl::StrAppend(&path, x == last_x ? "" : absl::StrCat("H", x), "V", y);
    last_x = x;
    last_y = y;
  }
  return absl::StrCat("<path class=\"curve ", style, "\" d=\"", path, "H", Pixels(scale.right()),
                      "\"/>\n");
}

// A round number of ns of which at most eight are in `duration`.
double StepOf(double duration) {
  const double power = std::pow(10, std::floor(std::log10(duration / 8)));
  for (const double factor : {1, 2, 5})
    if (duration / (factor * power) <= 8) return factor * power;
  return 10 * power;
}

std::string Ruler(const TimeScale& scale, double top, double bottom) {
  std::string text;
  const double step = StepOf(scale.duration);
  for (double at = step; at < scale.duration * 0.97; at += step) {
    const auto time = static_cast<uint64_t>(at);
    const std::string x = Pixels(scale.At(time));
    text += TextElement(scale.At(time), top - 16, "faint", "middle", RoundedTime(time));
    absl::StrAppend(&text, "<path class=\"tick\" d=\"M", x, " ", Pixels(top - 6), "V",
                    Pixels(bottom), "\"/>\n");
  }
  return text;
}

// Triangles with their words, which a pointer shows.
std::string MarkElement(double x, double y, bool is_error, std::string_view words) {
  return absl::StrCat("<path class=\"mark", is_error ? "" : " mild", "\" d=\"M", Pixels(x), " ",
                      Pixels(y), "l-5.5 -10h11z\"><title>", XmlText(words), "</title></path>\n");
}

class Legend {
 public:
  explicit Legend(double y) : y_(y) {}
  void Add(const std::string& symbol_style, const std::string& shape, std::string_view words) {
    absl::StrAppend(&text_, "<path class=\"", symbol_style, "\" transform=\"translate(", Pixels(x_),
                    " ", Pixels(y_), ")\" d=\"", shape, "\"/>\n");
    text_ += TextElement(x_ + 20, y_, "faint", "start", words);
    x_ += 38 + 6.4 * static_cast<double>(words.size());
  }
  const std::string& text() const { return text_; }

 private:
  const double y_;
  double x_ = 16;
  std::string text_;
};

constexpr char kBoxShape[] = "M0 -9H14V1H0z";
constexpr char kLineShape[] = "M0 -4H14";

}  // namespace

Drawing::Drawing(std::string title) : title_(std::move(title)) {}

void Drawing::Add(const Event& event, const record::Stack&) {
  ++events_;
  // Time never goes back in a picture, whatever a record says.
  end_ns_ = std::max(end_ns_, event.time_ns);
  const bool is_work = event.kind == EventKind::kLaunch || event.kind == EventKind::kCopy ||
                       event.kind == EventKind::kFill;
  if (!is_work && times_.size() == kMostEvents) {
    ++left_out_;
  } else if (!is_work) {
    timeline_.Add(event);
    times_.push_back(end_ns_);
  }
  const bool told = event.kind == EventKind::kFault || event.kind == EventKind::kDiagnostic;
  if (!told && event.severity < Severity::kWarning) return;
  const bool is_error = event.severity == Severity::kError || event.kind == EventKind::kFault;
  ++(is_error ? errors_ : warnings_);
  // A picture with more of them would show nothing else.
  if (marks_.size() == 200) return;
  marks_.push_back({is_error, event.process, end_ns_, event.address,
                    absl::StrCat(std::string(event.code), event.code.empty() ? "" : ": ",
                                 std::string(event.text))});
}

std::string Drawing::LeftOut() const {
  if (left_out_ == 0) return "";
  return absl::StrCat(left_out_, " events: the first ", kMostEvents,
                      " that change memory are drawn");
}

std::string Drawing::Finish() {
  const double duration = std::max(1.0, static_cast<double>(end_ns_));
  const TimeScale scale = {kLeft, kRight - kLeft, duration * 1.02};
  const DrawnBands bands(timeline_, times_, scale, kBandsTop);
  const Curves curves = CurvesOf(timeline_);
  const double largest =
      std::max({1.0, LargestOf(curves.mapped), LargestOf(curves.created), LargestOf(curves.other)});
  const double bottom = bands.bottom() + kCurvesHeight;
  const double height = bottom + 44;

  std::string text = absl::StrCat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", Pixels(kWidth), "\" height=\"",
      Pixels(height), "\" viewBox=\"0 0 ", Pixels(kWidth), " ", Pixels(height),
      "\" role=\"img\" aria-labelledby=\"title\">\n<title id=\"title\">", XmlText(title_),
      "</title>\n", absl::string_view(kStyle.data(), kStyle.size()),
      "<rect class=\"ground\" x=\"0.5\" y=\"0.5\" width=\"", Pixels(kWidth - 1), "\" height=\"",
      Pixels(height - 1), "\" rx=\"10\"/>\n");
  text += TextElement(16, 28, "title", "start", title_);
  std::string told = absl::StrCat(errors_ == 0 ? "no" : absl::StrCat(errors_),
                                  errors_ == 1 ? " error" : " errors");
  if (warnings_ > 0)
    absl::StrAppend(&told, ", ", warnings_, warnings_ == 1 ? " warning" : " warnings");
  text += TextElement(16, 48, "faint", "start",
                      absl::StrCat(events_, " events in ", RoundedTime(end_ns_), ", ", told));
  text += Ruler(scale, kBandsTop - 6, bottom);
  text += bands.Text();
  for (const Mark& mark : marks_) {
    const double x = scale.At(mark.time_ns);
    text += MarkElement(x, kBandsTop - 3, mark.is_error, mark.words);
    const double y = mark.address == 0 ? -1 : bands.HeightOf(mark.process, mark.address);
    if (y >= 0) text += MarkElement(x, y, mark.is_error, mark.words);
  }
  text += TextElement(kLeft - 8, bottom - kCurvesHeight + 16, "faint", "end",
                      RoundedBytes(static_cast<uint64_t>(std::min(largest, 1.8e19))));
  text += TextElement(kLeft - 8, bottom, "faint", "end", "0");
  Legend legend(bottom + 28);
  for (const int32_t device : bands.devices()) {
    legend.Add(device < 0 ? "host" : absl::StrCat("device-", device % 8), kBoxShape,
               device < 0 ? "host" : absl::StrCat("device ", device));
  }
  if (bands.has_aliases()) legend.Add("alias", kBoxShape, "mapped twice");
  if (bands.has_left()) legend.Add("left", "M5 -9H9V1H5z", "left at the end");
  if (!marks_.empty())
    legend.Add(errors_ > 0 ? "mark" : "mark mild", "M7 1l-5.5 -10h11z",
               errors_ > 0 ? "error" : "warning");
  const std::pair<const std::vector<double>*, std::pair<const char*, const char*>> drawn[] = {
      {&curves.mapped, {"mapped", "mapped"}},
      {&curves.created, {"created", "physical memory"}},
      {&curves.other, {"other", "linear and pools"}}};
  for (const auto& [curve, words] : drawn) {
    if (LargestOf(*curve) <= 0) continue;
    text += CurvePath(*curve, times_, scale, bottom, largest, words.first);
    legend.Add(absl::StrCat("curve ", words.first), kLineShape, words.second);
  }
  return absl::StrCat(text, legend.text(), "</svg>\n");
}

}  // namespace twinmmu
