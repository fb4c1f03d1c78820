// The words of diagnostics: every kind has all of them; as text and as JSON.

#include "api/diagnostics.h"

#include <fstream>
#include <sstream>
#include <string>

#include "api/diagnostics_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace twinmmu {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

Diagnostic Example() {
  Diagnostic diagnostic;
  diagnostic.kind = DiagnosticKind::kDoubleUnmap;
  diagnostic.severity = Severity::kWarning;
  diagnostic.call = "cuMemUnmap";
  diagnostic.call_id = 7;
  diagnostic.range = AddressRange{DeviceAddress(0x7f0000200000), MiB(2), Bytes(0)};
  diagnostic.message = "it was unmapped by call 5";
  diagnostic.history = {{3, "cuMemMap mapped it"}, {5, "cuMemUnmap unmapped it"}};
  return diagnostic;
}

// Each kind is an entry of its own, and says what, why and what to do, in sentences.
TEST(DiagnosticsTest, HaveWordsForEveryKind) {
  int next = 0;
  for (const DiagnosticInfo& info : AllDiagnostics()) {
    SCOPED_TRACE(info.name);
    EXPECT_EQ(info.kind, static_cast<DiagnosticKind>(next++));
    EXPECT_EQ(&InfoOf(info.kind), &info);
    EXPECT_THAT(info.name, MatchesRegex("k[A-Z][A-Za-z]+"));
    EXPECT_THAT(std::string(info.rule), AnyOf(IsEmpty(), MatchesRegex("[A-Z]+-[0-9]+")));
    for (const std::string sentence : {info.what, info.why, info.advice}) {
      EXPECT_THAT(sentence, MatchesRegex("[A-Z].*\\."));
    }
  }
}

// docs/reference/diagnostics.md has a line for each kind, as it is here, and no other.
TEST(DiagnosticsTest, AreInTheTableOfTheDocument) {
  std::string expected;
  for (const DiagnosticInfo& info : AllDiagnostics()) {
    const std::string rule = info.rule;
    expected += std::string("| ") + info.name + " | " + rule + (rule.empty() ? "| " : " | ") +
                ToString(info.severity) + " | " + info.what + " |\n";
  }
  std::ifstream document("docs/reference/diagnostics.md");
  std::string found;
  for (std::string line; std::getline(document, line);) {
    if (line.compare(0, 3, "| k") == 0 && line.compare(0, 6, "| kind") != 0) found += line + "\n";
  }
  EXPECT_EQ(found, expected);
}

// A number that is no kind has words too.
TEST(DiagnosticsTest, TakeAnyKind) {
  Diagnostic diagnostic;
  diagnostic.kind = static_cast<DiagnosticKind>(12345);
  EXPECT_THAT(ToString(diagnostic), HasSubstr("error: unknown\n"));
  EXPECT_EQ(ToString(static_cast<Severity>(7)), "severity 7");
}

TEST(DiagnosticsTest, AreReadAsText) {
  std::ostringstream text;
  text << Example();
  EXPECT_EQ(text.str(),
            "warning: kDoubleUnmap (UNMAP-9) by call 7, cuMemUnmap, of [0x7f0000200000, +2 MiB]\n"
            "A range was unmapped a second time.\n"
            "  here: it was unmapped by call 5\n"
            "  why it matters: Today's driver reports success. If the range is in use again by "
            "then, the new mapping is removed.\n"
            "  what to do: Unmap once, where the mapping is owned.\n"
            "  call 3: cuMemMap mapped it\n"
            "  call 5: cuMemUnmap unmapped it\n");
}

TEST(DiagnosticsTest, NameHandleAndDevice) {
  Diagnostic diagnostic;
  diagnostic.kind = DiagnosticKind::kDoubleRelease;
  diagnostic.call = "cuMemRelease";
  diagnostic.handle = AllocationHandle(0x100000001);
  diagnostic.device = DeviceOrdinal(1);
  EXPECT_EQ(Headline(diagnostic),
            "kDoubleRelease (REL-4), cuMemRelease, handle 0x100000001, device 1");
}

TEST(DiagnosticsTest, AreJson) {
  const nlohmann::json json = nlohmann::json::parse(ToJson(Example()));
  const DiagnosticInfo& info = InfoOf(DiagnosticKind::kDoubleUnmap);
  EXPECT_EQ(json, (nlohmann::json{{"kind", "kDoubleUnmap"},
                                  {"severity", "warning"},
                                  {"rule", "UNMAP-9"},
                                  {"call", "cuMemUnmap"},
                                  {"number", 7},
                                  {"base", "0x7f0000200000"},
                                  {"size", 2097152},
                                  {"what", info.what},
                                  {"message", "it was unmapped by call 5"},
                                  {"why", info.why},
                                  {"advice", info.advice},
                                  {"history",
                                   {{{"call", 3}, {"sentence", "cuMemMap mapped it"}},
                                    {{"call", 5}, {"sentence", "cuMemUnmap unmapped it"}}}}}));
}

// Handle and device are there when they apply; text that is no UTF-8 does no harm.
TEST(DiagnosticsTest, AreJsonWhateverTheyHold) {
  Diagnostic diagnostic;
  diagnostic.handle = AllocationHandle(0x2a);
  diagnostic.device = DeviceOrdinal(3);
  diagnostic.message = "\xff";
  const nlohmann::json json = nlohmann::json::parse(ToJson(diagnostic));
  EXPECT_EQ(json["handle"], "0x2a");
  EXPECT_EQ(json["device"], 3);
  EXPECT_FALSE(json.contains("base"));
  EXPECT_THAT(ToJson(diagnostic), Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace twinmmu
