// DesignTest: what the tests of the designs have in common.

#ifndef TWINMMU_TOOLS_EXAMPLES_ALLOCATORS_DESIGN_TEST_H_
#define TWINMMU_TOOLS_EXAMPLES_ALLOCATORS_DESIGN_TEST_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/driver_error.h"
#include "api/executor.h"
#include "api/testing/fault_injecting.h"
#include "api/testing/fault_plan.h"
#include "api/testing/forwarding.h"
#include "api/testing/matchers.h"
#include "conformance/allocators/fixture.h"
#include "gmock/gmock.h"

namespace twinmmu::examples {

// Work is never done at once, as on a GPU: the first question after it was marked, with an event or
// by letting a stream wait, is answered with no, unless somebody waited for it. One thread.
class NeverAtOnceExecutor : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;

  absl::Status RecordEvent(Event event, Stream stream) override {
    fresh_events_.insert({stream.value(), event.value()});
    fresh_streams_.insert(stream.value());
    return ForwardingExecutor::RecordEvent(event, stream);
  }
  absl::Status WaitEvent(Stream stream, Event event) override {
    fresh_streams_.insert(stream.value());
    return ForwardingExecutor::WaitEvent(stream, event);
  }
  absl::StatusOr<bool> QueryEvent(Event event) override {
    if (Forget(event)) return false;
    return ForwardingExecutor::QueryEvent(event);
  }
  absl::StatusOr<bool> QueryStream(Stream stream) override {
    if (fresh_streams_.erase(stream.value()) != 0) return false;
    return ForwardingExecutor::QueryStream(stream);
  }
  absl::Status SynchronizeEvent(Event event) override {
    Forget(event);
    return ForwardingExecutor::SynchronizeEvent(event);
  }
  absl::Status SynchronizeStream(Stream stream) override {
    fresh_streams_.erase(stream.value());
    fresh_events_.erase(fresh_events_.lower_bound({stream.value(), 0}),
                        fresh_events_.lower_bound({stream.value() + 1, 0}));
    return ForwardingExecutor::SynchronizeStream(stream);
  }
  absl::Status SynchronizeDevice(DeviceOrdinal device) override {
    fresh_streams_.clear();
    fresh_events_.clear();
    return ForwardingExecutor::SynchronizeDevice(device);
  }

 private:
  bool Forget(Event event) {
    for (auto fresh = fresh_events_.begin(); fresh != fresh_events_.end(); ++fresh) {
      if (fresh->second != event.value()) continue;
      fresh_events_.erase(fresh);
      return true;
    }
    return false;
  }

  // The tests use streams of one device, so that their values tell them apart.
  std::set<std::pair<uint64_t, uint64_t>> fresh_events_;  // each with its stream
  std::set<uint64_t> fresh_streams_;
};

// What is tested works through failing_vmm() and failing_executor() where faults() are to be met.
class DesignTest : public conformance::AllocatorTest {
 protected:
  void SetUp() override {
    AllocatorTest::SetUp();
    if (HasFatalFailure()) return;
    executor_.emplace(&AllocatorTest::executor());
    failing_vmm_.emplace(&vmm(), &faults_);
    failing_executor_.emplace(&executor(), &faults_);
  }
  Executor& executor() { return *executor_; }
  FaultPlan& faults() { return faults_; }
  FaultInjectingVmm& failing_vmm() { return *failing_vmm_; }
  FaultInjectingExecutor& failing_executor() { return *failing_executor_; }

  // Makes `operation` again and again: the first of its calls that faults() is asked about fails,
  // then the second, until it succeeds since it has fewer. Each time but the last it must return
  // that error, and `expect_unchanged` must find all as it was.
  void FailEachCall(const std::function<absl::Status()>& operation,
                    const std::function<void()>& expect_unchanged) {
    for (uint64_t n = 1;; ++n) {
      SCOPED_TRACE(testing::Message() << "call " << n << " fails");
      faults_.Clear();
      // No code that a driver gives for the mistakes that are looked for, and not out of memory, at
      // which an allocator may try again.
      faults_.FailNth(n, DriverCode::kOperatingSystem);
      const absl::Status status = operation();
      const bool failed = faults_.fired() != 0;
      faults_.Clear();
      if (!failed) {
        EXPECT_THAT(status, IsOk());
        EXPECT_GT(n, 1) << "the operation made no call that could fail";
        return;
      }
      ASSERT_THAT(status, HasDriverCode(DriverCode::kOperatingSystem));
      expect_unchanged();
      if (HasFailure()) return;
    }
  }

 private:
  FaultPlan faults_;
  std::optional<NeverAtOnceExecutor> executor_;
  std::optional<FaultInjectingVmm> failing_vmm_;
  std::optional<FaultInjectingExecutor> failing_executor_;
};

}  // namespace twinmmu::examples

#endif  // TWINMMU_TOOLS_EXAMPLES_ALLOCATORS_DESIGN_TEST_H_
