// FaultPlan: which driver calls fail, and how. FaultInjectingVmm and FaultInjectingExecutor consult
// it before each call; several may share one plan.
//
//   FaultPlan faults;
//   FaultInjectingVmm vmm(real_vmm, &faults);
//   faults.FailNth(2, DriverCode::kOutOfMemory, {DriverCall::kCreate});
//
// To see what an operation does when any of its calls fails, fail each in turn until none is left:
//
//   for (uint64_t n = 1;; ++n) {
//     faults.Clear();
//     faults.FailNth(n, DriverCode::kOutOfMemory);
// ... // the operation; it fails and changes nothing
// if (faults.fired() == 0) break; // it made fewer than n calls: each has failed once
//   }
//
// docs/guide/testing.md has whole examples.

#ifndef TWINMMU_API_TESTING_FAULT_PLAN_H_
#define TWINMMU_API_TESTING_FAULT_PLAN_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "api/driver_call.h"
#include "api/driver_error.h"

namespace twinmmu {

// A list of rules. Each names the kinds of calls it applies to; none means all kinds, including
// queries and calls that undo something. A rule counts the calls of its kinds from 1, starting with
// the first after it was added. Every rule counts every call, even one that another rule fails; if
// several would fail the same call, the first one added does. Thread-safe.
class FaultPlan {
 public:
  // Call `n` of `calls` fails, once. 0: none.
  void FailNth(uint64_t n, DriverCode code, std::vector<DriverCall> calls = {});
  // Calls k, 2k, 3k, ... of `calls` fail: all if k = 1. 0: none.
  void FailEvery(uint64_t k, DriverCode code, std::vector<DriverCall> calls = {});
  // Each call of `calls` fails with this probability: none at 0 or less, all at 1 or more. Which
  // ones depends only on the seed and the order of the calls.
  void FailRandomly(double probability, uint64_t seed, DriverCode code,
                    std::vector<DriverCall> calls = {});

  // Forgets all rules, and counts from 0 again.
  void Clear();

  // How many calls were checked, and how many of them failed, since the start or the last Clear.
  uint64_t asked() const;
  uint64_t fired() const;

  // For wrappers, before they make a call: OK, or the error to return instead. It has the driver's
  // name of the call and the rule's code, comes from ErrorOrigin::kInjected, and its message names
  // the rule and the call. A rule with kSuccess fails nothing.
  absl::Status Ask(DriverCall call);

 private:
  struct Rule {
    std::string text;  // as it was added: "FailNth(2) of cuMemCreate"
    DriverCode code = DriverCode::kUnknown;
    std::vector<DriverCall> calls;
    std::function<bool(uint64_t)> fails;  // takes the number of a call
    uint64_t counted = 0;
  };

  void Add(absl::string_view name, DriverCode code, std::vector<DriverCall> calls,
           std::function<bool(uint64_t)> fails);

  mutable std::mutex mutex_;
  std::vector<Rule> rules_;
  uint64_t asked_ = 0;
  uint64_t fired_ = 0;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_FAULT_PLAN_H_
