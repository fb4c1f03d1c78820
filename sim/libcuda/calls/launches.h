// What the calls that launch kernels have in common.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_LAUNCHES_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_LAUNCHES_H_

#include <vector>

#include "api/driver_error.h"
#include "api/executor.h"
#include "sim/calls/executor/loaded_module.h"
#include "sim/libcuda/calls/enter.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::libcuda {

// Pointers to the arguments. `whole`: room for a buffer that is shorter than the parameters; the
// driver takes it, and no program should.
DriverCode FindArguments(const ptx::KernelInfo& kernel, void** parameters, void** extra,
                         std::vector<char>* whole, std::vector<const void*>* arguments);

// Whether a launch takes this value of an attribute. True of attributes that it reads itself.
bool IsLaunchValue(cuda_abi::CUlaunchAttributeID id, const cuda_abi::CUlaunchAttributeValue& value);

// What attributes say of a launch; those that say how fast something is to be done mean nothing
// here. INVALID_VALUE: there is no such one of launches, or it has no such value. INVALID_HANDLE,
// ILLEGAL_STATE, NOT_SUPPORTED: of events, and of an attribute that only nodes of graphs have.
// Those behind a cluster without blocks, for which the launch is refused, are not read. All as an
// H200 has it.
DriverCode ReadAttributes(const CallSite& site, DriverState& driver, Context& context,
                          const cuda_abi::CUlaunchConfig& config, LaunchConfig* launch,
                          LaunchForm* form);

// Gives a kernel to a stream.
cuda_abi::CUresult LaunchOn(DriverState& driver, Stream stream, Kernel kernel,
                            const LoadedKernel& loaded, const LaunchConfig& config,
                            const LaunchForm& form, const std::vector<const void*>& arguments);

// What every call that launches does, in a context.
cuda_abi::CUresult LaunchIn(const CallSite& site, DriverState& driver, Context& context,
                            cuda_abi::CUfunction function, const LaunchConfig& config,
                            cuda_abi::CUstream stream, const LaunchForm& form, void** parameters,
                            void** extra);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_LAUNCHES_H_
