// ForwardingVmm, ForwardingExecutor, ForwardingMulticast, ForwardingSparseArrays, ForwardingDriver:
// forward every call to another object. A wrapper derives from them and overrides only the calls it
// changes: to record, to count, to fail on purpose.

#ifndef TWINMMU_API_TESTING_FORWARDING_H_
#define TWINMMU_API_TESTING_FORWARDING_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "api/call_macros.h"
#include "api/driver.h"
#include "api/executor.h"
#include "api/multicast.h"
#include "api/sparse_arrays.h"
#include "api/vmm.h"

namespace twinmmu {

#define TWINMMU_FORWARD(context, id, result, method, ...)   \
  result method(TWINMMU_PARAMETERS(__VA_ARGS__)) override { \
    return target_->method(TWINMMU_ARGUMENTS(__VA_ARGS__)); \
  }

class ForwardingVmm : public Vmm {
 public:
  // `target` must outlive this object.
  explicit ForwardingVmm(Vmm* target) : target_(target) {}

  TWINMMU_VMM_CALLS(TWINMMU_SHORT_FORMS, Vmm)
  TWINMMU_VMM_CALLS(TWINMMU_FORWARD, )

 private:
  Vmm* target_;
};

class ForwardingExecutor : public Executor {
 public:
  // `target` must outlive this object.
  explicit ForwardingExecutor(Executor* target) : target_(target) {}

  TWINMMU_EXECUTOR_CALLS(TWINMMU_FORWARD, )

 private:
  Executor* target_;
};

class ForwardingMulticast : public Multicast {
 public:
  // `target` must outlive this object.
  explicit ForwardingMulticast(Multicast* target) : target_(target) {}

  TWINMMU_MULTICAST_CALLS(TWINMMU_SHORT_FORMS, Multicast)
  TWINMMU_MULTICAST_CALLS(TWINMMU_FORWARD, )

 private:
  Multicast* target_;
};

class ForwardingSparseArrays : public SparseArrays {
 public:
  // `target` must outlive this object.
  explicit ForwardingSparseArrays(SparseArrays* target) : target_(target) {}

  TWINMMU_SPARSE_ARRAYS_CALLS(TWINMMU_FORWARD, )

 protected:
  void set_target(SparseArrays* target) { target_ = target; }

 private:
  SparseArrays* target_;
};

#undef TWINMMU_FORWARD

class ForwardingDriver : public Driver {
 public:
  // `target` must outlive this object.
  explicit ForwardingDriver(Driver* target) : target_(target) {}

  absl::StatusOr<Vmm*> vmm() override { return target_->vmm(); }
  absl::StatusOr<Executor*> executor() override { return target_->executor(); }
  absl::StatusOr<Multicast*> multicast() override { return target_->multicast(); }
  absl::StatusOr<SparseArrays*> sparse_arrays() override { return target_->sparse_arrays(); }

 private:
  Driver* target_;
};

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_FORWARDING_H_
