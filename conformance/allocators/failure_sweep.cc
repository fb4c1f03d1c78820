#include "conformance/allocators/failure_sweep.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/driver_error.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

void ExpectInjected(const absl::Status& status) {
  EXPECT_THAT(status, HasDriverCode(DriverCode::kUnknown));
  EXPECT_EQ(GetDriverError(status).value_or(DriverError()).origin, ErrorOrigin::kInjected)
      << status;
}

// The calls of these numbers fail. True if all of them were made.
bool FailCalls(FaultPlan& faults, const Subject& subject, const std::vector<uint64_t>& numbers) {
  const std::string before = subject.state();
  faults.Clear();
  for (const uint64_t number : numbers) faults.FailNth(number, DriverCode::kUnknown);
  const absl::Status status = subject.operation();
  const uint64_t fired = faults.fired();
  faults.Clear();
  if (fired == 0) {
    EXPECT_THAT(status, IsOk());
  }
  if (!status.ok()) ExpectInjected(status);

  const std::string after = subject.state();
  const bool as_before = !status.ok() && numbers.size() == 1 && subject.all_or_nothing;
  if (as_before) {
    EXPECT_EQ(after, before) << "after " << status;
  }
  if (!status.ok()) {
    EXPECT_THAT(subject.operation(), IsOk()) << "again, after " << status;
  }
  subject.state();
  EXPECT_THAT(subject.close(), IsOk());
  return fired == numbers.size();
}

}  // namespace

void FailEachCall(FaultPlan& faults, const std::function<Subject()>& make) {
  for (uint64_t n = 1;; ++n) {
    SCOPED_TRACE(absl::StrCat("call ", n, " fails"));
    if (!FailCalls(faults, make(), {n})) {
      EXPECT_GT(n, 1) << "the operation makes no call";
      return;
    }
    if (testing::Test::HasFailure()) return;
  }
}

void FailEachTwoCalls(FaultPlan& faults, const std::function<Subject()>& make) {
  for (uint64_t first = 1;; ++first) {
    for (uint64_t second = first + 1;; ++second) {
      SCOPED_TRACE(absl::StrCat("calls ", first, " and ", second, " fail"));
      const bool both = FailCalls(faults, make(), {first, second});
      if (testing::Test::HasFailure()) return;
      if (both) continue;
      // Without a second call that could fail, was there a first one?
      if (second == first + 1 && !FailCalls(faults, make(), {first})) return;
      break;
    }
  }
}

}  // namespace twinmmu::conformance
