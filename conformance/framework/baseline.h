// A baseline: the verdicts that a site expects of its own machine, one line of text for each rule.
//
//   cuda MAP-10 as observed

#ifndef TWINMMU_CONFORMANCE_FRAMEWORK_BASELINE_H_
#define TWINMMU_CONFORMANCE_FRAMEWORK_BASELINE_H_

#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "conformance/framework/verdicts.h"

namespace twinmmu::conformance {

// Rules that did not run are left out.
void WriteBaseline(const std::vector<Column>& columns, std::ostream& out);

// One sentence for each verdict that is not as the baseline says, for each rule that it does not
// know, and for each of its lines that cannot be read. Targets and rules that did not run are not
// compared.
std::vector<std::string> CompareWithBaseline(const std::vector<Column>& columns,
                                             std::istream& baseline);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_FRAMEWORK_BASELINE_H_
