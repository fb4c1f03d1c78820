// GoogleMock matchers for diagnostics.
//
//   EXPECT_THAT(simulator.diagnostics(), IsEmpty());
//   EXPECT_THAT(simulator.diagnostics(), ElementsAre(IsDiagnostic(DiagnosticKind::kDoubleUnmap)));
//   EXPECT_THAT(simulator.leaks(), Contains(AllOf(IsDiagnostic(DiagnosticKind::kLeakedMapping),
//                                                 DiagnosticRangeIs(range))));
//   EXPECT_THAT(diagnostic, DiagnosticHistoryIs(ElementsAre(HistoryEntryIs(2,
//   HasSubstr("mapped")))));
//
// A failing match prints the whole diagnostic.

#ifndef TWINMMU_API_TESTING_DIAGNOSTIC_MATCHERS_H_
#define TWINMMU_API_TESTING_DIAGNOSTIC_MATCHERS_H_

#include <string>
#include <vector>

#include "api/diagnostics.h"
#include "api/testing/googletest.h"

namespace twinmmu {

MATCHER_P(IsDiagnostic, kind, std::string(negation ? "is not " : "is ") + ToString(kind)) {
  *result_listener << "which is " << arg.kind;
  return arg.kind == kind;
}

MATCHER_P(DiagnosticSeverityIs, severity,
          std::string(negation ? "is not of severity " : "is of severity ") + ToString(severity)) {
  *result_listener << "which is of severity " << arg.severity;
  return arg.severity == severity;
}

// The following take a value or a matcher.
MATCHER_P(DiagnosticRuleIs, rule,
          "has a rule that " + testing::DescribeMatcher<const std::string&>(rule, negation)) {
  return testing::ExplainMatchResult(rule, std::string(arg.rule()), result_listener);
}

// The driver's name of the call: "cuMemUnmap".
MATCHER_P(DiagnosticCallIs, call,
          "was made by a call that " +
              testing::DescribeMatcher<const std::string&>(call, negation)) {
  return testing::ExplainMatchResult(call, arg.call, result_listener);
}

MATCHER_P(DiagnosticCallIdIs, call_id,
          "was made by a call whose id " + testing::DescribeMatcher<uint64_t>(call_id, negation)) {
  return testing::ExplainMatchResult(call_id, arg.call_id, result_listener);
}

MATCHER_P(DiagnosticRangeIs, range,
          "has a range that " + testing::DescribeMatcher<const AddressRange&>(range, negation)) {
  if (!arg.range.has_value()) {
    *result_listener << "which has no range";
    return false;
  }
  return testing::ExplainMatchResult(range, *arg.range, result_listener);
}

MATCHER_P(DiagnosticHandleIs, handle,
          "has a handle that " + testing::DescribeMatcher<AllocationHandle>(handle, negation)) {
  if (!arg.handle.has_value()) {
    *result_listener << "which has no handle";
    return false;
  }
  return testing::ExplainMatchResult(handle, *arg.handle, result_listener);
}

MATCHER_P(DiagnosticDeviceIs, device,
          "has a device that " + testing::DescribeMatcher<DeviceOrdinal>(device, negation)) {
  if (!arg.device.has_value()) {
    *result_listener << "which has no device";
    return false;
  }
  return testing::ExplainMatchResult(device, *arg.device, result_listener);
}

MATCHER_P(DiagnosticMessageIs, message,
          "has a message that " + testing::DescribeMatcher<const std::string&>(message, negation)) {
  return testing::ExplainMatchResult(message, arg.message, result_listener);
}

MATCHER_P(DiagnosticHistoryIs, history,
          "has a history that " +
              testing::DescribeMatcher<const std::vector<HistoryEntry>&>(history, negation)) {
  return testing::ExplainMatchResult(history, arg.history, result_listener);
}

MATCHER_P2(HistoryEntryIs, call, sentence,
           "is of a call whose id " + testing::DescribeMatcher<uint64_t>(call, negation) +
               (negation ? " or" : " and") + " has a sentence that " +
               testing::DescribeMatcher<const std::string&>(sentence, negation)) {
  return testing::ExplainMatchResult(call, arg.call, result_listener) &&
         testing::ExplainMatchResult(sentence, arg.sentence, result_listener);
}

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_DIAGNOSTIC_MATCHERS_H_
