// Verdicts and their table.

#include "conformance/framework/verdicts.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "conformance/framework/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Column ColumnOf(const char* target) {
  Column column;
  column.target = target;
  return column;
}

std::string Table(const std::vector<Column>& columns) {
  std::ostringstream out;
  PrintTable(columns, out);
  PrintCounts(columns, out);
  return out.str();
}

// Of several tests of one rule the worst verdict counts, in whichever order they come.
TEST(ColumnTest, TheWorstVerdictOfARuleCounts) {
  Column column = ColumnOf("sim");
  AddVerdict(column, Rule::MAP_4, Verdict::kAsObserved);
  AddVerdict(column, Rule::MAP_4, Verdict::kFailed);
  AddVerdict(column, Rule::MAP_4, Verdict::kHolds);
  EXPECT_EQ(column.Of(Rule::MAP_4), Verdict::kFailed);
  EXPECT_EQ(column.Of(Rule::MAP_5), Verdict::kNotRun);
}

// Rules that no test ran for are counted, so that the counts add up to all rules.
TEST(ColumnTest, CountsAddUpToAllRules) {
  Column column = ColumnOf("sim");
  AddVerdict(column, Rule::MAP_1, Verdict::kHolds);
  EXPECT_EQ(column.Count(Verdict::kHolds), 1);
  EXPECT_EQ(column.Count(Verdict::kNotRun), static_cast<int>(AllRules().size()) - 1);
}

// The table has a row for each rule with its id and its sentence, and a column for each target.
TEST(TableTest, ShowsRulesAndTargets) {
  Column sim = ColumnOf("sim");
  Column cuda = ColumnOf("cuda");
  AddVerdict(sim, Rule::MAP_1, Verdict::kHolds);
  AddVerdict(cuda, Rule::MAP_1, Verdict::kFailed);
  const std::string table = Table({sim, cuda});
  const size_t all = AllRules().size();
  for (const RuleInfo& info : AllRules()) {
    EXPECT_THAT(table, HasSubstr("\n" + info.id + " "));
    EXPECT_THAT(table, HasSubstr(info.sentence));
  }
  EXPECT_THAT(table, HasSubstr("holds            FAILED"));
  EXPECT_THAT(table, HasSubstr(absl::StrCat("sim: ", all, " rules: 1 holds, ", all - 1,
                                            " not run, 0 FAILED")));
  EXPECT_THAT(table,
              HasSubstr(absl::StrCat("cuda: ", all, " rules: ", all - 1, " not run, 1 FAILED")));
}

// A difference that nobody recorded is worse than all but a failure.
TEST(ColumnTest, UnrecordedIsWorseThanAsObserved) {
  Column column = ColumnOf("cuda");
  AddVerdict(column, Rule::MAP_4, Verdict::kUnrecorded);
  AddVerdict(column, Rule::MAP_4, Verdict::kAsObserved);
  EXPECT_EQ(column.Of(Rule::MAP_4), Verdict::kUnrecorded);
  EXPECT_THAT(Table({column}), HasSubstr("1 unrecorded here, 0 FAILED"));
}

// A deviation that showed is explained below the table, with the targets it showed on.
TEST(TableTest, ExplainsTheDeviationsThatShowed) {
  Column sim = ColumnOf("sim");
  EXPECT_THAT(Table({sim}), Not(HasSubstr("As observed")));
  sim.deviations.insert(GetDeviation(Deviation::kUnmapIgnoresHoles).name);
  EXPECT_THAT(Table({sim, ColumnOf("cuda")}),
              HasSubstr("UNMAP-8 (sim): cuMemUnmap over a range with holes succeeds"));
}

// A skipped test says why, and how many share the reason.
TEST(TableTest, GivesTheReasonForAbsentHardware) {
  Column cuda = ColumnOf("cuda");
  cuda.skip_reasons["needs two devices, there is one"] = 7;
  EXPECT_THAT(Table({cuda}),
              HasSubstr("cuda: no hardware for 7 tests: needs two devices, there is one"));
}

// Rule ids are written with a hyphen, and the enumerator leads back to the same entry.
TEST(RulesTest, EntriesMatchTheirEnumerators) {
  EXPECT_EQ(GetRule(Rule::MAP_10).id, "MAP-10");
  for (const RuleInfo& info : AllRules()) EXPECT_EQ(&GetRule(info.rule), &info);
  for (const DeviationInfo& info : AllDeviations()) {
    EXPECT_EQ(&GetDeviation(info.deviation), &info);
  }
}

// The reference was recorded with CUDA 13.0 on devices of capability 9.0: not on their neighbours.
TEST(RulesTest, ADriverAndADeviceAreRecordedTogether) {
  EXPECT_TRUE(IsRecorded(13000, 9, 0));
  EXPECT_FALSE(IsRecorded(12090, 9, 0));
  EXPECT_FALSE(IsRecorded(13010, 9, 0));
  EXPECT_FALSE(IsRecorded(13000, 8, 0));
  EXPECT_FALSE(IsRecorded(13000, 9, 1));
}

// The simulator of the reference driver is declared to have every recorded deviation.
TEST(RulesTest, TheReferenceHasAllDeviations) {
  EXPECT_EQ(ReferenceDeviations().size(), AllDeviations().size());
}

}  // namespace
}  // namespace twinmmu::conformance
