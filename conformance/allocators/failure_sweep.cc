#include "conformance/allocators/failure_sweep.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/driver_error.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

// One run, in which WithFailure lets calls fail.
void Check(FailureSweep& sweep, const Subject& subject, bool all_or_nothing) {
  const std::string before = subject.state();
  const absl::Status status = sweep.WithFailure(subject.operation);
  const std::string after = subject.state();
  if (!status.ok() && all_or_nothing) {
    EXPECT_EQ(after, before) << "after " << status;
  }
  if (!status.ok()) {
    EXPECT_THAT(subject.operation(), IsOk()) << "again, after " << status;
  }
  subject.state();
  EXPECT_THAT(subject.close(), IsOk());
}

}  // namespace

void FailureSweep::FailEachCall(const std::function<void()>& scenario) {
  uint64_t n = 1;
  while (Run(scenario, {n})) ++n;
  if (testing::Test::HasFailure()) return;
  EXPECT_GT(n, 1) << "the operation makes no call";
}

void FailureSweep::FailEachTwoCalls(const std::function<void()>& scenario) {
  for (uint64_t first = 1;; ++first) {
    uint64_t second = first + 1;
    while (Run(scenario, {first, second})) ++second;
    if (testing::Test::HasFailure()) return;
    // Without a second call that could fail, was there a first one?
    if (second == first + 1 && !Run(scenario, {first})) return;
  }
}

bool FailureSweep::Run(const std::function<void()>& scenario, const std::vector<uint64_t>& calls) {
  SCOPED_TRACE(absl::StrCat("failing calls: ", absl::StrJoin(calls, ", ")));
  calls_ = calls;
  fired_ = 0;
  scenario();
  return fired_ == calls.size() && !testing::Test::HasFailure();
}

absl::Status FailureSweep::WithFailure(const std::function<absl::Status()>& operation) {
  faults_.Clear();
  for (const uint64_t call : calls_) faults_.FailNth(call, DriverCode::kUnknown);
  absl::Status status = operation();
  fired_ = faults_.fired();
  faults_.Clear();
  if (fired_ == 0) {
    EXPECT_THAT(status, IsOk());
  }
  if (!status.ok()) {
    EXPECT_THAT(status, HasDriverCode(DriverCode::kUnknown));
    EXPECT_THAT(status, HasErrorOrigin(ErrorOrigin::kInjected));
  }
  return status;
}

void FailEachCall(FaultPlan& faults, const std::function<Subject()>& make) {
  FailureSweep sweep(&faults);
  sweep.FailEachCall([&] {
    const Subject subject = make();
    Check(sweep, subject, subject.all_or_nothing);
  });
}

void FailEachTwoCalls(FaultPlan& faults, const std::function<Subject()>& make) {
  FailureSweep sweep(&faults);
  sweep.FailEachTwoCalls([&] { Check(sweep, make(), false); });
}

}  // namespace twinmmu::conformance
