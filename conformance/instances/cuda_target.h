// The real driver as a target of the suite.

#ifndef TWINMMU_CONFORMANCE_INSTANCES_CUDA_TARGET_H_
#define TWINMMU_CONFORMANCE_INSTANCES_CUDA_TARGET_H_

#include "backend/cuda_driver.h"
#include "conformance/framework/target.h"

namespace twinmmu::conformance {

// The driver of this machine. FailedPrecondition when opened where there is none, or no device.
TargetFactory CudaTarget(const CudaDriverOptions& options = CudaDriverOptions());

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_INSTANCES_CUDA_TARGET_H_
