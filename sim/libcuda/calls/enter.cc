#include "sim/libcuda/calls/enter.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "api/record/diagnostic_event.h"
#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/checkpoints/checkpoints.h"
#include "sim/libcuda/calls/checkpoints/held_calls.h"
#include "sim/libcuda/calls/driver_log.h"

namespace twinmmu::libcuda {
namespace {

// Libraries ask a driver that may not be used yet, to find out: what only asks is no misuse.
bool OnlyAsks(const CallSite& site) { return std::strstr(site.name(), "Get") != nullptr; }

// "cuMemAlloc: size is 0": the last error of the thread, cut to this. No string, which would have
// to be destroyed with the thread.
thread_local char last_words[400];

// What a function that a stream called may call, beside what needs no driver: what a thread without
// a context may call for a stream, an event or an array that was made, but for copies, kernels and
// allocations. Source: an H200 with driver 580.159, with some 230 calls. (It hangs in
// cuArrayDestroy, and in a launch of a library's kernel.)
bool MayBeCalledByHostFunctions(absl::string_view call) {
  constexpr absl::string_view kBeginnings[] = {
      "cuArray3DGet",        "cuArrayGet",   "cuEvent",        "cuGraphLaunch", "cuGraphUpload",
      "cuLaunchHost",        "cuMemDiscard", "cuMemFreeAsync", "cuMemset",      "cuMemPrefetch",
      "cuMipmappedArrayGet", "cuStream",
  };
  const bool is_of_object =
      std::any_of(std::begin(kBeginnings), std::end(kBeginnings),
                  [&](absl::string_view beginning) { return absl::StartsWith(call, beginning); });
  const bool makes = absl::StrContains(call, "Create");
  const bool waits = absl::StartsWith(call, "cuMemset") && !absl::StrContains(call, "Async");
  return is_of_object && !makes && !waits;
}

// A green context is no more than its whole.
bool IsUsable(const Context* context) {
  if (context == nullptr || !context->alive.load(std::memory_order_relaxed)) return false;
  return context->whole == nullptr || IsUsable(context->whole);
}

// While the process is locked: see cuCheckpointProcessLock. Functions that a stream calls end
// first.
void HoldWhileLocked(const CallSite& site) {
  if (ABSL_PREDICT_TRUE(!Checkpoints::Get().HoldsCalls())) return;
  if (host_function_context != nullptr || !WaitsWhileLocked(site.name())) return;
  Checkpoints::Get().WaitUntilItRuns();
}

}  // namespace

bool HasCurrentContext() {
  return !ContextStack().empty() && IsUsable(ContextStack().back().context);
}

DriverCode AdmitInHostFunction(const CallSite& site) {
  if (host_function_context == nullptr || MayBeCalledByHostFunctions(site.name())) {
    return DriverCode::kSuccess;
  }
  return Misused(site, DiagnosticKind::kCallInHostFunction, DriverCode::kNotPermitted);
}

CUresult FailureOf(const absl::Status& status) {
  const absl::string_view words = status.message();
  const size_t size = std::min(words.size(), sizeof(last_words) - 1);
  std::memcpy(last_words, words.data(), size);
  last_words[size] = '\0';
  return ToResult(GetDriverCode(status));
}

DriverCode Misused(const CallSite& site, DiagnosticKind kind, DriverCode code,
                   absl::string_view details) {
  Diagnostic diagnostic;
  diagnostic.kind = kind;
  diagnostic.severity = InfoOf(kind).severity;
  diagnostic.call = site.name();
  diagnostic.message = std::string(details);
  Process& process = Process::Get();
  process.report().Add(diagnostic);
  if (process.events() != nullptr) record::AddDiagnostic(*process.events(), kind, &diagnostic);
  return code;
}

DriverCode NotSimulated(const CallSite& site, absl::string_view part) {
  return Misused(site, DiagnosticKind::kFunctionNotSimulated, DriverCode::kNotSupported,
                 absl::StrCat("not simulated: ", part));
}

DriverCode NullPointer(const CallSite& site) {
  return Misused(site, DiagnosticKind::kNullPointer, DriverCode::kInvalidValue);
}

DriverCode CheckNeeded(const CallSite& site, Needed needed) {
  for (const void* const pointer : needed) {
    if (ABSL_PREDICT_FALSE(pointer == nullptr)) return NullPointer(site);
  }
  return DriverCode::kSuccess;
}

std::optional<EventRecord> FindEvent(const CallSite& site, DriverState& driver,
                                     cuda_abi::CUevent event) {
  std::optional<EventRecord> record = driver.streams.events.Find(ToNumber(event));
  if (!record.has_value()) {
    Misused(site, DiagnosticKind::kUseOfUnknownEvent, DriverCode::kInvalidHandle,
            absl::StrCat("event ", ToNumber(event), " does not exist"));
  }
  return record;
}

DriverCode CurrentContext(const CallSite& site, Context** context) {
  if (ABSL_PREDICT_FALSE(host_function_context != nullptr)) {
    *context = host_function_context;
    return DriverCode::kSuccess;
  }
  const std::vector<StackedContext>& stack = ContextStack();
  if (ABSL_PREDICT_FALSE(stack.empty())) {
    return Misused(site, DiagnosticKind::kNoCurrentContext, DriverCode::kInvalidContext);
  }
  Context* const current = stack.back().context;
  if (ABSL_PREDICT_FALSE(current == nullptr)) {
    return Misused(site, DiagnosticKind::kUseOfUnknownContext, DriverCode::kContextIsDestroyed);
  }
  // What is made in a green context belongs to the primary one.
  *context = ABSL_PREDICT_TRUE(current->whole == nullptr) ? current : current->whole;
  if (ABSL_PREDICT_TRUE(IsUsable(current))) return DriverCode::kSuccess;
  if (runtime_call.is_tried && runtime_call.caller != nullptr) {
    return DriverCode::kContextIsDestroyed;
  }
  return Misused(site, DiagnosticKind::kUseOfDeadContext, DriverCode::kContextIsDestroyed);
}

DriverCode FindAlive(const CallSite& site, DriverState& driver, cuda_abi::CUcontext handle,
                     Context** context) {
  if (handle == nullptr) return CurrentContext(site, context);
  *context = driver.contexts.Find(handle);
  if (*context == nullptr) {
    return Misused(site, DiagnosticKind::kUseOfUnknownContext, DriverCode::kInvalidContext);
  }
  if ((*context)->alive) return DriverCode::kSuccess;
  return Misused(site, DiagnosticKind::kUseOfDeadContext, DriverCode::kInvalidContext);
}

namespace {

// Says in the driver's log that a call failed, and why, as far as that is known.
[[gnu::cold]] void LogFailure(const CallSite& site, CUresult result) {
  try {
    // Words of another call are not about this one.
    const absl::string_view words = last_words;
    const std::string prefix = absl::StrCat(site.name(), ": ");
    const bool about_it = words.substr(0, prefix.size()) == prefix;
    if (about_it) DriverLog::Get().Say(words.substr(prefix.size()));
    last_words[0] = '\0';
    const std::string name = DriverCodeName(static_cast<DriverCode>(result));
    DriverLog::Get().Say(absl::StrCat("Returning ", static_cast<int>(result), " (", name, ") from ",
                                      kSymbols[site.symbol].symbol));
  } catch (const std::bad_alloc&) {
  }
}

// Why a call cannot be made now, if so: before cuInit, after fork, not in this driver, not while
// streams are captured, unless the object that it names is null.
DriverCode Admit(const CallSite& site, const NamedObject& named, DriverState** driver) {
  const Process& process = Process::Get();
  *driver = process.driver();
  if (ABSL_PREDICT_FALSE(*driver == nullptr)) {
    if (OnlyAsks(site)) return DriverCode::kNotInitialized;
    return Misused(site, DiagnosticKind::kUseBeforeInit, DriverCode::kNotInitialized);
  }
  if (ABSL_PREDICT_FALSE(process.IsForked())) {
    return Misused(site, DiagnosticKind::kUseAfterFork, DriverCode::kNotInitialized);
  }
  if (ABSL_PREDICT_FALSE(kSymbols[site.symbol].version > process.driver_version())) {
    return Misused(site, DiagnosticKind::kUnsupportedByProfile, DriverCode::kNotSupported);
  }
  if (ABSL_PREDICT_FALSE(host_function_context != nullptr)) {
    const DriverCode may = AdmitInHostFunction(site);
    if (may != DriverCode::kSuccess) return may;
  }
  if (ABSL_PREDICT_TRUE(!(*driver)->captures.MayMatter()) || named.is_null()) {
    return DriverCode::kSuccess;
  }
  return AdmitCaptured(site, **driver);
}

// Whether the current context of the thread counts for a call that names an object.
bool HasContextFor(const NamedObject& named) {
  if (named.is_none() && !named.is_null_first()) return true;
  if (host_function_context != nullptr || ContextStack().empty()) return false;
  return named.is_of_copy() || HasCurrentContext();
}

// There is no object with that handle that has a context, nor has the thread one.
DriverCode NoSuchObject(const CallSite& site, const NamedObject& named) {
  if (named.id() == 0) return DriverCode::kInvalidHandle;
  if (!ContextStack().empty()) {
    return Misused(site, DiagnosticKind::kUseOfDeadContext, DriverCode::kInvalidHandle);
  }
  if (named.is_event()) {
    return Misused(site, DiagnosticKind::kUseOfUnknownEvent, DriverCode::kInvalidHandle,
                   absl::StrCat("event ", named.id(), " does not exist"));
  }
  if (named.is_stream() || named.is_created()) {
    return Misused(site, DiagnosticKind::kUseOfUnknownStream,
                   named.is_stream() ? DriverCode::kInvalidContext : DriverCode::kInvalidHandle,
                   absl::StrCat("stream ", named.id(), " does not exist"));
  }
  return DriverCode::kInvalidHandle;
}

// The context that a call is in. Without a current one, what is null counts before it.
DriverCode FindContext(const CallSite& site, const DriverState& driver, const NamedObject& named,
                       Needed needed, Context** context) {
  if (ABSL_PREDICT_TRUE(HasContextFor(named))) return CurrentContext(site, context);
  const DriverCode code = CheckNeeded(site, needed);
  if (code != DriverCode::kSuccess) return code;
  if (named.is_none()) return CurrentContext(site, context);
  const bool in_function = host_function_context != nullptr;
  *context = named.FindContext(driver);
  if (IsUsable(*context)) return DriverCode::kSuccess;
  if (named.is_default_stream()) CheckDefaultStream();
  const bool is_unknown_stream = !named.is_default_stream() && ContextStack().empty();
  if (!in_function && (!named.is_stream() || is_unknown_stream)) return NoSuchObject(site, named);
  return CurrentContext(site, context);
}

CUresult RunIn(const CallSite& site, const NamedObject& named, Needed needed,
               absl::FunctionRef<CUresult(DriverState&, Context&)> body) {
  return RunCall(site, [&] {
    DriverState* driver = nullptr;
    Context* context = nullptr;
    DriverCode code = Admit(site, named, &driver);
    if (code == DriverCode::kSuccess) code = FindContext(site, *driver, named, needed, &context);
    if (code != DriverCode::kSuccess) return ToResult(code);
    HoldWhileLocked(site);
    return body(*driver, *context);
  });
}

}  // namespace

CUresult RunCall(const CallSite& site, absl::FunctionRef<CUresult()> body) {
  return Guarded([&]() -> CUresult {
    Process& process = Process::Get();
    ReportedCall call(process.report(), kCallOf[site.symbol], site.caller);
    const std::optional<DriverCode> injected = process.injector().Fails(kCallOf[site.symbol]);
    CUresult result = cuda_abi::CUDA_SUCCESS;
    try {
      result = ABSL_PREDICT_FALSE(injected.has_value()) ? ToResult(*injected) : body();
    } catch (const abi::__forced_unwind&) {
      throw;
    } catch (const Refusal& refusal) {
      if (refusal.details != nullptr) Misused(site, refusal.kind, refusal.code, refusal.details);
      result = ToResult(refusal.code);
    } catch (...) {
      result = ToResult(CodeOfThrown());
    }
    if (result == cuda_abi::CUDA_SUCCESS || result == cuda_abi::CUDA_ERROR_NOT_READY) {
      call.Succeed();
    } else {
      LogFailure(site, result);
    }
    return result;
  });
}

CUresult RunInDriver(const CallSite& site, Needed needed,
                     absl::FunctionRef<CUresult(DriverState&)> body) {
  return RunCall(site, [&] {
    DriverState* driver = nullptr;
    DriverCode code = Admit(site, NamedObject(), &driver);
    if (code == DriverCode::kSuccess) code = CheckNeeded(site, needed);
    if (code != DriverCode::kSuccess) return ToResult(code);
    HoldWhileLocked(site);
    return body(*driver);
  });
}

CUresult FaultOf(const CallSite& site, DriverState& driver) {
  const KernelCalls& kernels = driver.simulator->kernels();
  return ABSL_PREDICT_TRUE(!kernels.HaveFault()) ? cuda_abi::CUDA_SUCCESS
                                                 : ToResult(kernels.FaultFor(site.name()));
}

CUresult FaultOn(const CallSite& site, DriverState& driver, cuda_abi::CUstream stream) {
  const CUresult fault = FaultOf(site, driver);
  const bool is_whole = fault == cuda_abi::CUDA_SUCCESS;
  return is_whole || IsStream(driver, stream) ? fault : ToResult(DriverCode::kInvalidHandle);
}

CUresult RunInContext(const CallSite& site, const NamedObject& named, Needed needed,
                      absl::FunctionRef<CUresult(DriverState&, Context&)> body) {
  return RunIn(site, named, needed, [&](DriverState& driver, Context& context) {
    const CUresult fault = FaultOf(site, driver);
    const bool counts = ABSL_PREDICT_FALSE(fault != cuda_abi::CUDA_SUCCESS);
    if (counts && !named.is_null_first()) return fault;
    const DriverCode code = CheckNeeded(site, needed);
    if (counts && code == DriverCode::kSuccess) return fault;
    return code == DriverCode::kSuccess ? body(driver, context) : ToResult(code);
  });
}

CUresult RunInAnyContext(const CallSite& site, const NamedObject& named, Needed needed,
                         absl::FunctionRef<CUresult(DriverState&, Context&)> body) {
  return RunIn(site, named, needed, [&](DriverState& driver, Context& context) {
    const DriverCode code = CheckNeeded(site, needed);
    return code == DriverCode::kSuccess ? body(driver, context) : ToResult(code);
  });
}

}  // namespace twinmmu::libcuda
