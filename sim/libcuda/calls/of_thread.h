// The forms of functions for the default stream of a thread: what is null is that stream, not the
// legacy one.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_OF_THREAD_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_OF_THREAD_H_

#include <utility>

#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/report/sites.h"
#include "sim/libcuda/stream_order.h"
#include "sim/libcuda/streams.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::libcuda {

inline cuda_abi::CUstream OfThread(cuda_abi::CUstream stream) {
  return stream == nullptr ? ToPointer<cuda_abi::CUstream>(kPerThreadStream) : stream;
}

// While one function calls another: who called the first one has called the second.
class PassedOn {
 public:
  explicit PassedOn(const void* caller) : before_(runtime_call) {
    if (before_.caller == nullptr) runtime_call = {caller, nullptr};
  }
  ~PassedOn() { runtime_call = before_; }
  PassedOn(const PassedOn&) = delete;
  PassedOn& operator=(const PassedOn&) = delete;

 private:
  const RuntimeCall before_;
};

// Defines `symbol`, with these parameters, as `function` with these arguments.
#define TWINMMU_OF_THREAD(symbol, function, parameters, ...)                   \
  extern "C" CUresult symbol parameters {                                      \
    const ::twinmmu::libcuda::PassedOn passed_on(__builtin_return_address(0)); \
    return function(__VA_ARGS__);                                              \
  }

// While a function without a stream is called: its work is for the stream of the thread.
class OnStreamOfThread {
 public:
  OnStreamOfThread() : before_(std::exchange(default_stream, OfThread(nullptr))) {}
  ~OnStreamOfThread() { default_stream = before_; }
  OnStreamOfThread(const OnStreamOfThread&) = delete;
  OnStreamOfThread& operator=(const OnStreamOfThread&) = delete;

 private:
  const cuda_abi::CUstream before_;
};

// As above, for a function without a stream.
#define TWINMMU_ON_STREAM_OF_THREAD(symbol, function, parameters, ...)         \
  extern "C" CUresult symbol parameters {                                      \
    const ::twinmmu::libcuda::PassedOn passed_on(__builtin_return_address(0)); \
    const ::twinmmu::libcuda::OnStreamOfThread on_stream_of_thread;            \
    return function(__VA_ARGS__);                                              \
  }

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_OF_THREAD_H_
