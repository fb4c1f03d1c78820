// ExceptionGuard: nothing that is thrown leaves the library, whose callers may be C.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_EXCEPTION_GUARD_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_EXCEPTION_GUARD_H_

#include <cxxabi.h>
#include <pthread.h>

#include "api/driver_error.h"

namespace twinmmu::libcuda {

// The error that the exception in flight stands for; to be called where it was caught. No memory:
// OUT_OF_MEMORY. What the host refused: OPERATING_SYSTEM. All else: UNKNOWN.
[[gnu::cold]] DriverCode CodeOfThrown();

inline int SetCancellation(int state) {
  int before = PTHREAD_CANCEL_ENABLE;
  pthread_setcancelstate(state, &before);
  return before;
}

// The way of every call: body(), or the error that what it throws stands for. A thread that is
// cancelled meanwhile ends after the call, which leaves nothing half done. Only a thread that ends
// in a function of the program (CallBack) is let through.
template <typename Body>
auto Guarded(const Body& body) -> decltype(body()) {
  const int cancellation = SetCancellation(PTHREAD_CANCEL_DISABLE);
  decltype(body()) result{};
  try {
    result = body();
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
    result = static_cast<decltype(body())>(CodeOfThrown());
  }
  SetCancellation(cancellation);  // not by a destructor: the thread may end here
  return result;
}

// Calls a function of the program, in which its thread may end. False: it threw.
template <typename Function>
bool CallBack(const Function& function) {
  const int cancellation = SetCancellation(PTHREAD_CANCEL_ENABLE);
  bool returned = false;
  try {
    function();
    returned = true;
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (...) {
  }
  SetCancellation(cancellation);
  return returned;
}

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_EXCEPTION_GUARD_H_
