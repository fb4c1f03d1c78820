// Figures, as a table for readers and as JSON for programs.

#ifndef TWINMMU_TOOLS_BENCHMARK_TABLE_H_
#define TWINMMU_TOOLS_BENCHMARK_TABLE_H_

#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace twinmmu {

// The quartiles of many measurements, or one number three times.
struct Spread {
  double low = 0;
  double median = 0;
  double high = 0;
};

Spread SpreadOf(std::vector<double> values);  // not empty
constexpr Spread Exactly(double value) { return Spread{value, value, value}; }

enum class Unit { kNanoseconds, kPerSecond, kBytesPerSecond, kTimes };

struct Cell {
  Spread spread;
  Unit unit = Unit::kNanoseconds;
};

struct Row {
  std::string name;
  std::vector<std::optional<Cell>> cells;  // none: not measured
};

struct Table {
  std::string title;
  std::string note;                  // what was counted
  std::vector<std::string> columns;  // the first is that of the rows' names
  std::vector<Row> rows;
};

std::string ToText(const Cell& cell);  // "1.80 us (1.75 .. 1.92)"
std::string ToMarkdown(const Table& table);
nlohmann::json ToJson(const Table& table);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_BENCHMARK_TABLE_H_
