// How a conformance test is written and found.
//
//   CONFORMANCE_TEST(MappedTest, MAP_5, RefusesWhatIsMapped) {
//     ExpectRefused(DriverCode::kInvalidValue, reservation(),
//                   [&] { return vmm().Map(mapping(), handle()); });
//   }
//
// The first argument is a fixture of conformance/fixtures/, the second the rule that the test can
// break. Tests are compiled once and instantiated at run time for each target, as GoogleTest tests
// named
// "<target>/<call>.<rule>_<name>".

#ifndef TWINMMU_CONFORMANCE_FRAMEWORK_REGISTRY_H_
#define TWINMMU_CONFORMANCE_FRAMEWORK_REGISTRY_H_

#include <string>
#include <vector>

#include "conformance/framework/target_under_test.h"
#include "conformance/rules/rules.h"

namespace twinmmu::conformance {

struct Case {
  Rule rule;
  const char* name;
  const char* file;
  int line;
  TargetTest* (*make)();
};

// All tests that are linked in, ordered by rule.
const std::vector<Case>& AllCases();

// Gives every case to GoogleTest for `target`, which must outlive the test run.
void RegisterWithGoogleTest(TargetUnderTest* target);
// Gives it one case, in a suite of this name.
void RegisterWithGoogleTest(const Case& test_case, const std::string& suite,
                            TargetUnderTest* target);

// Called by CONFORMANCE_TEST before main(); returns true.
bool AddCase(const Case& test_case);

// The same, and a symbol for each rule that has a test, which catalogue.cc refers to: a rule that
// no test has does not link. `RuleName` is a type of tested_rules.
template <typename RuleName>
__attribute__((used)) bool AddCaseOf(const Case& test_case) {
  return AddCase(test_case);
}

}  // namespace twinmmu::conformance

// To be used inside namespace twinmmu::conformance.
#define CONFORMANCE_TEST(Fixture, rule_id, Name)                                                  \
  namespace tested_rules {                                                                        \
  struct rule_id;                                                                                 \
  }                                                                                               \
  class rule_id##_##Name : public Fixture {                                                       \
   private:                                                                                       \
    void TestBody() override;                                                                     \
    static const bool kAdded;                                                                     \
  };                                                                                              \
  const bool rule_id##_##Name::kAdded =                                                           \
      AddCaseOf<tested_rules::rule_id>({Rule::rule_id, #rule_id "_" #Name, __FILE__, __LINE__,    \
                                        []() -> TargetTest* { return new rule_id##_##Name(); }}); \
  void rule_id##_##Name::TestBody()

#endif  // TWINMMU_CONFORMANCE_FRAMEWORK_REGISTRY_H_
