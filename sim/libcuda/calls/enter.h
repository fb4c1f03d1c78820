// Enter: the way of every call of the program through the library.
//
//   extern "C" CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
//     return Enter(TWINMMU_HERE, [&](DriverState& driver) {
//       return driver.vmm.Unmap(RangeOf(ptr, size));
//     });
//   }

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_ENTER_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_ENTER_H_

#include <initializer_list>
#include <optional>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "api/diagnostics.h"
#include "api/driver_error.h"
#include "api/executor.h"
#include "sim/calls/executor/sync_stream.h"
#include "sim/calls/linear/linear_calls.h"
#include "sim/libcuda/calls/contexts/named_object.h"
#include "sim/libcuda/calls/exception_guard.h"
#include "sim/libcuda/process.h"
#include "sim/libcuda/stream_order.h"
#include "sim/libcuda/symbols.h"
#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::libcuda {

using cuda_abi::CUresult;

// Which entry point it is, and who called it.
struct CallSite {
  size_t symbol;  // of kSymbols
  const void* caller;

  const char* name() const { return kSymbols[symbol].name; }
};
template <size_t symbol>
CallSite Here(const void* caller) {
  static_assert(symbol < kSymbolCount, "TWINMMU_HERE stands in exported functions");
  return {symbol, caller};
}
#define TWINMMU_HERE                                                \
  (::twinmmu::libcuda::Here<::twinmmu::libcuda::IndexOf(__func__)>( \
      ::twinmmu::libcuda::CallerOf(__builtin_return_address(0))))

// Who called, of the program.
inline const void* CallerOf(const void* direct) {
  return ABSL_PREDICT_TRUE(runtime_call.caller == nullptr) ? direct : runtime_call.caller;
}

// Another exported name of a function of this file.
#define TWINMMU_ALIAS(symbol, function) \
  extern "C" decltype(function) symbol __attribute__((alias(#function)))

inline CUresult ToResult(CUresult result) { return result; }
inline CUresult ToResult(DriverCode code) { return static_cast<CUresult>(code); }
// The words of an error are kept for the driver's log.
[[gnu::cold]] CUresult FailureOf(const absl::Status& status);
inline CUresult ToResult(const absl::Status& status) {
  return ABSL_PREDICT_TRUE(status.ok()) ? cuda_abi::CUDA_SUCCESS : FailureOf(status);
}

// Says what is wrong with a call that the simulator never sees, and gives the code back.
DriverCode Misused(const CallSite& site, DiagnosticKind kind, DriverCode code,
                   absl::string_view details = {});
// The simulator does not have a part of the function: NOT_SUPPORTED. "arrays of format 0x91".
DriverCode NotSimulated(const CallSite& site, absl::string_view part);
// A result or a structure is null.
DriverCode NullPointer(const CallSite& site);
// What a call must not be given as null: its results, and the structures that it reads.
using Needed = std::initializer_list<const void*>;
DriverCode CheckNeeded(const CallSite& site, Needed needed);
// None: the event does not exist, which the report says.
std::optional<EventRecord> FindEvent(const CallSite& site, DriverState& driver,
                                     cuda_abi::CUevent event);

// Whether the calling thread has a current context that is alive; nothing is reported.
bool HasCurrentContext();
// The calling thread's current context; why there is none that can be used, if so.
DriverCode CurrentContext(const CallSite& site, Context** context);

// The context that a parameter names, or the current one where it is null: if it is alive.
DriverCode FindAlive(const CallSite& site, DriverState& driver, cuda_abi::CUcontext handle,
                     Context** context);
// While streams are captured: throws Refusal for work that is given to one, or that such streams
// would wait for, which makes the capture invalid.
[[gnu::cold]] void RefuseUncaptured(DriverState& driver, const Context& context,
                                    cuda_abi::CUstream stream);
inline void CheckUncaptured(DriverState& driver, const Context& context,
                            cuda_abi::CUstream stream) {
  if (ABSL_PREDICT_FALSE(driver.captures.MayMatter())) RefuseUncaptured(driver, context, stream);
}

// The same for calls that mind the legacy stream only, whatever they were to do.
inline void CheckLegacyUncaptured(DriverState& driver, const Context& context,
                                  cuda_abi::CUstream stream) {
  if (reinterpret_cast<uintptr_t>(stream) <= kLegacyStream) {
    CheckUncaptured(driver, context, stream);
  }
}

// The same, for work that is given to the stream a handle names: that stream.
inline Stream WorkOf(DriverState& driver, const Context& context, cuda_abi::CUstream stream) {
  CheckUncaptured(driver, context, stream);
  const Stream named = StreamOf(driver, context, stream);
  if (!driver.simulator->IsBypassingStreams()) KeepDefaultOrder(driver, context, named);
  return named;
}
// And for work without a stream: the default stream of the call.
inline SyncStream WorkOf(DriverState& driver, const Context& context) {
  return SyncStream(WorkOf(driver, context, default_stream));
}

// A context as the simulator knows it.
inline LinearCalls::Context ContextOf(Context& context) {
  return {context.device, reinterpret_cast<uintptr_t>(context.handle())};
}

// The code of a kernel that faulted, if one did: what a driver gives for nearly everything that is
// of a context from then on, whatever the arguments. Source: an H200 with driver 580.159.
CUresult FaultOf(const CallSite& site, DriverState& driver);
// The same for calls that look at the stream first: INVALID_HANDLE after a fault, if there is none.
CUresult FaultOn(const CallSite& site, DriverState& driver, cuda_abi::CUstream stream);

// In a function that a stream called: NOT_PERMITTED for nearly all calls, which the report says.
DriverCode AdmitInHostFunction(const CallSite& site);

// Runs `body`, and counts the call. What it throws becomes an error. No template, which would be
// compiled for each of the calls.
CUresult RunCall(const CallSite& site, absl::FunctionRef<CUresult()> body);
// The same for calls that need cuInit, and for those that need a context, the current one or that
// of the object they name, without a fault or after one, too.
CUresult RunInDriver(const CallSite& site, Needed needed,
                     absl::FunctionRef<CUresult(DriverState&)> body);
CUresult RunInContext(const CallSite& site, const NamedObject& named, Needed needed,
                      absl::FunctionRef<CUresult(DriverState&, Context&)> body);
CUresult RunInAnyContext(const CallSite& site, const NamedObject& named, Needed needed,
                         absl::FunctionRef<CUresult(DriverState&, Context&)> body);

// The same with a body of which any kind of result is taken: body(), body(driver), or
// body(driver, context).
template <typename Body>
CUresult EnterAlways(const CallSite& site, const Body& body) {
  return RunCall(site, [&] { return ToResult(body()); });
}
template <typename Body>
CUresult Enter(const CallSite& site, Needed needed, const Body& body) {
  return RunInDriver(site, needed, [&](DriverState& driver) { return ToResult(body(driver)); });
}
template <typename Body>
CUresult Enter(const CallSite& site, const Body& body) {
  return Enter(site, {}, body);
}
template <typename Body>
CUresult EnterInContext(const CallSite& site, const NamedObject& named, Needed needed,
                        const Body& body) {
  return RunInContext(site, named, needed, [&](DriverState& driver, Context& context) {
    return ToResult(body(driver, context));
  });
}
template <typename Body>
CUresult EnterInContext(const CallSite& site, Needed needed, const Body& body) {
  return EnterInContext(site, NamedObject(), needed, body);
}
template <typename Body>
CUresult EnterInContext(const CallSite& site, const Body& body) {
  return EnterInContext(site, NamedObject(), {}, body);
}

template <typename Body>
CUresult EnterInAnyContext(const CallSite& site, const NamedObject& named, Needed needed,
                           const Body& body) {
  return RunInAnyContext(site, named, needed, [&](DriverState& driver, Context& context) {
    return ToResult(body(driver, context));
  });
}
template <typename Body>
CUresult EnterInAnyContext(const CallSite& site, Needed needed, const Body& body) {
  return EnterInAnyContext(site, NamedObject(), needed, body);
}

// For what is wrong whatever the context.
inline CUresult RefuseAnywhere(const CallSite& site, DriverCode code) {
  return Enter(site, [=](DriverState&) { return code; });
}

// For calls that have looked at something else first: body(context), if there is a current context,
// and no fault.
template <typename Body>
CUresult InCurrentContext(const CallSite& site, DriverState& driver, const Body& body) {
  Context* context = nullptr;
  const DriverCode current = CurrentContext(site, &context);
  if (current != DriverCode::kSuccess) return ToResult(current);
  const CUresult fault = FaultOf(site, driver);
  return fault == cuda_abi::CUDA_SUCCESS ? ToResult(body(*context)) : fault;
}

// For calls that name an object, of which null is INVALID_HANDLE, after a fault, too, and before
// what else is null.
template <typename Handle, typename Body>
CUresult EnterWithHandle(const CallSite& site, Handle handle, Needed needed, const Body& body) {
  if (ABSL_PREDICT_TRUE(handle != nullptr)) return EnterInContext(site, handle, needed, body);
  return EnterInAnyContext(site, handle, {}, [&](DriverState& driver, Context& context) {
    const bool is_whole = FaultOf(site, driver) == cuda_abi::CUDA_SUCCESS;
    return is_whole ? ToResult(body(driver, context)) : ToResult(DriverCode::kInvalidHandle);
  });
}

// For calls that look at the stream before a fault counts.
template <typename Body>
CUresult EnterOnStream(const CallSite& site, cuda_abi::CUstream stream, const Body& body) {
  return EnterInAnyContext(site, stream, {}, [&](DriverState& driver, Context& context) {
    const CUresult fault = FaultOn(site, driver, stream);
    return fault == cuda_abi::CUDA_SUCCESS ? ToResult(body(driver, context)) : fault;
  });
}

// Calls a function of the program. UNKNOWN, and a diagnostic: it threw.
template <typename Function>
DriverCode CallBack(const CallSite& site, const Function& function) {
  return CallBack(function) ? DriverCode::kSuccess
                            : Misused(site, DiagnosticKind::kCallbackThrew, DriverCode::kUnknown);
}

// While this thread calls functions of the program for a stream, which belongs to `context` or to
// another one of the same device.
class HostFunctionScope {
 public:
  explicit HostFunctionScope(Context* context)
      : before_(std::exchange(host_function_context, context)) {}
  ~HostFunctionScope() { host_function_context = before_; }
  HostFunctionScope(const HostFunctionScope&) = delete;
  HostFunctionScope& operator=(const HostFunctionScope&) = delete;

 private:
  Context* const before_;
};

// Calls a function of the program for a stream. It may throw, which the report says, and end its
// thread.
template <typename Function>
void CallHostFunction(const CallSite& site, Context* context, const Function& function) {
  const HostFunctionScope scope(context);
  if (CallBack(function)) return;
  Process::Get().report().Resume(kCallOf[site.symbol], site.caller);
  Misused(site, DiagnosticKind::kCallbackThrew, DriverCode::kUnknown);
}

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_ENTER_H_
