// DesignTest: what the tests of the designs have in common.

#ifndef TWINMMU_TOOLS_EXAMPLES_ALLOCATORS_DESIGN_TEST_H_
#define TWINMMU_TOOLS_EXAMPLES_ALLOCATORS_DESIGN_TEST_H_

#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/executor.h"
#include "api/testing/forwarding.h"
#include "conformance/allocators/fixture.h"

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

class DesignTest : public conformance::AllocatorTest {
 protected:
  void SetUp() override {
    AllocatorTest::SetUp();
    if (!HasFatalFailure()) {
      executor_ = std::make_unique<NeverAtOnceExecutor>(&AllocatorTest::executor());
    }
  }
  Executor& executor() { return *executor_; }

 private:
  std::unique_ptr<NeverAtOnceExecutor> executor_;
};

}  // namespace twinmmu::examples

#endif  // TWINMMU_TOOLS_EXAMPLES_ALLOCATORS_DESIGN_TEST_H_
