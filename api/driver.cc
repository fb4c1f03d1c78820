#include "api/driver.h"

#include "absl/status/status.h"

namespace twinmmu {

absl::StatusOr<Executor*> Driver::executor() {
  return absl::UnimplementedError("this driver offers no Executor: it moves no data");
}

absl::StatusOr<Multicast*> Driver::multicast() {
  return absl::UnimplementedError("this driver offers no Multicast: it has no multicast objects");
}

absl::StatusOr<SparseArrays*> Driver::sparse_arrays() {
  return absl::UnimplementedError("this driver offers no SparseArrays");
}

}  // namespace twinmmu
