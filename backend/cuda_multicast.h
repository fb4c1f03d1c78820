// Multicast on the CUDA driver.

#ifndef TWINMMU_BACKEND_CUDA_MULTICAST_H_
#define TWINMMU_BACKEND_CUDA_MULTICAST_H_

#include "api/call_macros.h"
#include "api/multicast.h"
#include "backend/driver_table.h"

namespace twinmmu {

// Passes every argument on as it came, and every result back, as CudaVmm does. Only where a program
// asked for it: see CudaDriverOptions::allow_multicast_on_hardware. A call may block, as the driver
// does.
class CudaMulticast final : public Multicast {
 public:
  // `table` must outlive it.
  explicit CudaMulticast(const DriverTable& table) : table_(table) {}

  TWINMMU_MULTICAST_CALLS(TWINMMU_SHORT_FORMS, Multicast)
  TWINMMU_MULTICAST_CALLS(TWINMMU_OVERRIDE, )

 private:
  const DriverTable& table_;
};

}  // namespace twinmmu

#endif  // TWINMMU_BACKEND_CUDA_MULTICAST_H_
