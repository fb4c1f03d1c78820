// Green contexts: a primary context with some of its multiprocessors. What is made while one is
// current belongs to the primary one; only streams know in which they were made.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_CONTEXTS_GREEN_CONTEXTS_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_CONTEXTS_GREEN_CONTEXTS_H_

#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/process.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::libcuda {

// The green context that is current for the calling thread, or null.
inline Context* CurrentGreen() {
  const StackOfContexts& stack = ContextStack();
  if (stack.empty() || stack.back().context == nullptr) return nullptr;
  return stack.back().context->whole != nullptr ? stack.back().context : nullptr;
}

// What cuDevicePrimaryCtxRelease does. False: nobody holds it.
bool Release(DriverState& driver, Context& primary);

// What cuStreamCreate does, in a context; `green` may be null.
cuda_abi::CUresult MakeStream(DriverState& driver, Context& context, Context* green,
                              unsigned int flags, int priority, cuda_abi::CUstream* stream);

// What cuCtxRecordEvent and cuCtxWaitEvent do, of a context of any kind.
cuda_abi::CUresult RecordOfContext(const CallSite& site, cuda_abi::CUcontext handle,
                                   cuda_abi::CUevent event);
cuda_abi::CUresult WaitOfContext(const CallSite& site, cuda_abi::CUcontext handle,
                                 cuda_abi::CUevent event);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_CONTEXTS_GREEN_CONTEXTS_H_
