// HeldExecutor: an executor whose work is not done before a test says so.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_HELD_EXECUTOR_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_HELD_EXECUTOR_H_

#include "api/testing/forwarding.h"

namespace twinmmu::conformance {

// To who asks, no work is done while this holds it; who waits, waits for the work itself. So a test
// knows what is pending on every implementation, however fast it is. One thread.
class HeldExecutor : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;

  void Hold() { held_ = true; }
  // From now on work is done when it is done. Waits for all of it, so that it is.
  absl::Status LetGo(DeviceOrdinal device) {
    held_ = false;
    return SynchronizeDevice(device);
  }
  // How often somebody asked whether work is done, and how often somebody waited.
  int asked() const { return asked_; }
  int waited() const { return waited_; }

  absl::StatusOr<bool> QueryStream(Stream stream) override {
    ++asked_;
    if (held_) return false;
    return ForwardingExecutor::QueryStream(stream);
  }
  absl::StatusOr<bool> QueryEvent(Event event) override {
    ++asked_;
    if (held_) return false;
    return ForwardingExecutor::QueryEvent(event);
  }
  absl::Status SynchronizeStream(Stream stream) override {
    ++waited_;
    return ForwardingExecutor::SynchronizeStream(stream);
  }
  absl::Status SynchronizeEvent(Event event) override {
    ++waited_;
    return ForwardingExecutor::SynchronizeEvent(event);
  }

 private:
  bool held_ = false;
  int asked_ = 0;
  int waited_ = 0;
};

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_HELD_EXECUTOR_H_
