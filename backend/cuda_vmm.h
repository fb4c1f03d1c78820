// Vmm on the CUDA driver.

#ifndef TWINMMU_BACKEND_CUDA_VMM_H_
#define TWINMMU_BACKEND_CUDA_VMM_H_

#include "absl/status/statusor.h"
#include "api/call_macros.h"
#include "api/vmm.h"
#include "backend/driver_table.h"
#include "backend/primary_contexts.h"

namespace twinmmu {

// Passes every argument on as it came, and every result back. Holds no state of its own, so it is
// as thread-safe as the driver.
class CudaVmm final : public Vmm {
 public:
  // Both must outlive it.
  CudaVmm(const DriverTable& table, PrimaryContexts& contexts)
      : table_(table), contexts_(contexts) {}

  TWINMMU_VMM_CALLS(TWINMMU_SHORT_FORMS, Vmm)
  TWINMMU_VMM_CALLS(TWINMMU_OVERRIDE, )

 private:
  absl::StatusOr<cuda_abi::CUdevice> GetDevice(DeviceOrdinal device);

  const DriverTable& table_;
  PrimaryContexts& contexts_;
};

}  // namespace twinmmu

#endif  // TWINMMU_BACKEND_CUDA_VMM_H_
