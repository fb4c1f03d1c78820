#include "api/testing/recording/compare.h"

#include <string>
#include <utility>
#include <vector>

#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Write(const std::string& name, const std::vector<Section>& sections) {
  const std::string path = testing::TempDir() + name;
  const auto writer = RecordingWriter::Create(path);
  EXPECT_THAT((*writer)->Write(Json{{"recording", 1}}), IsOk());
  for (const Section& section : sections) EXPECT_THAT((*writer)->Write(section), IsOk());
  EXPECT_THAT((*writer)->Close(), IsOk());
  return path;
}

Section ASection(const std::string& name, std::vector<Json> lines,
                 const std::string& verdict = "passed") {
  return Section{Json{{"section", name}, {"rule", "MAP-5"}}, std::move(lines),
                 Json{{"end", name}, {"verdict", verdict}}};
}

Json Map(const std::string& range, const std::string& code) {
  return Json{{"call", "Map"}, {"range", range}, {"code", code}};
}

TEST(CompareTest, TheSameIsNoDifference) {
  const std::string path = Write("same", {ASection("a", {Map("r1", "CUDA_SUCCESS")})});
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Comparison comparison, Compare(path, path));
  EXPECT_EQ(comparison.sections, 1u);
  EXPECT_EQ(comparison.calls, 1u);
  EXPECT_THAT(comparison.differences, IsEmpty());
}

TEST(CompareTest, AnotherCodeIsADifferenceOfItsRule) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const Comparison comparison,
      Compare(Write("a1", {ASection("a", {Map("r1", "CUDA_SUCCESS"), Map("r2", "CUDA_SUCCESS")})}),
              Write("a2", {ASection("a", {Map("r1", "CUDA_SUCCESS"), Map("r2", "OTHER")})})));
  ASSERT_EQ(comparison.differences.size(), 1u);
  EXPECT_EQ(comparison.differences[0].rule, "MAP-5");
  ASSERT_EQ(comparison.differences[0].lines.size(), 1u);
  EXPECT_EQ(comparison.differences[0].lines[0].line, 2u);
  EXPECT_THAT(DifferingKeys(comparison.differences[0].lines[0].recorded,
                            comparison.differences[0].lines[0].seen),
              ElementsAre("code"));
}

TEST(CompareTest, AnotherVerdictIsADifference) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const Comparison comparison,
      Compare(Write("v1", {ASection("a", {})}), Write("v2", {ASection("a", {}, "failed")})));
  ASSERT_EQ(comparison.differences.size(), 1u);
  EXPECT_EQ(comparison.differences[0].verdict, "\"passed\", there \"failed\"");
}

// Where reservations lie decides what a test calls next; that is no difference by itself.
TEST(CompareTest, OtherCallsEndTheComparisonOfASection) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const Comparison comparison,
      Compare(Write("p1", {ASection("a", {Map("r1", "x"), Map("r1", "x"), Map("r1", "x")})}),
              Write("p2", {ASection("a", {Map("r1", "x"), Map("r2", "y"), Map("r1", "z")})})));
  EXPECT_THAT(comparison.differences, IsEmpty());
  EXPECT_EQ(comparison.calls, 1u);
  EXPECT_EQ(comparison.parted, 1u);
}

TEST(CompareTest, SectionsAreMatchedByNameInAnyOrder) {
  const Section a = ASection("a", {Map("r1", "x")});
  const Section b = ASection("b", {Map("r1", "x")});
  const Section c = ASection("c", {});
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Comparison comparison,
                               Compare(Write("o1", {a, b}), Write("o2", {c, b, a})));
  EXPECT_EQ(comparison.sections, 2u);
  EXPECT_THAT(comparison.differences, IsEmpty());
  EXPECT_THAT(comparison.only_there, ElementsAre("c"));
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Comparison reverse,
                               Compare(Write("o2b", {c, b, a}), Write("o1b", {a, b})));
  EXPECT_THAT(reverse.only_here, ElementsAre("c"));
}

}  // namespace
}  // namespace twinmmu
