// Reports as people and programs read them.

#include "sim/libcuda/report/report_words.h"

#include <string>

#include "api/diagnostics_json.h"
#include "api/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace twinmmu::libcuda {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

CallPlace At(const char* call, uint64_t offset) {
  CallPlace place;
  place.call = call;
  place.site.address = 0x555500000000 + offset;
  place.site.module = "/opt/app/bin/pool";
  place.site.offset = offset;
  return place;
}

ReportedDiagnostic Reported(const Diagnostic& diagnostic, uint64_t count) {
  ReportedDiagnostic reported;
  reported.kind = diagnostic.kind;
  reported.severity = diagnostic.severity;
  reported.words = ToString(diagnostic);
  reported.json = ToJson(diagnostic);
  reported.place = At("cuMemUnmap", 0x20);
  reported.count = count;
  return reported;
}

// A process with one of everything.
ProcessReport Example() {
  ProcessReport report;
  report.pid = 4711;
  report.parent = 4710;
  report.program = "/opt/app/bin/pool";
  report.finished = true;
  report.calls = {{"cuMemMap", 1000, 1}, {"cuMemUnmap", 2, 0}};
  Diagnostic diagnostic;
  diagnostic.kind = DiagnosticKind::kDoubleUnmap;
  diagnostic.severity = Severity::kWarning;
  diagnostic.call = "cuMemUnmap";
  diagnostic.call_id = 7;
  diagnostic.history = {{5, "cuMemUnmap unmapped it"}};
  report.diagnostics = {Reported(diagnostic, 3)};
  report.counts = {{DiagnosticKind::kDoubleUnmap, 3}};
  report.failures = {{At("cuMemMap", 0x10), 3, DriverCode::kOutOfMemory, "cuMemMap:3:2"}};
  report.failure_count = 1;
  LiveObjects mappings;
  mappings.kind = DiagnosticKind::kLeakedMapping;
  mappings.place = At("cuMemMap", 0x30);
  mappings.count = 2;
  mappings.size = MiB(4);
  mappings.range = AddressRange{DeviceAddress(0x7f0000200000), MiB(2), Bytes(0)};
  mappings.handle = AllocationHandle(0x100000001);
  report.alive = {mappings};
  return report;
}

TEST(ReportWordsTest, TellAllInWords) {
  const DiagnosticInfo& unmap = InfoOf(DiagnosticKind::kDoubleUnmap);
  const DiagnosticInfo& leak = InfoOf(DiagnosticKind::kLeakedMapping);
  EXPECT_EQ(InWords(Example(), "ended with exit code 0"),
            std::string("twinmmu ") + kVersion +
                std::string(": process 4711, /opt/app/bin/pool, ended with exit code 0\n"
                            "0 errors, 3 warnings, 2 objects left, 1 injected failure, 1002 calls\n"
                            "\n"
                            "What is wrong\n"
                            "-------------\n"
                            "warning: kDoubleUnmap (UNMAP-9) by call 7, cuMemUnmap\n"
                            "  called at: pool+0x20\n") +
                unmap.what + "\n  why it matters: " + unmap.why +
                "\n  what to do: " + unmap.advice +
                "\n"
                "  call 5: cuMemUnmap unmapped it\n"
                "  and 2 more of this kind from there\n"
                "\n"
                "What was left\n"
                "-------------\n"
                "leak: kLeakedMapping, 2 times, 4 MiB\n" +
                leak.what +
                "\n"
                "  made by: cuMemMap at pool+0x30\n"
                "  the first: [0x7f0000200000, +2 MiB], handle 0x100000001\n"
                "  what to do: " +
                leak.advice +
                "\n"
                "\n"
                "Failures that were injected\n"
                "---------------------------\n"
                "cuMemMap, call 3, gave CUDA_ERROR_OUT_OF_MEMORY at pool+0x10\n"
                "\n"
                "Calls\n"
                "-----\n"
                "                 calls    failures\n"
                "cuMemMap          1000           1\n"
                "cuMemUnmap           2           0\n");
}

// The place of a call before stands at its line of the history, unless it is the diagnostic's own.
TEST(ReportWordsTest, TellFromWhereEarlierCallsWereMade) {
  ProcessReport report = Example();
  ReportedDiagnostic& diagnostic = report.diagnostics[0];
  diagnostic.history[5] = At("", 0x44).site;
  diagnostic.history[5].source = "pool.cc:42";
  diagnostic.history[5].function = "cudaFree";
  EXPECT_THAT(
      InWords(report, ""),
      HasSubstr("call 5: cuMemUnmap unmapped it, at pool.cc:42 (pool+0x44), by cudaFree\n"));
  EXPECT_THAT(ToJsonLines(report, ""), HasSubstr("\"source\":\"pool.cc:42\""));
  diagnostic.history[5] = diagnostic.place.site;
  EXPECT_THAT(InWords(report, ""), HasSubstr("call 5: cuMemUnmap unmapped it\n"));
  diagnostic.history[5].function = "cudaFree";
  EXPECT_THAT(InWords(report, ""), HasSubstr("unmapped it, at pool+0x20, by cudaFree\n"))
      << "another call from the same address";
}

// Our runtime is told by the names that the program uses.
TEST(ReportWordsTest, NameWhatTheProgramCalledOfTheRuntime) {
  ProcessReport report = Example();
  report.diagnostics[0].place.site.function = "cudaMemcpyAsync";
  report.alive[0].place.site.function = "cudaMalloc";
  const std::string words = InWords(report, "");
  EXPECT_THAT(words, HasSubstr("called at: pool+0x20, by cudaMemcpyAsync\n"));
  EXPECT_THAT(words, HasSubstr("made by: cudaMalloc at pool+0x30\n"));
  const std::string json = ToJsonLines(report, "");
  EXPECT_THAT(json, HasSubstr("\"function\":\"cudaMemcpyAsync\""));
  EXPECT_THAT(json, HasSubstr("\"function\":\"cudaMalloc\""));
}

// As many of one kind as asked for, each from a place of its own.
ProcessReport Many(DiagnosticKind kind, Severity severity, uint64_t count) {
  ProcessReport report;
  for (uint64_t i = 0; i < count; ++i) {
    Diagnostic diagnostic;
    diagnostic.kind = kind;
    diagnostic.severity = severity;
    diagnostic.call = "cuMemUnmap";
    report.diagnostics.push_back(Reported(diagnostic, 2));
    report.diagnostics.back().place.site.offset = 0x100 + i;
  }
  report.counts = {{kind, 2 * count}};
  return report;
}

TEST(ReportWordsTest, PutErrorsBeforeWarnings) {
  ProcessReport report = Many(DiagnosticKind::kDoubleUnmap, Severity::kWarning, 1);
  const ProcessReport error = Many(DiagnosticKind::kDoubleFree, Severity::kError, 1);
  report.diagnostics.push_back(error.diagnostics[0]);
  const std::string words = InWords(report, "");
  EXPECT_LT(words.find("error: kDoubleFree"), words.find("warning: kDoubleUnmap"));
  EXPECT_THAT(words, HasSubstr("warning: kDoubleUnmap"));
}

TEST(ReportWordsTest, ShowTenOfAKindAndCountTheOthers) {
  const ProcessReport report = Many(DiagnosticKind::kDoubleUnmap, Severity::kWarning, 12);
  const std::string words = InWords(report, "");
  EXPECT_THAT(words, HasSubstr("called at: pool+0x109"));
  EXPECT_THAT(words, Not(HasSubstr("called at: pool+0x10a")));
  EXPECT_THAT(words,
              HasSubstr("kDoubleUnmap: 4 more, from other places. --report-limit=0 shows all."));
}

TEST(ReportWordsTest, ShowAllOfAKindWithLimitZero) {
  const ProcessReport report = Many(DiagnosticKind::kDoubleUnmap, Severity::kWarning, 12);
  EXPECT_THAT(InWords(report, "", 0), HasSubstr("called at: pool+0x10b"));
  EXPECT_THAT(InWords(report, "", 0), Not(HasSubstr("more, from other places")));
}

TEST(ReportWordsTest, ShowTenLeaksOfAKind) {
  ProcessReport report = Example();
  report.alive.assign(11, report.alive[0]);
  EXPECT_THAT(InWords(report, ""), HasSubstr("kLeakedMapping: 2 more, from other places."));
}

TEST(ReportWordsTest, SayFirstAndOnceThatTheRuntimeIsNvidias) {
  ProcessReport report = Many(DiagnosticKind::kRuntimeNeedsGenuineDriver, Severity::kError, 3);
  const std::string words = InWords(report, "");
  EXPECT_THAT(words, HasSubstr("0 calls\nerror: kRuntimeNeedsGenuineDriver: NVIDIA's own"));
  EXPECT_THAT(words, Not(HasSubstr("What is wrong")));
}

// What helps depends on how the program has it.
TEST(ReportWordsTest, SayOfEachFileHowItsRuntimeIsReplaced) {
  ProcessReport report = Many(DiagnosticKind::kRuntimeNeedsGenuineDriver, Severity::kError, 3);
  for (ReportedDiagnostic& diagnostic : report.diagnostics) {
    diagnostic.place.site.module = "/opt/libpool.so";
  }
  report.diagnostics[2].place.site.module = "/opt/server";
  EXPECT_THAT(InWords(report, ""), HasSubstr("It is in libpool.so, server. Link to the shared"));
  EXPECT_THAT(InWords(report, ""), Not(HasSubstr("It was loaded as")));
  report.diagnostics[0].place.site.module = "/opt/lib/libcudart.so.10.2";
  EXPECT_THAT(InWords(report, ""), HasSubstr("It is in libpool.so, server. Link to the shared"));
  EXPECT_THAT(InWords(report, ""), HasSubstr("It was loaded as libcudart.so.10.2. `twinmmu run`"));
  report.diagnostics.resize(1);
  EXPECT_THAT(InWords(report, ""), Not(HasSubstr("It is in ")));
}

TEST(ReportWordsTest, TellInOneParagraphWhatWasAskedForAndNotFound) {
  ProcessReport report;
  report.asked = {{"cuNoSuchCall", 12000, false, 3}, {"cuMemcpyBatchAsync", 12000, true, 1}};
  report.asked_count = 4;
  EXPECT_THAT(
      InWords(report, ""),
      HasSubstr("Asked for and not found, 4 times, with the version asked for: cuNoSuchCall "
                "(12.0), cuMemcpyBatchAsync (12.0; a later version has it).\n"));
  EXPECT_THAT(ToJsonLines(report, ""), HasSubstr("\"function\":\"cuNoSuchCall\",\"version\":12000,"
                                                 "\"later\":false,\"count\":3}"));
}

TEST(ReportWordsTest, ShowTenOfWhatWasAskedFor) {
  ProcessReport report;
  report.asked.assign(12, {"cuNoSuchCall", 12000, false, 1});
  report.asked_count = 12;
  EXPECT_THAT(InWords(report, ""), HasSubstr("cuNoSuchCall (12.0), and 2 more.\n"));
}

TEST(ReportWordsTest, AreShortWhenNothingIsWrong) {
  ProcessReport report;
  report.pid = 1;
  report.program = "/bin/app";
  report.finished = true;
  EXPECT_EQ(InWords(report, ""),
            std::string("twinmmu ") + kVersion +
                ": process 1, /bin/app, ended by itself\n"
                "0 errors, 0 warnings, 0 objects left, 0 injected failures, 0 calls\n");
}

// A process that was killed: what it was doing, and that it could not clean up.
TEST(ReportWordsTest, SayWhatWasRunning) {
  ProcessReport report = Example();
  report.running = {At("cuMemSetAccess", 0x40)};
  EXPECT_THAT(InWords(report, ""), Not(HasSubstr("cuMemSetAccess")));
  report.finished = false;
  EXPECT_THAT(InWords(report, ""), HasSubstr("was killed, or left without its exit handlers"));
  EXPECT_THAT(InWords(report, ""), HasSubstr("cuMemSetAccess at pool+0x40 had not returned."));
  EXPECT_THAT(InWords(report, ""), HasSubstr("perhaps it had no time to clean up"));
}

TEST(ReportWordsTest, SayWhatIsNotThere) {
  ProcessReport report = Example();
  report.lost_objects = 5;
  report.lost_records = 1;
  report.failure_count = 20;
  report.counts[DiagnosticKind::kDoubleUnmap] = 300;
  report.warnings = {"Look out."};
  const std::string words = InWords(report, "");
  EXPECT_THAT(words, HasSubstr("no room for 5 objects"));
  EXPECT_THAT(words, HasSubstr("no room for 1 entry"));
  EXPECT_THAT(words, HasSubstr("and 19 more\n"));
  EXPECT_THAT(words, HasSubstr("kDoubleUnmap: 297 more were noticed"));
  EXPECT_THAT(words, HasSubstr("\nLook out.\n"));
}

TEST(ReportWordsTest, NameAPlaceAsFarAsItIsKnown) {
  Site site;
  EXPECT_EQ(InWords(site), "an unknown place");
  site.address = 0x5555;
  EXPECT_EQ(InWords(site), "0x5555");
  site.module = "/opt/pool.so";
  site.offset = 0x10;
  EXPECT_EQ(InWords(site), "pool.so+0x10");
  site.symbol = "Grow()";
  EXPECT_EQ(InWords(site), "Grow() (pool.so+0x10)");
  site.source = "pool.cc:12";
  EXPECT_EQ(InWords(site), "pool.cc:12, Grow() (pool.so+0x10)");
}

// What the simulator refuses today's driver lets pass: it counts as it was answered.
TEST(ReportWordsTest, CountByTheSeverityThatWasReported) {
  ProcessReport report = Example();
  report.diagnostics[0].severity = Severity::kError;
  EXPECT_EQ(TotalsOf(report).errors, 3u);
  EXPECT_EQ(TotalsOf(report).warnings, 0u);
  report.diagnostics.clear();  // only counted
  EXPECT_EQ(TotalsOf(report).warnings, 3u);
  report.warnings = {"Look out."};
  EXPECT_EQ(TotalsOf(report).warnings, 4u);
  EXPECT_EQ(TotalsOf(report).alive, 2u);
  EXPECT_EQ(TotalsOf(report).injected, 1u);
}

TEST(ReportWordsTest, TellAllAsJsonLines) {
  ProcessReport report = Example();
  report.running = {At("cuMemSetAccess", 0x40)};
  report.warnings = {"Look out."};
  std::vector<nlohmann::json> lines;
  std::istringstream text(ToJsonLines(report, "ended with exit code 0"));
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  const auto site = [](const char* offset) {
    return nlohmann::json{{"module", "/opt/app/bin/pool"}, {"offset", offset}};
  };
  ASSERT_EQ(lines.size(), 9u);
  EXPECT_EQ(lines[0], (nlohmann::json{{"type", "process"},
                                      {"pid", 4711},
                                      {"version", kVersion},
                                      {"parent", 4710},
                                      {"program", "/opt/app/bin/pool"},
                                      {"ended", "ended with exit code 0"},
                                      {"finished", true},
                                      {"errors", 0},
                                      {"warnings", 4},
                                      {"left", 2},
                                      {"injected", 1}}));
  EXPECT_EQ(lines[1]["type"], "diagnostic");
  EXPECT_EQ(lines[1]["kind"], "kDoubleUnmap");
  EXPECT_EQ(lines[1]["severity"], "warning");
  EXPECT_EQ(lines[1]["count"], 3);
  EXPECT_EQ(lines[1]["site"], site("0x20"));
  EXPECT_EQ(lines[1]["history"][0]["call"], 5);
  EXPECT_EQ(
      lines[2],
      (nlohmann::json{{"type", "count"}, {"pid", 4711}, {"kind", "kDoubleUnmap"}, {"count", 3}}));
  EXPECT_EQ(lines[3], (nlohmann::json{{"type", "warning"}, {"pid", 4711}, {"words", "Look out."}}));
  EXPECT_EQ(lines[4]["type"], "leak");
  EXPECT_EQ(lines[4]["kind"], "kLeakedMapping");
  EXPECT_EQ(lines[4]["count"], 2);
  EXPECT_EQ(lines[4]["size"], 4194304);
  EXPECT_EQ(lines[4]["base"], "0x7f0000200000");
  EXPECT_EQ(lines[4]["handle"], "0x100000001");
  EXPECT_EQ(lines[4]["call"], "cuMemMap");
  EXPECT_EQ(lines[4]["site"], site("0x30"));
  EXPECT_EQ(lines[5]["type"], "running");
  EXPECT_EQ(lines[6]["type"], "injected");
  EXPECT_EQ(lines[6]["code"], "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(lines[7], (nlohmann::json{{"type", "calls"},
                                      {"pid", 4711},
                                      {"call", "cuMemMap"},
                                      {"calls", 1000},
                                      {"failures", 1}}));
}

// Memory whose handle the program has taken from an address says where, too.
TEST(ReportWordsTest, TellWhereAHandleWasRetained) {
  ProcessReport report = Example();
  const auto leak = [&] {
    std::istringstream text(ToJsonLines(report, "ended with exit code 0"));
    for (std::string line; std::getline(text, line);) {
      const nlohmann::json fields = nlohmann::json::parse(line);
      if (fields["type"] == "leak") return fields;
    }
    return nlohmann::json();
  };
  EXPECT_EQ(leak().count("retained"), 0u);
  report.alive[0].retained = At("cuMemRetainAllocationHandle", 0x50);
  EXPECT_EQ(leak()["retained"],
            (nlohmann::json{{"module", "/opt/app/bin/pool"}, {"offset", "0x50"}}));
}

}  // namespace
}  // namespace twinmmu::libcuda
