#include "sim/coherence/litmus/litmus.h"

#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/coherence/litmus/enumerate.h"
#include "sim/coherence/litmus/explain_race.h"

namespace twinmmu::coherence {
namespace {

using testing::HasSubstr;

std::string Json(const std::string& threads, const std::string& condition,
                 const std::string& more = "") {
  return absl::StrCat(
      R"({"name": "t", "locations": {"x": {"init": 0, "aliases": ["x", "y"]}, "f": {}}, "threads": )",
      threads, R"(, "assert": {"kind": "exists", "cond": ")", condition, "\"}", more, "}");
}

// Whether the outcome is allowed that the condition asks about, which must be readable.
bool Allows(const std::string& json) {
  const absl::StatusOr<LitmusTest> test = ParseLitmus(json);
  EXPECT_TRUE(test.ok()) << test.status();
  if (!test.ok()) return false;
  const absl::StatusOr<Enumeration> all = Enumerate(*test, Modes());
  EXPECT_TRUE(all.ok()) << all.status();
  if (!all.ok()) return false;
  for (const Outcome& outcome : all->outcomes) {
    if (test->weak.Holds([&](const Observable& observable) {
          for (size_t i = 0; i < outcome.size(); ++i) {
            if (test->observables[i] == observable) return outcome[i];
          }
          return uint64_t{0};
        })) {
      return true;
    }
  }
  return false;
}

std::string ErrorOf(const std::string& json) {
  const absl::StatusOr<LitmusTest> test = ParseLitmus(json);
  EXPECT_FALSE(test.ok());
  return std::string(test.status().message());
}

TEST(LitmusTest, ReadsTypesAndCacheOperatorsAsNothing) {
  EXPECT_FALSE(
      Allows(Json(R"([["st.global.u32 [x], 1;", "ld.global.ca.u32 r0, [x];"]])", "P0:r0 == 0")));
}

TEST(LitmusTest, TakesVolatileForRelaxed) {
  EXPECT_FALSE(Allows(Json(R"([["st.volatile x, 1"], ["ld.volatile r0, x", "ld.volatile r1, x"]])",
                           "P1:r0 == 1 /\\\\ P1:r1 == 0")));
}

TEST(LitmusTest, TakesMembarForTheFence) {
  EXPECT_FALSE(Allows(Json(R"([["st x, 1", "membar.gl", "st.relaxed.gpu f, 1"],
                              ["ld.relaxed.gpu r0, f", "membar.gl", "ld r1, x"]])",
                           "P1:r0 == 1 /\\\\ P1:r1 == 0")));
}

// A release of a CTA does not reach another one.
TEST(LitmusTest, KeepsToScopes) {
  const std::string threads = R"([["st.weak x, 1", "st.release.cta f, 1"],
                                  ["ld.acquire.cta r0, f", "ld.weak r1, x"]])";
  const std::string condition = "P1:r0 == 1 /\\\\ P1:r1 == 0";
  EXPECT_TRUE(Allows(Json(threads, condition, R"(, "layout": [{"cta": 0}, {"cta": 1}])")));
  EXPECT_FALSE(Allows(Json(threads, condition, R"(, "layout": [{"cta": 0}, {"cta": 0}])")));
  EXPECT_FALSE(Allows(Json(R"([["st.weak x, 1", "st.release.cluster f, 1"],
                               ["ld.acquire.cluster r0, f", "ld.weak r1, x"]])",
                           condition,
                           R"(, "layout": [{"cta": 0, "cluster": 3}, {"cta": 1, "cluster": 3}])")));
}

TEST(LitmusTest, KnowsAtomicsThatCompare) {
  EXPECT_FALSE(Allows(Json(R"([["atom.relaxed.gpu.cas r0, x, 0, 1"],
                              ["atom.relaxed.gpu.cas r0, x, 0, 1"]])",
                           "P0:r0 == 0 && P1:r0 == 0")));
  EXPECT_TRUE(Allows(Json(R"([["atom.relaxed.gpu.cas r0, x, 0, 1"],
                             ["atom.relaxed.gpu.cas r0, y, 0, 1"]])",
                          "P0:r0 == 0 && P1:r0 == 0")));
}

TEST(LitmusTest, AsksAboutMemory) {
  EXPECT_TRUE(Allows(Json(R"([["st.weak x, 1", "st.weak y, 2"]])", "x == 1")));
  EXPECT_FALSE(
      Allows(Json(R"([["st.weak x, 1", "fence.proxy.alias", "st.weak y, 2"]])", "[x] != 2")));
}

TEST(LitmusTest, AsksForAll) {
  const std::string json =
      R"({"locations": {"x": {"aliases": ["x", "y"]}}, "threads": [["st x, 1", "ld r0, y"]],
          "assert": {"kind": "forall", "cond": "P0:r0 == 1"}})";
  EXPECT_TRUE(Allows(json));  // an outcome where it does not hold
}

TEST(LitmusTest, TakesTheAssertionAsOneText) {
  EXPECT_TRUE(Allows(R"json({"locations": {"x": {"aliases": ["x", "y"]}},
      "threads": [["st x, 1", "ld r0, y"]],
      "assert": "~exists (P0:r0 = 0 or not r0 <= 1)"})json"));
}

// One half of the pair is not enough, whichever it is.
TEST(LitmusTest, NeedsBothHalvesOfTheDirectedAliasFences) {
  const auto json = [](const char* producer, const char* consumer) {
    return Json(absl::StrCat(R"([["st.weak x, 1", ")", producer,
                             R"(", "st.relaxed.sys f, 1"], ["ld.relaxed.sys r0, f", ")", consumer,
                             R"(", "ld.weak r1, y"]])"),
                "P1:r0 == 1 /\\\\ P1:r1 == 0");
  };
  const char* const release = "fence.proxy.alias.release.sys";
  const char* const acquire = "fence.proxy.alias.acquire.sys";
  EXPECT_FALSE(Allows(json(release, acquire)));
  EXPECT_TRUE(Allows(json(release, "fence.acq_rel.sys")));
  EXPECT_TRUE(Allows(json("fence.acq_rel.sys", acquire)));
}

TEST(LitmusTest, ChainsEvents) {
  EXPECT_FALSE(Allows(R"({"locations": {"x": {"aliases": ["x", "y"]}}, "threads": [
      ["launch{st x, 1}", "event.record a"], ["stream.wait a", "event.record b"],
      ["stream.wait b", "launch{ld r0, y}"]],
      "layout": [{"stream": 0}, {"stream": 1}, {"stream": 2}],
      "assert": {"kind": "exists", "cond": "r0 == 0"}})"));
}

TEST(LitmusTest, WaitsForThePrimaryWhereTheSecondarySaysSo) {
  const auto json = [](const char* wait) {
    return absl::StrCat(R"({"locations": {"x": {"aliases": ["x", "y"]}}, "threads": [
      ["launch primary{griddepcontrol.launch_dependents; st.weak x, 1}",
       "launch secondary[programmatic]{)",
                        wait, R"(ld.weak r0, y}"]],
      "assert": {"kind": "exists", "cond": "r0 == 0"}})");
  };
  EXPECT_TRUE(Allows(json("")));
  EXPECT_FALSE(Allows(json("griddepcontrol.wait; ")));
}

TEST(LitmusTest, OrdersAfterAllNodesOfAGraph) {
  EXPECT_FALSE(Allows(R"({"locations": {"x": {"aliases": ["x", "y"]}}, "threads": [
      ["graph{a: memset x <- 3; b: launch{ld r1, f}}", "launch{ld r0, y}"]],
      "assert": {"kind": "exists", "cond": "r0 != 3"}})"));
}

// Mappings of different devices are a class of their own.
TEST(LitmusTest, TellsMappingsOfDifferentDevices) {
  const absl::StatusOr<LitmusTest> test = ParseLitmus(
      R"({"locations": {"x": {"aliases": ["x", "y"], "devices": {"x": 0, "y": 1}}},
          "threads": [["st.relaxed.sys x, 1"], ["ld.relaxed.sys r0, y"]],
          "assert": {"kind": "exists", "cond": "P1:r0 == 0"}})");
  ASSERT_TRUE(test.ok()) << test.status();
  const absl::StatusOr<Enumeration> all = Enumerate(*test, Modes());
  ASSERT_TRUE(all.ok());
  ASSERT_FALSE(all->races.empty());
  EXPECT_EQ(all->races.begin()->hazard, Hazard::kCrossDevice);
}

TEST(LitmusTest, SaysWhereAFenceWouldDo) {
  const absl::StatusOr<LitmusTest> test = ParseLitmus(Json(
      R"([["st.weak x, 1", "st.release.gpu f, 1"], ["ld.acquire.gpu r0, f", "ld.weak r1, y"]])",
      "P1:r0 == 1 /\\\\ P1:r1 == 0"));
  ASSERT_TRUE(test.ok()) << test.status();
  const absl::StatusOr<Enumeration> all = Enumerate(*test, Modes());
  ASSERT_TRUE(all.ok());
  std::vector<std::string> words;
  for (const Race& race : all->races) words.push_back(Explain(test->program, race));
  EXPECT_THAT(words, testing::ElementsAre(AllOf(
                         HasSubstr("through x and y"),
                         HasSubstr("in P0 after instruction 1 and before instruction 2; or in P1 "
                                   "after instruction 1 and before instruction 2"))));
}

TEST(LitmusTest, NamesWhatItDoesNotKnow) {
  EXPECT_THAT(ErrorOf(Json(R"([["prefetch x"]])", "x == 1")),
              AllOf(HasSubstr("P0 \"prefetch x\""), HasSubstr("known are ld, st")));
  EXPECT_THAT(ErrorOf(Json(R"([["ld.global.nc r0, x"]])", "x == 1")), HasSubstr("R13"));
  EXPECT_THAT(ErrorOf(Json(R"([["st.weak x"]])", "x == 1")), HasSubstr("1 operands"));
  EXPECT_THAT(ErrorOf(Json(R"([["st.weak x, r9"]])", "x == 1")), HasSubstr("r9"));
  EXPECT_THAT(ErrorOf(Json(R"([["st.weak x, 1"]])", "P0:r7 == 1")), HasSubstr("P0:r7"));
  EXPECT_THAT(ErrorOf(Json(R"([["launch{st x, 1}", "dance"]])", "x == 1")), HasSubstr("dance"));
  EXPECT_THAT(ErrorOf("[1]"), HasSubstr("not a JSON object"));
}

// Nesting that would overflow the stack where a value is copied.
TEST(LitmusTest, RefusesDeepNesting) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_THAT(ErrorOf(absl::StrCat(R"({"threads": [["st x, 1"]], "layout": )", deep, "}")),
              HasSubstr("it is nested more than 64 deep"));
  EXPECT_THAT(ErrorOf(absl::StrCat(R"({"threads": [)", deep, "]}")),
              HasSubstr("it is nested more than 64 deep"));
}

TEST(LitmusTest, RefusesNumbersThatNothingHolds) {
  EXPECT_THAT(ErrorOf(R"({"locations": {"x": {"init": 1e400}}})"), HasSubstr("number overflow"));
}

TEST(LitmusTest, RefusesOrdinaryAccessesOfMulticastAddresses) {
  EXPECT_THAT(ErrorOf(R"({"locations": {"x": {"aliases": ["u", "m"], "replicas": ["u"]}},
      "threads": [["st.weak m, 1"]], "assert": {"cond": "u == 1"}})"),
              HasSubstr("R11"));
}

TEST(LitmusTest, GoesOnAfterALineThatItCannotRead) {
  const auto file =
      LineReader::Of("tests", absl::StrCat("{\n\n# remark\n", R"({"name": "n", "threads": 5})",
                                           "\n", Json(R"([["st x, 1"]])", "x == 1"), "\n"));
  const std::vector<LitmusLine> lines = AllLitmus(*file);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_FALSE(lines[0].test.ok());
  EXPECT_EQ(lines[1].line, 4);
  EXPECT_EQ(lines[1].name, "n");
  EXPECT_FALSE(lines[1].test.ok());
  EXPECT_TRUE(lines[2].test.ok());
}

}  // namespace
}  // namespace twinmmu::coherence
