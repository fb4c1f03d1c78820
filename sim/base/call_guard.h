// CallGuard: what holds for every call, whatever it does.

#ifndef TWINMMU_SIM_BASE_CALL_GUARD_H_
#define TWINMMU_SIM_BASE_CALL_GUARD_H_

#include <cstdint>
#include <new>

#include "absl/status/status.h"
#include "sim/base/errors.h"
#include "sim/base/fork_count.h"

namespace twinmmu {

// The simulator throws nothing: std::bad_alloc ends at the call that was made, as OUT_OF_MEMORY.
// Below, whatever changes state first gets the memory that it needs. And in a child made by fork a
// call is NOT_INITIALIZED before it looks at anything: locks may be held there that nobody gives
// back, and memory may be the parent's. Thread-safe.
class CallGuard {
 public:
  template <typename Body>
  auto Guard(const char* call, const Body& body) const -> decltype(body()) {
    if (ForkCount() != forks_) return Forked(call);
    try {
      return body();
    } catch (const std::bad_alloc&) {
      return Exhausted(call);
    }
  }

 private:
  [[gnu::cold, gnu::noinline]] static absl::Status Forked(const char* call) {
    return Fail(DriverCode::kNotInitialized, call,
                "this process is a fork of the one that made the simulator");
  }
  [[gnu::cold, gnu::noinline]] absl::Status Exhausted(const char* call) const {
    try {
      return Fail(DriverCode::kOutOfMemory, call, "the program has no memory left");
    } catch (const std::bad_alloc&) {
      return exhausted_;  // not even for a message
    }
  }

  const absl::Status exhausted_ = Fail(DriverCode::kOutOfMemory, "a call",
                                       "the program has no memory left, not for words either");
  const uint32_t forks_ = ForkCount();
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_BASE_CALL_GUARD_H_
