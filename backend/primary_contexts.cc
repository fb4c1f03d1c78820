#include "backend/primary_contexts.h"

namespace twinmmu {

PrimaryContexts::~PrimaryContexts() {
  for (const auto& [ordinal, retained] : retained_) {
    // Nobody is left who could be told of an error; when the process ends, the driver may be gone.
    Call<Symbol::cuDevicePrimaryCtxRelease>(table_, retained.device).IgnoreError();
  }
}

absl::StatusOr<cuda_abi::CUcontext> PrimaryContexts::Get(DeviceOrdinal device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = retained_.find(device); found != retained_.end()) {
    return found->second.context;
  }
  Retained retained = {};
  absl::Status status = Call<Symbol::cuDeviceGet>(table_, &retained.device, device.value());
  if (!status.ok()) return status;
  status = Call<Symbol::cuDevicePrimaryCtxRetain>(table_, &retained.context, retained.device);
  if (!status.ok()) return status;
  retained_.emplace(device, retained);
  return retained.context;
}

ScopedContext::ScopedContext(PrimaryContexts& contexts, DeviceOrdinal device)
    : table_(contexts.table()) {
  const absl::StatusOr<cuda_abi::CUcontext> primary = contexts.Get(device);
  if (!primary.ok()) {
    status_ = primary.status();
    return;
  }
  cuda_abi::CUcontext current = nullptr;
  status_ = Call<Symbol::cuCtxGetCurrent>(table_, &current);
  if (!status_.ok() || current == *primary) return;
  if (table_.cuCtxPopCurrent == nullptr) {  // there would be no way back
    status_ = MissingSymbol(table_, Symbol::cuCtxPopCurrent);
    return;
  }
  status_ = Call<Symbol::cuCtxPushCurrent>(table_, *primary);
  pushed_ = status_.ok();
}

ScopedContext::~ScopedContext() {
  if (!pushed_) return;
  cuda_abi::CUcontext popped = nullptr;
  // What was pushed can be popped; the status of the call inside is the one that matters.
  Call<Symbol::cuCtxPopCurrent>(table_, &popped).IgnoreError();
}

}  // namespace twinmmu
