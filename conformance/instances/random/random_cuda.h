// The driver of this machine for random sequences.

#ifndef TWINMMU_CONFORMANCE_INSTANCES_RANDOM_RANDOM_CUDA_H_
#define TWINMMU_CONFORMANCE_INSTANCES_RANDOM_RANDOM_CUDA_H_

#include "backend/cuda_driver.h"
#include "conformance/random/run_seeds.h"

namespace twinmmu::conformance::random {

// With calls whose outcome is defined only. With `sole_user`, nobody else may take memory of the
// devices meanwhile, and what is free is compared too. FailedPrecondition when opened where there
// is no driver, or no device.
OpenSubject CudaSubject(const CudaDriverOptions& options = CudaDriverOptions(),
                        bool sole_user = false);

}  // namespace twinmmu::conformance::random

#endif  // TWINMMU_CONFORMANCE_INSTANCES_RANDOM_RANDOM_CUDA_H_
