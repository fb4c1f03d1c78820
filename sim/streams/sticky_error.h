// StickyError: the fault that ended the contexts of all devices.

#ifndef TWINMMU_SIM_STREAMS_STICKY_ERROR_H_
#define TWINMMU_SIM_STREAMS_STICKY_ERROR_H_

#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/address.h"
#include "api/allocation.h"
#include "api/diagnostics.h"
#include "api/driver_error.h"
#include "sim/base/errors.h"

namespace twinmmu {

// An access that is not possible.
struct Fault {
  const char* call = "";  // that asked for it
  AddressRange range;
  Access access = Access::kNone;
  Location location;  // that would need it

  std::string Reason() const {
    return absl::StrCat("range ", InWords(range), " is not wholly mapped with ", ToString(access),
                        " access for ", ToString(location));
  }
};

// A fault is a sticky error: from then on all contexts of the process, those of other devices too,
// give its code for good. Thread-safe.
class StickyError {
 public:
  // OK as long as there was no fault.
  absl::Status Check(const char* call) const {
    return HasFault() ? Ruined(call) : absl::OkStatus();
  }
  bool HasFault() const { return faulted_.load(std::memory_order_acquire); }
  // The first fault is the one that is reported: an access that is not possible, or else what a
  // kernel has done, in words. Neither throws.
  void Raise(const Fault& fault) {
    const std::lock_guard lock(mutex_);
    if (faulted_) return;
    fault_ = fault;
    faulted_.store(true, std::memory_order_release);
  }
  void Raise(const char* call, DriverCode code, std::string reason) {
    const std::lock_guard lock(mutex_);
    if (faulted_) return;
    fault_.call = call;
    code_ = code;
    reason_ = std::move(reason);
    faulted_.store(true, std::memory_order_release);
  }

 private:
  [[gnu::cold, gnu::noinline]] absl::Status Ruined(const char* call) const {
    const bool access = code_ == DriverCode::kSuccess;
    return Fail(access ? DriverCode::kIllegalAddress : code_, call,
                "there was a fault, which ends all contexts for good: when work of ", fault_.call,
                " ran, ", access ? fault_.Reason() : reason_);
  }

  std::mutex mutex_;  // for Raise
  std::atomic<bool> faulted_ = false;
  // These do not change once there is a fault.
  Fault fault_;
  DriverCode code_ = DriverCode::kSuccess;  // of what is not just an access
  std::string reason_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_STREAMS_STICKY_ERROR_H_
