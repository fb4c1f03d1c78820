// Contexts: the primary context of each device, and the fault that ended it.

#ifndef TWINMMU_SIM_CONTEXTS_H_
#define TWINMMU_SIM_CONTEXTS_H_

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/address.h"
#include "api/allocation.h"
#include "sim/errors.h"

namespace twinmmu {

// An access that is not possible.
struct Fault {
  const char* call = "";  // that asked for it
  AddressRange range;
  Access access = Access::kNone;
  Location location;  // that would need it

  std::string Reason() const {
    return absl::StrCat("range ", ToString(range), " is not wholly mapped with ", ToString(access),
                        " access for ", ToString(location));
  }
};

// A fault sticks: its context gives ILLEGAL_ADDRESS for good. Thread-safe.
class Contexts {
 public:
  explicit Contexts(int devices) : contexts_(static_cast<size_t>(devices)) {}

  // OK as long as the context of `device`, which exists, has no fault.
  absl::Status Check(const char* call, DeviceOrdinal device) const {
    const Context& context = contexts_[static_cast<size_t>(device.value())];
    if (!context.faulted.load(std::memory_order_acquire)) return absl::OkStatus();
    return Fail(DriverCode::kIllegalAddress, call, "the context of ", ToString(device),
                " had a fault, for good: when work of ", context.fault.call, " ran, ",
                context.fault.Reason());
  }
  bool HasFault(DeviceOrdinal device) const {
    return contexts_[static_cast<size_t>(device.value())].faulted.load(std::memory_order_acquire);
  }
  // The first fault of a context is the one that it tells.
  void Raise(DeviceOrdinal device, const Fault& fault) {
    const std::lock_guard lock(mutex_);
    Context& context = contexts_[static_cast<size_t>(device.value())];
    if (context.faulted) return;
    context.fault = fault;
    context.faulted.store(true, std::memory_order_release);
  }

 private:
  struct Context {
    std::atomic<bool> faulted = false;
    Fault fault;  // does not change once there
  };

  std::mutex mutex_;  // for Raise
  std::deque<Context> contexts_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CONTEXTS_H_
