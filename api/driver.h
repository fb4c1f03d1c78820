// Driver: an implementation of GPU virtual memory, and the interfaces it offers.

#ifndef TWINMMU_API_DRIVER_H_
#define TWINMMU_API_DRIVER_H_

#include "absl/status/statusor.h"
#include "api/executor.h"
#include "api/multicast.h"
#include "api/sparse_arrays.h"
#include "api/vmm.h"

namespace twinmmu {

// Gives access to its interfaces. An interface that an implementation lacks is a status, so adding
// an interface later breaks neither implementations nor mocks. The driver owns what the pointers
// point to. Several drivers may exist in one process. Thread safety: as in api/vmm.h.
class Driver {
 public:
  virtual ~Driver() = default;

  // Never null when OK. FailedPrecondition: there is no driver, or it cannot be initialised.
  virtual absl::StatusOr<Vmm*> vmm() = 0;

  // Never null when OK. Unimplemented: this implementation cannot move data.
  virtual absl::StatusOr<Executor*> executor();

  // Never null when OK. Unimplemented: this implementation has no multicast objects, or was not
  // told to use those of real hardware.
  virtual absl::StatusOr<Multicast*> multicast();

  // Never null when OK. Unimplemented: this implementation has no sparse arrays.
  virtual absl::StatusOr<SparseArrays*> sparse_arrays();
};

}  // namespace twinmmu

#endif  // TWINMMU_API_DRIVER_H_
