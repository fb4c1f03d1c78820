// Reports of `twinmmu run` as CI systems want them.

#include "tools/annotations/annotations.h"

#include <sstream>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kReport[] = R"json(
{"type":"process","pid":7,"program":"/src/bin/pool_test","finished":true}
{"type":"diagnostic","pid":7,"kind":"kDoubleUnmap","severity":"warning","what":"It was unmapped.","advice":"Once, 100%.","count":1,"site":{"module":"/src/bin/pool_test","offset":"0x1","symbol":"Pool::Free()","source":"/src/pool/free,all.cc:42"}}
{"type":"count","pid":7,"kind":"kDoubleUnmap","count":1}
{"type":"leak","pid":7,"kind":"kLeakedMapping","count":3,"what":"A <mapping> was left.","site":{"module":"/usr/lib/libother.so"}}
{"type":"process","pid":8,"program":"/src/bin/pool_test","finished":true}
{"type":"leak","pid":8,"kind":"kLeakedMapping","count":3,"what":"A <mapping> was left.","site":{"module":"/usr/lib/libother.so"}}
{"type":"run","pid":7,"exit_code":0}
)json";

std::vector<Annotation> AnnotationsOf(const std::string& text, const std::string& root = "/src") {
  return ReadAnnotations(*LineReader::Of("report", text), root).value();
}

absl::Status StatusOf(const std::string& text) {
  return ReadAnnotations(*LineReader::Of("report", text), "/src").status();
}

TEST(AnnotationsTest, AreMisuseAndWhatWasLeftEachPlaceOnce) {
  const std::vector<Annotation> annotations = AnnotationsOf(kReport);
  ASSERT_THAT(annotations, SizeIs(2));
  EXPECT_FALSE(annotations[0].is_error);
  EXPECT_EQ(annotations[0].kind, "kDoubleUnmap");
  EXPECT_EQ(annotations[0].message, "It was unmapped.\nOnce, 100%.\nIn Pool::Free().");
  EXPECT_TRUE(annotations[1].is_error);
  EXPECT_EQ(annotations[1].message, "A <mapping> was left. (3 times)");
  EXPECT_EQ(annotations[1].file, "");
  EXPECT_EQ(annotations[1].program, "/src/bin/pool_test");
}

std::string FileOf(const std::string& source, const std::string& root) {
  return AnnotationsOf(
             R"({"type":"leak","kind":"kLeakedMapping","site":{"source":")" + source + R"("}})",
             root)[0]
      .file;
}

TEST(AnnotationsTest, HaveFilesBelowTheRootOfTheSources) {
  EXPECT_EQ(FileOf("/src/pool/grow.cc:42", "/src"), "pool/grow.cc");
  EXPECT_EQ(FileOf("/src/pool/grow.cc:42", "/src/"), "pool/grow.cc");
  EXPECT_EQ(FileOf("/source/grow.cc:42", "/src"), "/source/grow.cc");
  EXPECT_EQ(FileOf("/srcs/grow.cc:42", "/src"), "/srcs/grow.cc");
  EXPECT_EQ(FileOf("./pool/grow.cc:42", "/src"), "pool/grow.cc");
  EXPECT_EQ(FileOf("/proc/self/cwd/pool/grow.cc:42", "/src"), "pool/grow.cc");
}

TEST(AnnotationsTest, NeedAReport) {
  EXPECT_THAT(std::string(StatusOf("").message()), HasSubstr("the report is empty"));
  EXPECT_THAT(std::string(StatusOf("{\"type\":\"run\"}\n<xml/>\n").message()),
              HasSubstr("line 2 is none of a report"));
  EXPECT_THAT(std::string(StatusOf("{\"recording\":1}\n").message()), HasSubstr("line 1"));
}

TEST(AnnotationsTest, BecomeWorkflowCommandsForGitHub) {
  EXPECT_EQ(
      ForGitHub(AnnotationsOf(kReport)),
      "::warning file=pool/free%2Call.cc,line=42,title=kDoubleUnmap::It was unmapped.%0AOnce, "
      "100%25.%0AIn Pool::Free().\n"
      "::error title=kLeakedMapping::A <mapping> was left. (3 times)\n");
}

TEST(AnnotationsTest, BecomeACodeQualityReportForGitLab) {
  const nlohmann::json list = nlohmann::json::parse(ForGitLab(AnnotationsOf(kReport)));
  ASSERT_THAT(list, SizeIs(2));
  EXPECT_EQ(
      list[0],
      (nlohmann::json{{"description", "It was unmapped.\nOnce, 100%.\nIn Pool::Free()."},
                      {"check_name", "kDoubleUnmap"},
                      {"fingerprint", "kDoubleUnmap pool/free,all.cc:42"},
                      {"severity", "minor"},
                      {"location", {{"path", "pool/free,all.cc"}, {"lines", {{"begin", 42}}}}}}));
  EXPECT_EQ(list[1]["severity"], "major");
  EXPECT_EQ(list[1]["location"]["path"], "/src/bin/pool_test");
  EXPECT_EQ(ForGitLab({}), "[]\n");
}

TEST(AnnotationsTest, BecomeTestCasesOfJUnit) {
  EXPECT_EQ(ForJUnit(AnnotationsOf(kReport)),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"twinmmu run\" tests=\"2\" failures=\"1\">\n"
            "  <testcase classname=\"twinmmu\" name=\"kDoubleUnmap at pool/free,all.cc:42\">\n"
            "    <system-out>It was unmapped.&#10;Once, 100%.&#10;In Pool::Free().</system-out>\n"
            "  </testcase>\n"
            "  <testcase classname=\"twinmmu\" name=\"kLeakedMapping at /src/bin/pool_test\">\n"
            "    <failure message=\"A &lt;mapping&gt; was left. (3 times)\"/>\n"
            "  </testcase>\n"
            "</testsuite>\n");
}

// What the schema of SARIF 2.1.0 wants of the parts that are used.
TEST(AnnotationsTest, BecomeASarifReport) {
  const nlohmann::json report = nlohmann::json::parse(ForSarif(AnnotationsOf(kReport)));
  EXPECT_EQ(report["version"], "2.1.0");
  ASSERT_THAT(report["runs"], SizeIs(1));
  const nlohmann::json& run = report["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["name"], "TwinMMU");
  ASSERT_THAT(run["results"], SizeIs(2));
  for (const nlohmann::json& result : run["results"]) {
    EXPECT_TRUE(result["message"]["text"].is_string());
    const std::string level = result["level"];
    EXPECT_TRUE(level == "error" || level == "warning") << level;
    size_t rules = 0;
    for (const nlohmann::json& rule : run["tool"]["driver"]["rules"])
      rules += rule["id"] == result["ruleId"] ? 1 : 0;
    EXPECT_EQ(rules, 1u) << result;
  }
  EXPECT_EQ(run["results"][0]["locations"],
            (nlohmann::json::array({{{"physicalLocation",
                                      {{"artifactLocation", {{"uri", "pool/free%2call.cc"}}},
                                       {"region", {{"startLine", 42}}}}}}})));
  EXPECT_EQ(run["results"][1]["level"], "error");
  // Without a line, it is of the program.
  EXPECT_EQ(run["results"][1]["locations"],
            (nlohmann::json::array(
                {{{"physicalLocation",
                   {{"artifactLocation", {{"uri", "file:///src/bin/pool_test"}}}}}}})));
}

// Earlier calls at places that are known are related locations.
TEST(AnnotationsTest, TellSarifOfEarlierCalls) {
  const std::string line =
      R"({"type":"diagnostic","kind":"kDataRace","number":9,"history":[{"call":7,"sentence":"made it"},)"
      R"({"call":8,"sentence":"filled it","site":{"source":"/src/pool.cc:3"}},)"
      R"({"call":9,"sentence":"read it","site":{"source":"/src/pool.cc:5"}}]})";
  const nlohmann::json report = nlohmann::json::parse(ForSarif(AnnotationsOf(line)));
  EXPECT_EQ(report["runs"][0]["results"][0]["relatedLocations"],
            (nlohmann::json::array(
                {{{"physicalLocation",
                   {{"artifactLocation", {{"uri", "pool.cc"}}}, {"region", {{"startLine", 3}}}}},
                  {"message", {{"text", "filled it"}}}}})));
}

TEST(AnnotationsTest, NoneAreASarifReportWithoutResults) {
  EXPECT_EQ(nlohmann::json::parse(ForSarif({}))["runs"][0]["results"], nlohmann::json::array());
}

TEST(AnnotationsTest, WithoutAnyATestCasePasses) {
  EXPECT_THAT(ForJUnit({}), HasSubstr("tests=\"1\" failures=\"0\""));
  EXPECT_THAT(ForJUnit({}), HasSubstr("name=\"no misuse, nothing left\"/>"));
  EXPECT_THAT(ForGitHub({}), IsEmpty());
}

}  // namespace
}  // namespace twinmmu
