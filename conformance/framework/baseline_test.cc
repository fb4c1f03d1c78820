// Baselines: written, read again, and compared.

#include "conformance/framework/baseline.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Column Cuda(Verdict map_4, Verdict map_5) {
  Column column;
  column.target = "cuda";
  AddVerdict(column, Rule::MAP_4, map_4);
  AddVerdict(column, Rule::MAP_5, map_5);
  return column;
}

std::vector<std::string> Compare(const Column& column, const std::string& baseline) {
  std::istringstream in(baseline);
  return CompareWithBaseline({column}, in);
}

std::string Write(const Column& column) {
  std::ostringstream out;
  WriteBaseline({column}, out);
  return out.str();
}

// What was written is met by the same verdicts, failures included, and by no other.
TEST(BaselineTest, IsMetByTheSameVerdictsOnly) {
  const Column pinned = Cuda(Verdict::kUnrecorded, Verdict::kFailed);
  EXPECT_THAT(Compare(pinned, Write(pinned)), IsEmpty());
  EXPECT_THAT(Compare(Cuda(Verdict::kHolds, Verdict::kFailed), Write(pinned)),
              ElementsAre("cuda MAP-4 is \"holds\"; the baseline says \"unrecorded here\""));
}

// A rule that did not run is neither written nor compared.
TEST(BaselineTest, LeavesOutWhatDidNotRun) {
  const Column half = Cuda(Verdict::kHolds, Verdict::kNotRun);
  EXPECT_THAT(Write(half), Not(HasSubstr("MAP-5")));
  EXPECT_THAT(Compare(half, Write(Cuda(Verdict::kHolds, Verdict::kHolds))), IsEmpty());
}

// A rule that is newer than the baseline, or the baseline of another target, is a difference.
TEST(BaselineTest, KnowsEveryRuleThatRan) {
  const Column column = Cuda(Verdict::kHolds, Verdict::kHolds);
  EXPECT_THAT(Compare(column, "cuda MAP-4 holds\nsim MAP-5 holds\n"),
              ElementsAre("cuda MAP-5 is \"holds\", and not in the baseline"));
}

// What cannot be read is said with its line, and comments are passed over.
TEST(BaselineTest, SaysWhichLineCannotBeRead) {
  const Column nothing;
  EXPECT_THAT(Compare(nothing, "# a comment\n\ncuda MAP-X holds\n"),
              ElementsAre(HasSubstr("line 3 of the baseline, \"cuda MAP-X holds\"")));
  EXPECT_THAT(Compare(nothing, "cuda MAP-4 good\n"), ElementsAre(HasSubstr("line 1")));
  EXPECT_THAT(Compare(nothing, "cuda MAP-4\n"), ElementsAre(HasSubstr("line 1")));
}

}  // namespace
}  // namespace twinmmu::conformance
