// docs/reference/observations.md says what the deviations and their programs say.

#include "conformance/rules/observations.h"

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "api/testing/matchers.h"
#include "conformance/programs/programs.h"
#include "conformance/rules/rules.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using ::testing::HasSubstr;

std::string CommittedObservations() {
  std::stringstream document;
  document << std::ifstream("docs/reference/observations.md").rdbuf();
  return document.str();
}

TEST(ObservationsTest, TheDocumentIsUpToDate) {
  const absl::StatusOr<std::string> updated = UpdateObservations(CommittedObservations());
  ASSERT_THAT(updated, IsOk());
  EXPECT_TRUE(*updated == CommittedObservations())
      << "the deviations have changed since docs/reference/observations.md was written: run\n"
         "    tools/bazel run //conformance/rules:update_observations";
}

// Without line breaks and indentation.
std::string Flat(const std::string& text) {
  return absl::StrJoin(absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ");
}

// Each deviation stands there with its sentence, the program that shows it, and what that says.
TEST(ObservationsTest, ShowsEachDeviationWithItsProgram) {
  const std::string document = Flat(CommittedObservations());
  const auto shows = [&](const std::string& text) {
    return document.find(Flat(text)) != std::string::npos;
  };
  EXPECT_TRUE(shows(absl::StrCat("**", AllPrograms().size(), " deviations**")));
  for (const DeviationProgram& program : AllPrograms()) {
    const DeviationInfo& deviation = GetDeviation(program.deviation);
    SCOPED_TRACE(deviation.name);
    EXPECT_TRUE(shows(deviation.sentence));
    EXPECT_TRUE(shows(absl::StrCat("### ", deviation.name, "\n")));
    EXPECT_TRUE(shows(absl::StrCat("```cpp\n", program.text, "```\n")));
    EXPECT_TRUE(shows(absl::StrCat("Seen: **", program.deviating, "**.")));
  }
}

TEST(ObservationsTest, SaysWhereASectionHasNoPlace) {
  EXPECT_THAT(std::string(UpdateObservations("words\n").status().message()),
              HasSubstr("<!-- begin: deviations -->"));
}

}  // namespace
}  // namespace twinmmu::conformance
