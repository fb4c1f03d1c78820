// Failure of each driver call in turn: what an operation leaves behind.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_FAILURE_SWEEP_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_FAILURE_SWEEP_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "api/testing/fault_plan.h"

namespace twinmmu::conformance {

// A pool or a buffer in some state, and what is to be done to it.
struct Subject {
  // Its calls ask the plan of the sweep first.
  std::function<absl::Status()> operation;
  // All that a user can see of it, in words; expects that it agrees with what the driver says.
  std::function<std::string()> state;
  // Returns everything.
  std::function<absl::Status()> close;
  // An error of the operation leaves the state as it was.
  bool all_or_nothing = true;
};

// Makes a subject for each driver call of its operation, and lets this call fail. Expects that the
// operation, unless it succeeds all the same, gives the driver's error, and leaves the state as it
// was if it is all or nothing; that it then succeeds, and so does the end.
void FailEachCall(FaultPlan& faults, const std::function<Subject()>& make);

// Likewise for each two of its calls, the second of which often is one that undoes what the first
// left. Of the state it expects only that it agrees with the driver.
void FailEachTwoCalls(FaultPlan& faults, const std::function<Subject()>& make);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_FAILURE_SWEEP_H_
