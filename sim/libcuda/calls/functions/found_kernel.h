// A kernel that a call names, and what is known of it.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_FUNCTIONS_FOUND_KERNEL_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_FUNCTIONS_FOUND_KERNEL_H_

#include <algorithm>
#include <cstdint>

#include "absl/status/statusor.h"
#include "sim/calls/executor/loaded_module.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/ptx/program/program.h"

namespace twinmmu::libcuda {

struct Found : LoadedKernel {
  Kernel handle;
};

// Some calls take a function of a context, some a kernel of a library, and those of launches both.
enum class Handle { kFunction, kOfLibrary, kEither };

absl::StatusOr<Found> FindKernel(const CallSite& site, DriverState& driver, Context& context,
                                 CUfunction function, Handle handle);

// PTX has registers without end; a compiler finds room for some four in one.
inline int RegistersOf(const ptx::KernelInfo& kernel) {
  return static_cast<int>(std::clamp<uint64_t>((kernel.registers / 4 + 7) / 8 * 8, 16, 255));
}

// Calls body(driver, kernel).
template <typename Body>
CUresult WithKernel(const CallSite& site, DriverState& driver, Context& context,
                    CUfunction function, Handle handle, Needed needed, const Body& body) {
  const absl::StatusOr<Found> kernel = FindKernel(site, driver, context, function, handle);
  if (!kernel.ok()) return ToResult(kernel.status());
  const DriverCode code = CheckNeeded(site, needed);
  return code == DriverCode::kSuccess ? ToResult(body(driver, *kernel)) : ToResult(code);
}

// FaultOf; but what is no such handle counts before a fault, where it is not one of both.
CUresult FaultOfKernel(const CallSite& site, DriverState& driver, CUfunction function,
                       Handle handle);

template <typename Body>
CUresult EnterKernel(const CallSite& site, CUfunction function, Handle handle, Needed needed,
                     const Body& body) {
  const NamedObject named = handle == Handle::kFunction ? function : NamedObject();
  return EnterInAnyContext(site, named, {}, [&](DriverState& driver, Context& context) {
    const CUresult fault = FaultOfKernel(site, driver, function, handle);
    if (fault != cuda_abi::CUDA_SUCCESS) return fault;
    const DriverCode code = CheckNeeded(site, needed);
    if (code != DriverCode::kSuccess) return ToResult(code);
    return WithKernel(site, driver, context, function, handle, {}, body);
  });
}

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_FUNCTIONS_FOUND_KERNEL_H_
