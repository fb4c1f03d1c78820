// Which stream a handle names, and which streams wait for each other without being told to.

#ifndef TWINMMU_SIM_LIBCUDA_STREAM_ORDER_H_
#define TWINMMU_SIM_LIBCUDA_STREAM_ORDER_H_

#include <cstdint>
#include <vector>

#include "api/executor.h"
#include "sim/libcuda/process.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::libcuda {

// The default stream for the calls of this thread: null, or, in the forms of functions for the
// default stream of a thread, that.
extern thread_local cuda_abi::CUstream default_stream __attribute__((tls_model("initial-exec")));

// While this thread runs a function of the program that a stream called: the stream's context.
extern thread_local Context* host_function_context __attribute__((tls_model("initial-exec")));

// The stream that a handle names, for a call in `context`. One that does not exist is of the device
// of the context; the simulator refuses it. A thread gets its default stream here. Throws
// std::bad_alloc; and Refusal for a default stream where a stream called a function of the program,
// which has no current context.
Stream StreamOf(DriverState& driver, const Context& context, cuda_abi::CUstream stream);
// Throws that Refusal.
void CheckDefaultStream();
// The same handle, but for a default stream where a green context is current: that one's own
// stream. Throws Refusal for default streams of threads, of which it has none, and that one.
// Source: an H200 with driver 580.159.
cuda_abi::CUstream OfCurrent(cuda_abi::CUstream stream);
// Whether there is one: the default streams always are.
bool IsStream(const DriverState& driver, cuda_abi::CUstream stream);

// The streams that the default stream of a context waits for, and that wait for it: those that are
// not made CU_STREAM_NON_BLOCKING. Those of threads that have ended count as one.
std::vector<uint64_t> BlockingStreamsOf(DriverState& driver, const Context& context);
// To be called before work is given to `stream`: makes it wait for those streams, or for that one.
// Throws std::bad_alloc.
void KeepDefaultOrder(DriverState& driver, const Context& context, Stream stream);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_STREAM_ORDER_H_
