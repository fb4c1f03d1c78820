// The backend over the simulated library, as a target of the suite.

#ifndef TWINMMU_CONFORMANCE_INSTANCES_CUDA_ON_SIM_TARGET_H_
#define TWINMMU_CONFORMANCE_INSTANCES_CUDA_ON_SIM_TARGET_H_

#include <string>

#include "conformance/framework/target.h"
#include "sim/profile/profile.h"

namespace twinmmu::conformance {

// The backend, which opens `library`, a libcuda.so.1 of sim/libcuda that simulates a machine with
// this profile. What is declared of it is what is declared of that.
TargetFactory CudaOnSimTarget(const std::string& library,
                              const Profile& profile = Profile::ReferenceH200(2));

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_INSTANCES_CUDA_ON_SIM_TARGET_H_
