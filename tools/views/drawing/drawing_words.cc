#include "tools/views/drawing/drawing_words.h"

#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace twinmmu {
namespace {

// Three digits, without zeros at the end.
std::string Rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
  std::string rounded = text;
  if (rounded.find('.') == std::string::npos) return rounded;
  rounded.erase(rounded.find_last_not_of('0') + 1);
  if (rounded.back() == '.') rounded.pop_back();
  return rounded;
}

}  // namespace

std::string Pixels(double place) { return absl::StrCat(std::round(place * 10) / 10); }

std::string RoundedBytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 6; ++unit) value /= 1024;
  return absl::StrCat(Rounded(value), " ", kUnits[unit]);
}

std::string RoundedTime(uint64_t ns) {
  const double value = static_cast<double>(ns);
  if (ns >= 1'000'000'000) return absl::StrCat(Rounded(value / 1e9), " s");
  if (ns >= 1'000'000) return absl::StrCat(Rounded(value / 1e6), " ms");
  if (ns >= 1'000) return absl::StrCat(Rounded(value / 1e3), " us");
  return absl::StrCat(ns, " ns");
}

std::string XmlText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (c == '\n' || (c >= ' ' && c < 0x7F)) {
      escaped += c;
    } else {
      escaped += '?';
    }
  }
  return escaped;
}

std::string BoxPath(double left, double top, double right, double bottom) {
  return absl::StrCat("M", Pixels(left), " ", Pixels(top), "H", Pixels(right), "V", Pixels(bottom),
                      "H", Pixels(left), "z");
}

std::string TextElement(double x, double y, std::string_view style, std::string_view anchor,
                        std::string_view text) {
  return absl::StrCat("<text x=\"", Pixels(x), "\" y=\"", Pixels(y), "\" class=\"",
                      absl::string_view(style.data(), style.size()), "\" text-anchor=\"",
                      absl::string_view(anchor.data(), anchor.size()), "\">", XmlText(text),
                      "</text>\n");
}

}  // namespace twinmmu
