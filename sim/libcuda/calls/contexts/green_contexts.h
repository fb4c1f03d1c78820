// Green contexts: a primary context with some of its multiprocessors. What is made while one is
// current belongs to the primary one; only streams know in which they were made. It has a default
// stream of its own, which waits for no other, and none of threads.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_CONTEXTS_GREEN_CONTEXTS_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_CONTEXTS_GREEN_CONTEXTS_H_

#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/process.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::libcuda {

// What cuDevicePrimaryCtxRelease does. False: nobody holds it.
bool Release(DriverState& driver, Context& primary);

// What cuStreamCreate does, in a context; `green` may be null.
cuda_abi::CUresult MakeStream(DriverState& driver, Context& context, Context* green,
                              unsigned int flags, int priority, cuda_abi::CUstream* stream);

// What cuCtxSynchronize does, of a context of any kind: of a green one its own streams count.
cuda_abi::CUresult Synchronize(DriverState& driver, const Context& context);

// What cuCtxRecordEvent and cuCtxWaitEvent do, of a context of any kind.
cuda_abi::CUresult RecordOfContext(const CallSite& site, cuda_abi::CUcontext handle,
                                   cuda_abi::CUevent event);
cuda_abi::CUresult WaitOfContext(const CallSite& site, cuda_abi::CUcontext handle,
                                 cuda_abi::CUevent event);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_CONTEXTS_GREEN_CONTEXTS_H_
