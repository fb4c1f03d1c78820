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

std::string Write(const std::string& name, const std::vector<Section>& sections,
                  const Json& header = {{"recording", 1}}) {
  const std::string path = testing::TempDir() + name;
  const auto writer = RecordingWriter::Create(path);
  EXPECT_THAT((*writer)->Write(header), IsOk());
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

Json GetAccess(const std::string& location, const std::string& value) {
  return Json{
      {"call", "GetAccess"}, {"location", location}, {"code", "CUDA_SUCCESS"}, {"value", value}};
}

// What both made after it is not compared: the state may be another one.
TEST(CompareTest, AnotherChangeEndsTheComparisonOfASection) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const Comparison comparison,
      Compare(
          Write("p1", {ASection("a", {Map("r1", "CUDA_SUCCESS"), GetAccess("device:0", "none")})}),
          Write("p2", {ASection("a", {Map("r1", "CUDA_SUCCESS"), Map("r2", "CUDA_SUCCESS"),
                                      GetAccess("device:0", "read")})})));
  EXPECT_THAT(comparison.differences, IsEmpty());
  EXPECT_EQ(comparison.calls, 1u);
  EXPECT_EQ(comparison.calls_only_here, 1u);
  EXPECT_EQ(comparison.calls_only_there, 2u);
}

TEST(CompareTest, PassesOverQuestionsThatOnlyOneAsked) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const Comparison comparison,
      Compare(
          Write("q1", {ASection("a", {GetAccess("device:0", "none"), Map("r1", "CUDA_SUCCESS")})}),
          Write("q2", {ASection("a", {GetAccess("device:0", "none"), GetAccess("device:1", "none"),
                                      Map("r1", "OTHER")})})));
  ASSERT_EQ(comparison.differences.size(), 1u);
  EXPECT_EQ(comparison.calls, 2u);
  EXPECT_EQ(comparison.calls_only_here, 0u);
  EXPECT_EQ(comparison.calls_only_there, 1u);
}

// A level gets a name when it is first asked for, a box of an array that is read changes nothing.
TEST(CompareTest, ALevelThatOnlyOneAskedForIsNotPassedOver) {
  const auto compare = [](const char* call) {
    const Json only_there = {{"call", call}, {"code", "CUDA_SUCCESS"}};
    return Compare(Write("g1", {ASection("a", {Map("r1", "CUDA_SUCCESS")})}),
                   Write("g2", {ASection("a", {only_there, Map("r1", "OTHER")})}));
  };
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Comparison level, compare("GetLevel"));
  EXPECT_THAT(level.differences, IsEmpty());
  EXPECT_EQ(level.calls, 0u);
  for (const char* question : {"CopyArrayToHost", "MulticastGetGranularity"}) {
    TWINMMU_ASSERT_OK_AND_ASSIGN(const Comparison passed_over, compare(question));
    EXPECT_EQ(passed_over.differences.size(), 1u);
  }
}

// Addresses that were never reserved lie somewhere else on each machine; small and huge numbers
// are the test's own.
TEST(CompareTest, NumbersThatTheMachineChoseAreAlike) {
  const auto map = [](const char* range) { return Map(range, "x"); };
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const Comparison comparison,
      Compare(Write("n1", {ASection("a", {map("0x7f0000000000")}), ASection("b", {map("0x1000")}),
                           ASection("c", {map("0xffffffffffffffff")})}),
              Write("n2", {ASection("a", {map("0x700000000000")}), ASection("b", {map("0x2000")}),
                           ASection("c", {map("0xfffffffffffffffe")})})));
  EXPECT_THAT(comparison.differences, IsEmpty());
  EXPECT_EQ(comparison.calls, 1u);
}

Json Launch() { return Json{{"call", "Launch"}, {"kernel", "k1"}, {"code", "CUDA_SUCCESS"}}; }

Json Read(const std::string& data, const std::string& code = "CUDA_SUCCESS") {
  return Json{{"call", "CopyDeviceToHost"}, {"source", "r1"}, {"code", code}, {"data", data}};
}

TEST(CompareTest, WhatIsReadAfterALaunchIsADifferenceOnlyOfItsCode) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const Comparison comparison,
      Compare(Write("l1", {ASection("a", {Launch(), Read("00")}), ASection("b", {Read("00")}),
                           ASection("c", {Launch(), Read("00")})}),
              Write("l2", {ASection("a", {Launch(), Read("01")}), ASection("b", {Read("01")}),
                           ASection("c", {Launch(), Read("00", "OTHER")})})));
  ASSERT_EQ(comparison.differences.size(), 2u);
  EXPECT_EQ(comparison.differences[0].section, "b");
  EXPECT_EQ(comparison.differences[1].section, "c");
  EXPECT_EQ(comparison.after_launch, 1u);
}

// A poll of a stream: read what a kernel has written so far, and wait for the copy.
std::vector<Json> Polls(int count, const std::string& last) {
  std::vector<Json> lines = {Launch()};
  for (int i = 0; i < count; ++i) {
    const std::string code = i + 1 == count ? last : "CUDA_SUCCESS";
    lines.push_back({{"call", "QueryEvent"}, {"code", "CUDA_SUCCESS"}, {"value", false}});
    lines.push_back({{"call", "CopyDeviceToHost"}, {"stream", "s2"}, {"code", "CUDA_SUCCESS"}});
    lines.push_back({{"call", "SynchronizeStream"}, {"stream", "s2"}, {"code", code}});
  }
  return lines;
}

TEST(CompareTest, PollsAreOneWithTheLastAnswer) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const Comparison comparison,
      Compare(Write("k1", {ASection("a", Polls(2, "FAULT")), ASection("b", Polls(2, "FAULT"))}),
              Write("k2", {ASection("a", Polls(300, "FAULT")), ASection("b", Polls(3, "OTHER"))})));
  ASSERT_EQ(comparison.differences.size(), 1u);
  EXPECT_EQ(comparison.differences[0].section, "b");
  EXPECT_EQ(comparison.calls, 4u);  // the launches, and a wait in each section
  EXPECT_EQ(comparison.calls_only_there, 0u);
  EXPECT_EQ(comparison.polls, 5u + 899u + 5u + 8u);  // all but a launch and a wait in each
}

TEST(CompareTest, WhatThreadsDoAtOnceIsNotCompared) {
  Json of_thread = Map("r2", "CUDA_SUCCESS");
  of_thread["thread"] = 1;
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const Comparison comparison,
      Compare(Write("t1", {ASection("a", {Map("r1", "x"), of_thread, Map("r1", "x")})}),
              Write("t2", {ASection("a", {Map("r1", "y"), of_thread, Map("r1", "z")})})));
  ASSERT_EQ(comparison.differences.size(), 1u);
  EXPECT_EQ(comparison.differences[0].lines.size(), 1u);
  EXPECT_EQ(comparison.of_threads, 4u);
}

Json OriginWith(int devices) {
  return Json{{"recording", 1},
              {"devices", Json(static_cast<size_t>(devices), Json{{"name", "NVIDIA H200"}})}};
}

Json GetDeviceCount(int count) {
  return Json{{"call", "GetDeviceCount"}, {"code", "CUDA_SUCCESS"}, {"value", count}};
}

TEST(CompareTest, TheNumberOfDevicesIsTheMachines) {
  const auto compare = [](int told) {
    return Compare(Write("d1", {ASection("a", {GetDeviceCount(1)})}, OriginWith(1)),
                   Write("d2", {ASection("a", {GetDeviceCount(told)})}, OriginWith(2)));
  };
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Comparison right, compare(2));
  EXPECT_THAT(right.differences, IsEmpty());
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Comparison wrong, compare(3));
  EXPECT_EQ(wrong.differences.size(), 1u);
}

TEST(CompareTest, ATestThatLacksDevicesIsNoDifference) {
  const auto compare = [](int devices, const char* verdict) {
    return Compare(Write("s1", {ASection("a", {}, "skipped")}, OriginWith(1)),
                   Write("s2", {ASection("a", {}, verdict)}, OriginWith(devices)));
  };
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Comparison more, compare(2, "passed"));
  EXPECT_THAT(more.differences, IsEmpty());
  EXPECT_EQ(more.lacking_devices, 1u);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Comparison as_many, compare(1, "passed"));
  EXPECT_EQ(as_many.differences.size(), 1u);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Comparison failed, compare(2, "failed"));
  EXPECT_EQ(failed.differences.size(), 1u);
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
