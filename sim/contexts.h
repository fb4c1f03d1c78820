// Contexts: the primary context of each device, and the fault that ended it.

#ifndef TWINMMU_SIM_CONTEXTS_H_
#define TWINMMU_SIM_CONTEXTS_H_

#include <atomic>
#include <cstddef>
#include <memory>
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
  explicit Contexts(int devices) : contexts_(new Context[static_cast<size_t>(devices)]) {}

  // OK as long as the context of `device`, which exists, has had no fault.
  absl::Status Check(const char* call, DeviceOrdinal device) const {
    return HasFault(device) ? Ruined(call, device) : absl::OkStatus();
  }
  bool HasFault(DeviceOrdinal device) const {
    return Of(device).faulted.load(std::memory_order_acquire);
  }
  // The first fault of a context is the one that it tells.
  void Raise(DeviceOrdinal device, const Fault& fault) {
    const std::lock_guard lock(mutex_);
    Context& context = Of(device);
    if (context.faulted) return;
    context.fault = fault;
    context.faulted.store(true, std::memory_order_release);
  }

 private:
  struct Context {
    std::atomic<bool> faulted = false;
    Fault fault;  // does not change once there
  };

  Context& Of(DeviceOrdinal device) const { return contexts_[static_cast<size_t>(device.value())]; }
  [[gnu::cold, gnu::noinline]] absl::Status Ruined(const char* call, DeviceOrdinal device) const {
    const Fault& fault = Of(device).fault;
    return Fail(DriverCode::kIllegalAddress, call, "the context of ", ToString(device),
                " had a fault, for good: when work of ", fault.call, " ran, ", fault.Reason());
  }

  std::mutex mutex_;  // for Raise
  std::unique_ptr<Context[]> contexts_;
};

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CONTEXTS_H_
