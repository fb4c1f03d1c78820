// Kernels: none yet.

#include "sim/errors.h"
#include "sim/simulated_executor.h"

namespace twinmmu {
namespace {

absl::Status RunsNoKernels(const char* call) {
  return Fail(DriverCode::kNotSupported, call, "this simulator runs no kernels yet");
}

}  // namespace

absl::StatusOr<Module> SimulatedExecutor::LoadModule(DeviceOrdinal device,
                                                     absl::string_view /*ptx*/) {
  static constexpr char kCall[] = "cuModuleLoadData";
  const absl::Status known = CheckDevice(kCall, device);
  return known.ok() ? RunsNoKernels(kCall) : known;
}

absl::Status SimulatedExecutor::UnloadModule(Module /*module*/) {
  return RunsNoKernels("cuModuleUnload");
}

absl::StatusOr<Kernel> SimulatedExecutor::GetKernel(Module /*module*/, absl::string_view /*name*/) {
  return RunsNoKernels("cuModuleGetFunction");
}

absl::Status SimulatedExecutor::Launch(Stream /*stream*/, Kernel /*kernel*/,
                                       const LaunchConfig& /*config*/,
                                       absl::Span<const void* const> /*arguments*/) {
  return RunsNoKernels("cuLaunchKernel");
}

}  // namespace twinmmu
