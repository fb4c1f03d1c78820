// FailEachCall: what an operation does when any one of its calls of the driver fails.

#ifndef TWINMMU_TOOLS_EXAMPLES_ALLOCATORS_FAIL_EACH_CALL_H_
#define TWINMMU_TOOLS_EXAMPLES_ALLOCATORS_FAIL_EACH_CALL_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "api/driver_error.h"
#include "api/testing/fault_plan.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::examples {

// Makes `operation`, whose calls `faults` is asked about, again and again: its first call fails,
// then its second, until it succeeds since it has fewer. Each time but the last it must return that
// error, and `expect_unchanged` must find all as it was.
inline void FailEachCall(FaultPlan& faults, const std::function<absl::Status()>& operation,
                         const std::function<void()>& expect_unchanged) {
  for (uint64_t n = 1;; ++n) {
    SCOPED_TRACE(testing::Message() << "call " << n << " fails");
    faults.Clear();
    // No code that a driver gives for the mistakes that are looked for, and not out of memory, at
    // which an allocator may try again.
    faults.FailNth(n, DriverCode::kOperatingSystem);
    const absl::Status status = operation();
    const bool failed = faults.fired() != 0;
    faults.Clear();
    if (!failed) {
      EXPECT_THAT(status, IsOk());
      EXPECT_GT(n, 1) << "the operation made no call that could fail";
      return;
    }
    ASSERT_THAT(status, HasDriverCode(DriverCode::kOperatingSystem));
    expect_unchanged();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace twinmmu::examples

#endif  // TWINMMU_TOOLS_EXAMPLES_ALLOCATORS_FAIL_EACH_CALL_H_
