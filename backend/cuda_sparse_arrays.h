// SparseArrays on the CUDA driver.

#ifndef TWINMMU_BACKEND_CUDA_SPARSE_ARRAYS_H_
#define TWINMMU_BACKEND_CUDA_SPARSE_ARRAYS_H_

#include "absl/status/statusor.h"
#include "api/call_macros.h"
#include "api/sparse_arrays.h"
#include "backend/primary_contexts.h"

namespace twinmmu {

// Every call runs in the primary context of its device. Arguments pass as they came. The driver
// counts the columns of a copy in bytes and does not tell the size of an element: a copy asks for
// the array's descriptor first.
class CudaSparseArrays final : public SparseArrays {
 public:
  explicit CudaSparseArrays(PrimaryContexts& contexts) : contexts_(contexts) {}  // must outlive it

  TWINMMU_SPARSE_ARRAYS_CALLS(TWINMMU_OVERRIDE, )

 private:
  absl::StatusOr<Bytes> ElementSizeOf(Array array);

  PrimaryContexts& contexts_;
};

}  // namespace twinmmu

#endif  // TWINMMU_BACKEND_CUDA_SPARSE_ARRAYS_H_
