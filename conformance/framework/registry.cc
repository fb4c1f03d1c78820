#include "conformance/framework/registry.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

std::vector<Case>& MutableCases() {
  static auto* const cases = new std::vector<Case>();
  return *cases;
}

}  // namespace

bool AddCase(const Case& test_case) {
  std::vector<Case>& cases = MutableCases();
  const auto behind =
      std::upper_bound(cases.begin(), cases.end(), test_case,
                       [](const Case& a, const Case& b) { return a.rule < b.rule; });
  cases.insert(behind, test_case);
  return true;
}

const std::vector<Case>& AllCases() { return MutableCases(); }

void RegisterWithGoogleTest(const Case& test_case, const std::string& suite,
                            TargetUnderTest* target) {
  ::testing::RegisterTest(suite.c_str(), test_case.name, nullptr, nullptr, test_case.file,
                          test_case.line, [target, make = test_case.make]() -> TargetTest* {
                            TargetTest* test = make();
                            test->set_target(target);
                            return test;
                          });
}

void RegisterWithGoogleTest(TargetUnderTest* target) {
  for (const Case& test_case : AllCases()) {
    const std::string suite = absl::StrCat(target->name(), "/", GetRule(test_case.rule).call);
    RegisterWithGoogleTest(test_case, suite, target);
  }
}

}  // namespace twinmmu::conformance
