#include "tools/benchmark/table.h"

#include <vector>

#include "gtest/gtest.h"

namespace twinmmu {
namespace {

std::string Text(double value, Unit unit) { return ToText(Cell{Exactly(value), unit}); }

TEST(TableTest, TakesTheQuartilesWhateverTheOrder) {
  const Spread spread = SpreadOf({5, 1, 3, 2, 4});
  EXPECT_EQ(spread.low, 2);
  EXPECT_EQ(spread.median, 3);
  EXPECT_EQ(spread.high, 4);
  EXPECT_EQ(SpreadOf({7}).median, 7);
}

TEST(TableTest, ChoosesTheUnitByTheSize) {
  EXPECT_EQ(Text(0.5, Unit::kNanoseconds), "0.50 ns");
  EXPECT_EQ(Text(166, Unit::kNanoseconds), "166 ns");
  EXPECT_EQ(Text(1804, Unit::kNanoseconds), "1.80 us");
  EXPECT_EQ(Text(71300, Unit::kNanoseconds), "71.3 us");
  EXPECT_EQ(Text(14000, Unit::kPerSecond), "14000/s");
  EXPECT_EQ(Text(6.04e6, Unit::kPerSecond), "6.04 million/s");
  EXPECT_EQ(Text(4.12e12, Unit::kBytesPerSecond), "4.12 TB/s");
  EXPECT_EQ(Text(0.97, Unit::kTimes), "0.97");
}

TEST(TableTest, ShowsTheSpreadInTheUnitOfTheMedian) {
  EXPECT_EQ(ToText(Cell{Spread{950, 1800, 2100}, Unit::kNanoseconds}), "1.80 us (0.95 .. 2.10)");
}

TEST(TableTest, WritesRowsAsMarkdownAndAsJson) {
  const Table table{"T", "N", {"call", "a", "b"}, {Row{"x", {Cell{Exactly(2)}, std::nullopt}}}};
  EXPECT_EQ(ToMarkdown(table),
            "## T\n\nN\n\n| call | a | b |\n|---|---|---|\n| x | 2.00 ns |  |\n");
  const nlohmann::json row = ToJson(table)["rows"][0];
  EXPECT_EQ(row["name"], "x");
  EXPECT_EQ(row["cells"][0]["median"], 2);
  EXPECT_EQ(row["cells"][0]["unit"], "ns");
  EXPECT_TRUE(row["cells"][1].is_null());
}

}  // namespace
}  // namespace twinmmu
