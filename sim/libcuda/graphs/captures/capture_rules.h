// What no thread may do while streams are captured. For who holds Graphs::mutex.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_CAPTURES_CAPTURE_RULES_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_CAPTURES_CAPTURE_RULES_H_

#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/graphs/captures/captures.h"

namespace twinmmu::libcuda {

// The mode of the calling thread, as cuThreadExchangeStreamCaptureMode has it.
cuda_abi::CUstreamCaptureMode& CaptureModeOfThread();

bool IsLegacy(cuda_abi::CUstream stream);
// Whether the legacy stream waits for it.
bool IsBlocking(DriverState& driver, cuda_abi::CUstream stream);
// The context that it was made in, which may be green; `context` for default streams.
const Context& MadeIn(DriverState& driver, const Context& context, cuda_abi::CUstream stream);
StreamName NameOf(const Context& context, cuda_abi::CUstream stream);

// Whether a stream of the context is captured that the legacy stream would wait for.
bool HasBlocking(DriverState& driver, const Context& context);
// Use of the legacy stream: it would wait for the captured streams of the context that are
// blocking.
Captured RefuseLegacy(DriverState& driver, const Context& context, cuda_abi::CUstream stream);
// A call that a capture may forbid, of this thread or, in global mode, of any.
Captured RefuseUnsafe(DriverState& driver);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_CAPTURES_CAPTURE_RULES_H_
