// Print: what kernels say: vprintf and __assertfail.

#ifndef TWINMMU_SIM_PTX_RUN_DEVICE_DEVICE_PRINT_H_
#define TWINMMU_SIM_PTX_RUN_DEVICE_DEVICE_PRINT_H_

#include "sim/ptx/program/code.h"
#include "sim/ptx/run/warp.h"

namespace twinmmu::ptx {

// vprintf(format, arguments) by each of `lanes`, to the standard output at once. False: an address
// that cannot be read, which is noted as a fault.
bool Print(Warp& warp, const CallSite& site, Lanes lanes);

// __assertfail(message, file, line, function, character size) by the first of `lanes`.
Flow FailAssertion(Warp& warp, const CallSite& site, Lanes lanes);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_RUN_DEVICE_DEVICE_PRINT_H_
