// What the simulator does not have yet: exported, so that programs load, and NOT_SUPPORTED.

#include <atomic>
#include <new>

#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"

namespace twinmmu::libcuda {
namespace {

// The report names each function once, however often it is called.
CUresult Refuse(const CallSite& site) {
  static std::atomic<bool> is_named[kCallCount];
  return Enter(site, [&](DriverState&) {
    if (is_named[kCallOf[site.symbol]].exchange(true)) return DriverCode::kNotSupported;
    return Misused(site, DiagnosticKind::kFunctionNotSimulated, DriverCode::kNotSupported);
  });
}

}  // namespace

// Nothing here declares them: their parameters stay where the caller put them.
#define TWINMMU_DEFINE_kModelled(symbol)
#define TWINMMU_DEFINE_kDeclared(symbol)
#define TWINMMU_DEFINE_kRefused(symbol) \
  extern "C" CUresult symbol() { return Refuse(TWINMMU_HERE); }
#define TWINMMU_CUDA_EXPORT(support, name, symbol, version) TWINMMU_DEFINE_##support(symbol)
#include "third_party/cuda_abi/exports.inc"

// For our CUDA runtime, another library of the process: what it has to say in the report, and where
// it says that the program called it, and which function. Other drivers do not have these; they do
// nothing but report and tell.
extern "C" void twinmmuWarn(const char* words) { Process::Get().report().Warn(words); }
extern "C" RuntimeCall* twinmmuCaller() { return &runtime_call; }

// The current context, and what is wrong with it: what cuCtxGetCurrent and cuCtxGetApiVersion tell,
// but nothing is counted, logged or reported. NOT_READY: they refuse now, and report why.
extern "C" CUresult twinmmuContext(cuda_abi::CUcontext* current) {
  *current = nullptr;
  try {
    const Process& process = Process::Get();
    const DriverState* const driver = process.driver();
    if (driver == nullptr || process.IsForked() || host_function_context != nullptr) {
      return cuda_abi::CUDA_ERROR_NOT_READY;
    }
    if (ContextStack().empty()) return ToResult(DriverCode::kInvalidContext);
    *current = ContextStack().back().handle;
    if (!HasCurrentContext()) return ToResult(DriverCode::kContextIsDestroyed);
    const KernelCalls& kernels = driver->simulator->kernels();
    if (ABSL_PREDICT_TRUE(!kernels.HaveFault())) return cuda_abi::CUDA_SUCCESS;
    return ToResult(GetDriverCode(kernels.FaultFor("cuCtxGetApiVersion")));
  } catch (const std::bad_alloc&) {
    return cuda_abi::CUDA_ERROR_NOT_READY;
  }
}

}  // namespace twinmmu::libcuda
