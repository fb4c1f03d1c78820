// A rule that no test covers does not link: "undefined reference to bool
// twinmmu::conformance::AddCaseOf<twinmmu::conformance::tested_rules::MAP_3>(...)" means that
// rules.inc has a rule MAP-3 and no CONFORMANCE_TEST names it.

#include "conformance/catalogue.h"

namespace twinmmu::conformance {

// Defined in registry.h, which must not be included here.
struct Case;
template <typename RuleName>
bool AddCaseOf(const Case& test_case);

namespace tested_rules {
#define TWINMMU_RULE(id, kind, call, sentence, source) struct id;
#include "conformance/rules/rules.inc"
#undef TWINMMU_RULE
}  // namespace tested_rules

int CountTestedRules() {
  bool (*const tested[])(const Case&) = {
#define TWINMMU_RULE(id, kind, call, sentence, source) &AddCaseOf<tested_rules::id>,
#include "conformance/rules/rules.inc"
#undef TWINMMU_RULE
  };
  int count = 0;
  for (bool (*rule)(const Case&) : tested) count += rule != nullptr ? 1 : 0;
  return count;
}

}  // namespace twinmmu::conformance
