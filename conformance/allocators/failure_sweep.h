// Failure of each driver call in turn: what an operation leaves behind.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_FAILURE_SWEEP_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_FAILURE_SWEEP_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "api/testing/fault_plan.h"

namespace twinmmu::conformance {

// Repeats a scenario, each time with other calls of its operation that fail.
class FailureSweep {
 public:
  // `faults`, which the calls of the operation ask, must outlive this object.
  explicit FailureSweep(FaultPlan* faults) : faults_(*faults) {}

  // Runs `scenario` again and again, until a check of the test fails. It calls WithFailure once,
  // where the first driver call fails in the first run, the second in the second, until there is
  // none left. Expects that there is at least one.
  void FailEachCall(const std::function<void()>& scenario);
  // Likewise for each two of the calls, the second of which often is one that undoes what the first
  // left.
  void FailEachTwoCalls(const std::function<void()>& scenario);

  // What the operation gives. Expects that it is the error of a call that failed on purpose, or
  // none; none where no call failed.
  absl::Status WithFailure(const std::function<absl::Status()>& operation);

 private:
  // With these calls. True if all of them were made, and the test goes well.
  bool Run(const std::function<void()>& scenario, const std::vector<uint64_t>& calls);

  FaultPlan& faults_;
  std::vector<uint64_t> calls_;  // that fail, by their numbers
  uint64_t fired_ = 0;
};

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

// Likewise for each two of its calls. Of the state it expects only that it agrees with the driver.
void FailEachTwoCalls(FaultPlan& faults, const std::function<Subject()>& make);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_FAILURE_SWEEP_H_
