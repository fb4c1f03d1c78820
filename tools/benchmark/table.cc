#include "tools/benchmark/table.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace twinmmu {
namespace {

using nlohmann::json;

struct Scale {
  double factor;
  const char* name;
};

// The largest unit in which the value is at least 1, or the smallest that there is.
Scale ScaleFor(Unit unit, double value) {
  static const auto& scales = *new std::vector<std::pair<Unit, std::vector<Scale>>>{
      {Unit::kNanoseconds, {{1e9, " s"}, {1e6, " ms"}, {1e3, " us"}, {1, " ns"}}},
      {Unit::kPerSecond, {{1e6, " million/s"}, {1, "/s"}}},
      {Unit::kBytesPerSecond, {{1e12, " TB/s"}, {1e9, " GB/s"}}},
      {Unit::kTimes, {{1, ""}}},
  };
  for (const auto& [of, choices] : scales) {
    if (of != unit) continue;
    for (const Scale& scale : choices) {
      if (value >= scale.factor) return scale;
    }
    return choices.back();
  }
  return Scale{1, ""};
}

// Three digits that count; all of those before the point.
std::string Number(double value) {
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return absl::StrFormat("%.*f", decimals, value);
}

const char* NameOf(Unit unit) {
  switch (unit) {
    case Unit::kNanoseconds:
      return "ns";
    case Unit::kPerSecond:
      return "1/s";
    case Unit::kBytesPerSecond:
      return "B/s";
    case Unit::kTimes:
      return "times";
  }
  return "?";
}

}  // namespace

Spread SpreadOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](size_t quarters) { return values[(values.size() - 1) * quarters / 4]; };
  return Spread{at(1), at(2), at(3)};
}

std::string ToText(const Cell& cell) {
  const Spread& spread = cell.spread;
  const Scale scale = ScaleFor(cell.unit, spread.median);
  std::string text = absl::StrCat(Number(spread.median / scale.factor), scale.name);
  if (spread.low != spread.high) {
    absl::StrAppend(&text, " (", Number(spread.low / scale.factor), " .. ",
                    Number(spread.high / scale.factor), ")");
  }
  return text;
}

std::string ToMarkdown(const Table& table) {
  std::string text = absl::StrCat("## ", table.title, "\n\n", table.note, "\n\n| ",
                                  absl::StrJoin(table.columns, " | "), " |\n|");
  for (size_t i = 0; i < table.columns.size(); ++i) text += "---|";
  text += "\n";
  for (const Row& row : table.rows) {
    absl::StrAppend(&text, "| ", row.name, " |");
    for (const auto& cell : row.cells) {
      absl::StrAppend(&text, " ", cell.has_value() ? ToText(*cell) : "", " |");
    }
    text += "\n";
  }
  return text;
}

json ToJson(const Table& table) {
  json rows = json::array();
  for (const Row& row : table.rows) {
    json cells = json::array();
    for (const auto& cell : row.cells) {
      if (!cell.has_value()) {
        cells.push_back(nullptr);
        continue;
      }
      cells.push_back({{"unit", NameOf(cell->unit)},
                       {"first_quartile", cell->spread.low},
                       {"median", cell->spread.median},
                       {"third_quartile", cell->spread.high}});
    }
    rows.push_back({{"name", row.name}, {"cells", cells}});
  }
  return {{"title", table.title}, {"note", table.note}, {"columns", table.columns}, {"rows", rows}};
}

}  // namespace twinmmu
