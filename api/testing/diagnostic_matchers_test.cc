// The matchers for diagnostics: what they match, and what they say when they do not.

#include "api/testing/diagnostic_matchers.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::AllOf;
using ::testing::DescribeMatcher;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StringMatchResultListener;

constexpr AddressRange kRange{DeviceAddress(0x200000), MiB(2), Bytes(0)};

Diagnostic Example() {
  Diagnostic diagnostic;
  diagnostic.kind = DiagnosticKind::kDoubleUnmap;
  diagnostic.severity = Severity::kWarning;
  diagnostic.call = "cuMemUnmap";
  diagnostic.call_id = 7;
  diagnostic.range = kRange;
  diagnostic.handle = AllocationHandle(5);
  diagnostic.device = DeviceOrdinal(1);
  diagnostic.message = "unmapped by call 5";
  diagnostic.history = {{5, "cuMemUnmap unmapped it"}};
  return diagnostic;
}

TEST(DiagnosticMatchersTest, MatchWhatIsThere) {
  EXPECT_THAT(
      Example(),
      AllOf(IsDiagnostic(DiagnosticKind::kDoubleUnmap), DiagnosticSeverityIs(Severity::kWarning),
            DiagnosticRuleIs("UNMAP-9"), DiagnosticCallIs("cuMemUnmap"), DiagnosticCallIdIs(7u),
            DiagnosticCallIdIs(Gt(6u)), DiagnosticRangeIs(kRange),
            DiagnosticHandleIs(AllocationHandle(5)), DiagnosticDeviceIs(DeviceOrdinal(1)),
            DiagnosticMessageIs(HasSubstr("call 5")),
            DiagnosticHistoryIs(ElementsAre(HistoryEntryIs(5u, HasSubstr("unmapped"))))));
}

TEST(DiagnosticMatchersTest, DoNotMatchWhatIsNot) {
  EXPECT_THAT(
      Example(),
      AllOf(Not(IsDiagnostic(DiagnosticKind::kUnmapOfNothing)),
            Not(DiagnosticSeverityIs(Severity::kError)), Not(DiagnosticRuleIs("UNMAP-8")),
            Not(DiagnosticCallIs("cuMemMap")), Not(DiagnosticCallIdIs(8u)),
            Not(DiagnosticRangeIs(AddressRange())), Not(DiagnosticHandleIs(AllocationHandle(6))),
            Not(DiagnosticDeviceIs(DeviceOrdinal(0))), Not(DiagnosticMessageIs("call 5")),
            Not(DiagnosticHistoryIs(IsEmpty())),
            Not(DiagnosticHistoryIs(ElementsAre(HistoryEntryIs(6u, HasSubstr("unmapped"))))),
            Not(DiagnosticHistoryIs(ElementsAre(HistoryEntryIs(5u, "mapped"))))));
}

// What a diagnostic has not got matches nothing.
TEST(DiagnosticMatchersTest, DoNotMatchWhatIsAbsent) {
  EXPECT_THAT(Diagnostic(), AllOf(Not(DiagnosticRangeIs(AddressRange())),
                                  Not(DiagnosticHandleIs(AllocationHandle())),
                                  Not(DiagnosticDeviceIs(DeviceOrdinal()))));
}

// A failing match names kinds by name, and shows the whole diagnostic.
TEST(DiagnosticMatchersTest, SayWhatTheyFound) {
  const std::vector<Diagnostic> diagnostics = {Example()};
  const auto expected = ElementsAre(IsDiagnostic(DiagnosticKind::kDoubleFree));
  StringMatchResultListener listener;
  EXPECT_FALSE(testing::ExplainMatchResult(expected, diagnostics, &listener));
  EXPECT_THAT(listener.str(), HasSubstr("which is kDoubleUnmap"));
  EXPECT_THAT(DescribeMatcher<std::vector<Diagnostic>>(expected), HasSubstr("is kDoubleFree"));
  EXPECT_THAT(testing::PrintToString(diagnostics), HasSubstr("what to do: Unmap once"));
}

}  // namespace
}  // namespace twinmmu
