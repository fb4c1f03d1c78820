// docs/reference/verdicts.md says what the rules, the recordings and the simulator say.

#include "conformance/rules/verdict_table.h"

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/testing/matchers.h"
#include "conformance/rules/observed.h"
#include "conformance/rules/rules.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using ::testing::HasSubstr;

std::string Contents(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string CommittedVerdicts() { return Contents("docs/reference/verdicts.md"); }
std::string Simulated() { return Contents("conformance/rules/simulated_verdicts.txt"); }

absl::StatusOr<std::string> Updated(const std::string& document, const std::string& simulated) {
  return UpdateVerdicts(document, simulated, SuiteRecordings("conformance/recordings"));
}

TEST(VerdictsTest, TheDocumentIsUpToDate) {
  const absl::StatusOr<std::string> updated = Updated(CommittedVerdicts(), Simulated());
  ASSERT_THAT(updated, IsOk());
  EXPECT_TRUE(*updated == CommittedVerdicts())
      << "verdicts have changed since docs/reference/verdicts.md was written: run\n"
         "    tools/bazel run //conformance/rules:update_verdicts";
}

// Each rule has its row, and most were seen to hold on hardware.
TEST(VerdictsTest, SaysOfEachRuleWhatWasSeen) {
  const std::string document = CommittedVerdicts();
  int hold = 0;
  for (const RuleInfo& rule : AllRules()) {
    const char* const kind = rule.kind == RuleKind::kUndefined ? "(undefined) " : "";
    const std::string row = absl::StrCat("| ", rule.id, " | ", kind, rule.sentence, " | ");
    const size_t at = document.find(row);
    ASSERT_NE(at, std::string::npos) << row;
    if (document.compare(at + row.size(), 18, "holds | holds (A, ") == 0) ++hold;
  }
  EXPECT_GT(hold, 200);
}

// A deviation that showed on hardware leads to its program.
TEST(VerdictsTest, LeadsFromADeviationToItsProgram) {
  EXPECT_THAT(CommittedVerdicts(),
              HasSubstr(absl::StrCat("| MAP-10 | ", GetRule(Rule::MAP_10).sentence,
                                     " | as observed | "
                                     "[as observed](observations.md#kmaptakesonlywholeallocations) "
                                     "(A, B) |")));
}

// A rule that holds on the simulator alone, or by one way alone, is told apart.
TEST(VerdictsTest, SaysWhereTheTwoWaysToTheSimulatorDiffer) {
  const std::string simulated =
      absl::StrReplaceAll(Simulated(), {{"cuda_on_sim MAP-1 holds", "cuda_on_sim MAP-1 FAILED"}});
  const absl::StatusOr<std::string> updated = Updated(CommittedVerdicts(), simulated);
  ASSERT_THAT(updated, IsOk());
  EXPECT_THAT(*updated, HasSubstr(" | sim: holds; cuda_on_sim: FAILED | "));
}

TEST(VerdictsTest, SaysWhichVerdictIsMissingOrNone) {
  const auto message = [](const std::string& document, const std::string& simulated) {
    return std::string(Updated(document, simulated).status().message());
  };
  EXPECT_THAT(message(CommittedVerdicts(), ""), HasSubstr("no verdict of sim on DEV-1"));
  EXPECT_THAT(message(CommittedVerdicts(), "sim DEV-1\n"),
              HasSubstr("\"sim DEV-1\" is no target, rule and verdict"));
  EXPECT_THAT(message("words\n", Simulated()), HasSubstr("<!-- begin: verdicts -->"));
}

}  // namespace
}  // namespace twinmmu::conformance
