// A rule that no test covers does not link: "undefined reference to
// twinmmu::conformance::tested_rules::MAP_3()" means that rules.inc has a rule MAP-3 and no
// CONFORMANCE_TEST names it.

#include "conformance/catalogue.h"

namespace twinmmu::conformance {

namespace tested_rules {
#define TWINMMU_RULE(id, kind, call, sentence, source) void id();
#include "conformance/rules.inc"
#undef TWINMMU_RULE
}  // namespace tested_rules

int CountTestedRules() {
  void (*const tested[])() = {
#define TWINMMU_RULE(id, kind, call, sentence, source) &tested_rules::id,
#include "conformance/rules.inc"
#undef TWINMMU_RULE
  };
  int count = 0;
  for (void (*rule)() : tested) count += rule != nullptr ? 1 : 0;
  return count;
}

}  // namespace twinmmu::conformance
