// The devices' primary contexts, for the calls that the driver makes only in a context.

#ifndef TWINMMU_BACKEND_PRIMARY_CONTEXTS_H_
#define TWINMMU_BACKEND_PRIMARY_CONTEXTS_H_

#include <map>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/allocation.h"
#include "backend/call_driver.h"
#include "backend/driver_table.h"

namespace twinmmu {

// Retains each primary context once, when it is first asked for, and releases it at the end.
// Thread-safe. `table` must outlive it.
class PrimaryContexts {
 public:
  explicit PrimaryContexts(const DriverTable& table) : table_(table) {}
  ~PrimaryContexts();
  PrimaryContexts(const PrimaryContexts&) = delete;
  PrimaryContexts& operator=(const PrimaryContexts&) = delete;

  const DriverTable& table() const { return table_; }
  absl::StatusOr<cuda_abi::CUcontext> Get(DeviceOrdinal device);

 private:
  struct Retained {
    cuda_abi::CUdevice device;
    cuda_abi::CUcontext context;
  };

  const DriverTable& table_;
  std::mutex mutex_;
  std::map<DeviceOrdinal, Retained> retained_;
};

// Makes the primary context of `device` current for the calling thread, and at the end makes the
// one current that was so before. Where it is current already, nothing is pushed.
class ScopedContext {
 public:
  ScopedContext(PrimaryContexts& contexts, DeviceOrdinal device);
  ~ScopedContext();
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;

  // Not OK: the context is not current, and the caller's still is.
  const absl::Status& status() const { return status_; }

 private:
  const DriverTable& table_;
  absl::Status status_;
  bool pushed_ = false;
};

// Call and CallQuery (call.h) in the primary context of `device`.
template <Symbol kSymbol, typename... A>
absl::Status CallOn(PrimaryContexts& contexts, DeviceOrdinal device, A... arguments) {
  const ScopedContext context(contexts, device);
  if (!context.status().ok()) return context.status();
  return Call<kSymbol>(contexts.table(), arguments...);
}
template <Symbol kSymbol, typename... A>
absl::StatusOr<bool> CallQueryOn(PrimaryContexts& contexts, DeviceOrdinal device, A... arguments) {
  const ScopedContext context(contexts, device);
  if (!context.status().ok()) return context.status();
  return CallQuery<kSymbol>(contexts.table(), arguments...);
}

}  // namespace twinmmu

#endif  // TWINMMU_BACKEND_PRIMARY_CONTEXTS_H_
