// What is said of a module of device code.

#include "tools/commands/ptx_report.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;

constexpr char kText[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".func helper() {\n  tcgen05.wait::ld.sync.aligned;\n  tcgen05.wait::ld.sync.aligned;\n  "
    "ret;\n}\n"
    ".entry fine() { ret; }\n"
    ".entry calls() { call helper, (); ret; }\n";

// The text names each kernel, why one is refused, and what is needed, with all lines.
TEST(PtxReportTest, NamesKernelsAndNeeds) {
  std::ostringstream out;
  EXPECT_FALSE(ReportPtx("a.ptx", kText, out).runs);
  EXPECT_EQ(
      out.str(),
      "a.ptx: PTX 8.0 for sm_90, 1 of 2 kernels run\n"
      "  runs     fine\n"
      "  refused  calls: line 5: `tcgen05.wait::ld.sync.aligned`: it is not supported, in function "
      "'helper'\n"
      "  needs    `tcgen05.wait::ld.sync.aligned`: it is not supported (helper, lines 5, 6)\n");
}

// The record says the same.
TEST(PtxReportTest, RecordsKernelsAndNeeds) {
  std::ostringstream out;
  const nlohmann::ordered_json record = ReportPtx("a.ptx", kText, out).record;
  EXPECT_EQ(record["ptx"], "8.0");
  EXPECT_EQ(record["target"], "sm_90");
  EXPECT_EQ(record["kernels"][0], (nlohmann::ordered_json{{"name", "fine"}, {"runs", true}}));
  EXPECT_FALSE(record["kernels"][1]["runs"].get<bool>());
  EXPECT_EQ(record["needs"].size(), 2u);
  EXPECT_EQ(record["needs"][1]["line"], 6);
  EXPECT_EQ(record["needs"][1]["function"], "helper");
}

// A module whose kernels all run needs nothing.
TEST(PtxReportTest, AcceptsWhatRuns) {
  std::ostringstream out;
  const PtxReport report = ReportPtx(
      "b.ptx", ".version 8.0\n.target sm_70\n.address_size 64\n.entry k() { ret; }\n", out);
  EXPECT_TRUE(report.runs);
  EXPECT_EQ(out.str(), "b.ptx: PTX 8.0 for sm_70, 1 of 1 kernel runs\n  runs     k\n");
}

// What is no PTX is told, with its place.
TEST(PtxReportTest, TellsWhatIsWrong) {
  std::ostringstream out;
  const PtxReport report = ReportPtx(
      "c.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { ret }\n", out);
  EXPECT_FALSE(report.runs);
  EXPECT_THAT(out.str(), HasSubstr("c.ptx: cannot be loaded: line 4, column "));
  EXPECT_THAT(report.record["error"].get<std::string>(), HasSubstr("line 4"));
}

// A folder is not read.
TEST(PtxReportTest, RefusesFolders) {
  std::ostringstream out;
  EXPECT_THAT(std::string(ReportPtxFile("/tmp", out).status().message()),
              HasSubstr("cannot read /tmp: it is not a file"));
}

}  // namespace
}  // namespace twinmmu
