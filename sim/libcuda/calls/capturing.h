// What calls that give work to streams do where the stream is captured: the work becomes a node of
// a graph. Each of these is nothing (nullopt) where the call goes on as ever.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_CAPTURING_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_CAPTURING_H_

#include <cstddef>
#include <optional>

#include "absl/types/span.h"
#include "sim/calls/executor/loaded_module.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/memory_batches.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace twinmmu::libcuda {

using Captured = std::optional<CUresult>;

// A copy, a fill, a launch, a host function. Without bytes it is no node.
Captured CaptureCopy(const CallSite& site, DriverState& driver, Context& context,
                     const cuda_abi::CUDA_MEMCPY3D& copy, cuda_abi::CUstream stream);
Captured CaptureFill(const CallSite& site, DriverState& driver, Context& context,
                     const cuda_abi::CUDA_MEMSET_NODE_PARAMS& fill, cuda_abi::CUstream stream);
struct CapturedLaunch {
  cuda_abi::CUDA_KERNEL_NODE_PARAMS kernel = {};
  LaunchForm form;
  bool programmatic = false;
};
Captured CaptureLaunch(const CallSite& site, DriverState& driver, Context& context,
                       const CapturedLaunch& launch, cuda_abi::CUstream stream);
Captured CaptureHost(const CallSite& site, DriverState& driver, Context& context,
                     const cuda_abi::CUDA_HOST_NODE_PARAMS& call, cuda_abi::CUstream stream);
// Memory: of which pool, if the call names one. The address is written at once.
Captured CaptureAllocation(const CallSite& site, DriverState& driver, Context& context, size_t size,
                           std::optional<cuda_abi::CUmemoryPool> pool, cuda_abi::CUstream stream,
                           cuda_abi::CUdeviceptr* address);
Captured CaptureFree(const CallSite& site, DriverState& driver, Context& context,
                     cuda_abi::CUdeviceptr address, cuda_abi::CUstream stream);
Captured CaptureBatch(const CallSite& site, DriverState& driver, Context& context,
                      BatchVersion version,
                      absl::Span<const cuda_abi::CUstreamBatchMemOpParams> operations,
                      cuda_abi::CUstream stream);
// A call that does its work itself is not captured.
inline Captured CaptureCopy(const CallSite&, DriverState&, Context&,
                            const cuda_abi::CUDA_MEMCPY3D&) {
  return std::nullopt;
}
inline Captured CaptureFill(const CallSite&, DriverState&, Context&,
                            const cuda_abi::CUDA_MEMSET_NODE_PARAMS&) {
  return std::nullopt;
}

// What the stream had before, or a node of its own if `external`.
Captured CaptureRecord(const CallSite& site, DriverState& driver, Context& context,
                       cuda_abi::CUevent event, cuda_abi::CUstream stream, bool external);
Captured CaptureWait(const CallSite& site, DriverState& driver, Context& context,
                     cuda_abi::CUstream stream, cuda_abi::CUevent event, bool external);

// Of a stream whose capture is invalid.
Captured RefuseInvalid(DriverState& driver, const Context& context, cuda_abi::CUstream stream);

// Whether a call that a capture may forbid, whatever its arguments but a null object, is admitted.
DriverCode AdmitCaptured(const CallSite& site, DriverState& driver);
// The same for calls that look at some of their arguments before, and then ask this.
Captured RefuseUnsafeCall(DriverState& driver);
// And for those that are for a stream, unless it is captured: then they become nodes.
Captured RefuseUnsafeOn(DriverState& driver, const Context& context, cuda_abi::CUstream stream);

// A question about a stream, or a change of what is kept of it: none of a stream whose capture is
// invalid, nor of the legacy stream while one captures that waits for it. Measured on an H200.
Captured RefuseQuestion(DriverState& driver, const Context& context, cuda_abi::CUstream stream);

// Calls that ask or wait for a stream, an event, a context: no capture may depend on the answer.
Captured RefuseWaitFor(DriverState& driver, Context& context, cuda_abi::CUstream stream);
Captured RefuseWaitFor(DriverState& driver, cuda_abi::CUevent event);
Captured RefuseWaitFor(DriverState& driver, const Context& context);
// A question about when an event was reached.
Captured RefuseTimeOf(DriverState& driver, cuda_abi::CUevent event);
// Work that no node can do. `invalidates`: the capture, too.
Captured RefuseCaptured(DriverState& driver, const Context& context, cuda_abi::CUstream stream,
                        bool invalidates = true);

// They are destroyed.
void ForgetCaptured(DriverState& driver, cuda_abi::CUstream stream);
void ForgetCaptured(DriverState& driver, cuda_abi::CUevent event);
// And with a context all that is captured of its streams, those of threads too.
void ForgetCaptured(DriverState& driver, const Context& context);

// A copy of one row.
inline cuda_abi::CUDA_MEMCPY3D RowOf(cuda_abi::CUmemorytype to_type, cuda_abi::CUdeviceptr to,
                                     cuda_abi::CUmemorytype from_type, cuda_abi::CUdeviceptr from,
                                     size_t size) {
  cuda_abi::CUDA_MEMCPY3D copy = {};
  copy.dstMemoryType = to_type;
  copy.srcMemoryType = from_type;
  if (to_type == cuda_abi::CU_MEMORYTYPE_HOST) {
    copy.dstHost = ToPointer<void*>(to);
  } else {
    copy.dstDevice = to;
  }
  if (from_type == cuda_abi::CU_MEMORYTYPE_HOST) {
    copy.srcHost = ToPointer<const void*>(from);
  } else {
    copy.srcDevice = from;
  }
  copy.WidthInBytes = size;
  copy.Height = 1;
  copy.Depth = 1;
  return copy;
}

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_CAPTURING_H_
