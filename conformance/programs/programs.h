// The deviations as programs: for each one of deviations.inc the smallest program that shows it.
//
// A program says in words what it saw. Those words differ between an implementation that keeps the
// rule and one that deviates, and both are written down here. docs/reference/observations.md shows
// the text of each program as it is compiled, and `twinmmu deviations` runs them.

#ifndef TWINMMU_CONFORMANCE_PROGRAMS_PROGRAMS_H_
#define TWINMMU_CONFORMANCE_PROGRAMS_PROGRAMS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "api/driver.h"
#include "conformance/rules/rules.h"

namespace twinmmu::conformance {

struct DeviationProgram {
  Deviation deviation;
  std::string by_rule;    // what it says of an implementation that keeps the rule
  std::string deviating;  // what it says of one that deviates
  std::string text;       // its lines, as they are compiled
  std::string (*run)(Vmm& vmm, Executor& executor, Bytes granule);
};

// One for each deviation, in the order of deviations.inc.
absl::Span<const DeviationProgram> AllPrograms();

// What the program says. It cleans nothing up: give it a driver that ends after it, in a process
// that does not matter. An error: a call failed that has nothing to do with the deviation.
absl::StatusOr<std::string> RunProgram(const DeviationProgram& program, Driver& driver);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_PROGRAMS_PROGRAMS_H_
