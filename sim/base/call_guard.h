// CallGuard: what holds for every call, whatever it does; and how a class puts it around its calls.

#ifndef TWINMMU_SIM_BASE_CALL_GUARD_H_
#define TWINMMU_SIM_BASE_CALL_GUARD_H_

#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "api/call_macros.h"
#include "sim/base/errors.h"
#include "sim/base/fork_count.h"

namespace twinmmu {

// The simulator throws nothing: std::bad_alloc ends at the call that was made, as OUT_OF_MEMORY.
// Below, whatever changes state first gets the memory that it needs. And in a child made by fork a
// call is NOT_INITIALIZED before it looks at anything: locks may be held there that nobody gives
// back, and memory may be the parent's. Thread-safe.
class CallGuard {
 public:
  // `missing`: what calls need and no device has, so that each is NOT_SUPPORTED, whatever is
  // passed. (The documentation names that code for each of them, and no order of the checks.)
  // Empty: nothing.
  explicit CallGuard(std::string missing = "") : missing_(std::move(missing)) {}

  template <typename Body>
  auto Guard(const char* call, const Body& body) const -> decltype(body()) {
    if (ForkCount() != forks_) return Forked(call);
    try {
      if (!missing_.empty()) return Unsupported(call);
      return body();
    } catch (const std::bad_alloc&) {
      return Exhausted(call);
    }
  }

 private:
  [[gnu::cold, gnu::noinline]] absl::Status Unsupported(const char* call) const {
    return Fail(DriverCode::kNotSupported, call, "no device has ", missing_);
  }
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
  const std::string missing_;
};

// How a class implements calls: three X of the lists in api/calls.inc. TWINMMU_OVERRIDE declares
// `Create` and TWINMMU_BODY `DoCreate`, which a source defines. TWINMMU_GUARDED defines `Create`:
// it runs `DoCreate` under `guard_`. TWINMMU_GUARDED_BY is for another guard, or another body.
#define TWINMMU_BODY(context, id, result, method, ...) \
  result Do##method(TWINMMU_PARAMETERS(__VA_ARGS__));
#define TWINMMU_GUARDED(type, id, result, method, ...) \
  TWINMMU_GUARDED_BY(guard_, type, Do##method, result, method, __VA_ARGS__)
#define TWINMMU_GUARDED_BY(guard, type, body, result, method, ...)                        \
  result type::method(TWINMMU_PARAMETERS(__VA_ARGS__)) {                                  \
    return guard.Guard(TWINMMU_DRIVER_NAME(__VA_ARGS__),                                  \
                       [&]() -> result { return body(TWINMMU_ARGUMENTS(__VA_ARGS__)); }); \
  }

}  // namespace twinmmu

#endif  // TWINMMU_SIM_BASE_CALL_GUARD_H_
