#include "sim/libcuda/calls/enter.h"

#include <cstring>

#include "sim/libcuda/calls/capturing.h"

namespace twinmmu::libcuda {
namespace {

// Libraries ask a driver that may not be used yet, to find out: what only asks is no misuse.
bool OnlyAsks(const CallSite& site) { return std::strstr(site.name(), "Get") != nullptr; }

}  // namespace

DriverCode Misused(const CallSite& site, DiagnosticKind kind, DriverCode code) {
  Diagnostic diagnostic;
  diagnostic.kind = kind;
  diagnostic.severity = InfoOf(kind).severity;
  diagnostic.call = site.name();
  Process::Get().report().Add(diagnostic);
  return code;
}

DriverCode NullPointer(const CallSite& site) {
  return Misused(site, DiagnosticKind::kNullPointer, DriverCode::kInvalidValue);
}

DriverCode Admit(const CallSite& site, DriverState** driver) {
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
  if (ABSL_PREDICT_FALSE((*driver)->captures.MayMatter())) return AdmitCaptured(site, **driver);
  return DriverCode::kSuccess;
}

DriverCode CurrentContext(const CallSite& site, Context** context) {
  const std::vector<StackedContext>& stack = ContextStack();
  if (ABSL_PREDICT_FALSE(stack.empty())) {
    return Misused(site, DiagnosticKind::kNoCurrentContext, DriverCode::kInvalidContext);
  }
  *context = stack.back().context;
  if (ABSL_PREDICT_FALSE(*context == nullptr)) {
    return Misused(site, DiagnosticKind::kUseOfUnknownContext, DriverCode::kContextIsDestroyed);
  }
  if (ABSL_PREDICT_TRUE((*context)->alive.load(std::memory_order_relaxed))) {
    return DriverCode::kSuccess;
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

}  // namespace twinmmu::libcuda
