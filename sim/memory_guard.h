// MemoryGuard: what becomes of a call when the program has no memory left.

#ifndef TWINMMU_SIM_MEMORY_GUARD_H_
#define TWINMMU_SIM_MEMORY_GUARD_H_

#include <new>

#include "absl/status/status.h"
#include "sim/errors.h"

namespace twinmmu {

// The simulator throws nothing: std::bad_alloc ends at the call that was made, as OUT_OF_MEMORY.
// Below, whatever changes state first gets the memory that it needs. Thread-safe.
class MemoryGuard {
 public:
  template <typename Body>
  auto Guard(const char* call, const Body& body) const -> decltype(body()) {
    try {
      return body();
    } catch (const std::bad_alloc&) {
      return Exhausted(call);
    }
  }

 private:
  [[gnu::cold, gnu::noinline]] absl::Status Exhausted(const char* call) const {
    try {
      return Fail(DriverCode::kOutOfMemory, call, "the program has no memory left");
    } catch (const std::bad_alloc&) {
      return exhausted_;  // not even for a message
    }
  }

  const absl::Status exhausted_ = Fail(DriverCode::kOutOfMemory, "a call",
                                       "the program has no memory left, not for words either");
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_MEMORY_GUARD_H_
