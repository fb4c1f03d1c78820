// Work that is captured, whatever it is.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_CAPTURES_CAPTURED_WORK_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_CAPTURES_CAPTURED_WORK_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/graphs/graph_work.h"

namespace twinmmu::libcuda {

// make(&work) says what the node does; it stays nothing where there is nothing to do. `launch`:
// that it is; else null.
Captured CaptureWork(const CallSite& site, DriverState& driver, Context& context,
                     cuda_abi::CUstream given, const CapturedLaunch* launch,
                     absl::FunctionRef<cuda_abi::CUresult(std::optional<GraphWork>*)> make);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_CAPTURES_CAPTURED_WORK_H_
