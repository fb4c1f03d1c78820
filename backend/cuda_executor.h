// Executor on the CUDA driver.

#ifndef TWINMMU_BACKEND_CUDA_EXECUTOR_H_
#define TWINMMU_BACKEND_CUDA_EXECUTOR_H_

#include "api/call_macros.h"
#include "api/executor.h"
#include "backend/primary_contexts.h"

namespace twinmmu {

// Every call runs in the primary context of its device. Arguments pass as they came.
class CudaExecutor final : public Executor {
 public:
  explicit CudaExecutor(PrimaryContexts& contexts) : contexts_(contexts) {}  // must outlive it

  TWINMMU_EXECUTOR_CALLS(TWINMMU_OVERRIDE, )

 private:
  PrimaryContexts& contexts_;
};

}  // namespace twinmmu

#endif  // TWINMMU_BACKEND_CUDA_EXECUTOR_H_
