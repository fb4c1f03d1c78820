#include "sim/calls/executor/kernel_calls.h"

#include "sim/base/errors.h"
#include "sim/calls/executor/simulated_modules.h"
#include "sim/mmu/mmu.h"
#include "sim/profile/device_limits.h"
#include "sim/ptx/program/program.h"
#include "sim/ptx/text/fat_binary.h"

namespace twinmmu {
namespace {

constexpr char kLoadCall[] = "cuModuleLoadData";

int CapabilityOf(const Profile& profile, DeviceOrdinal device) {
  return ComputeCapabilityOf(profile, device).value_or(90);
}

absl::StatusOr<std::string> AsDriverStatus(absl::StatusOr<std::string> ptx) {
  if (ptx.ok()) return ptx;
  switch (ptx.status().code()) {
    case absl::StatusCode::kNotFound:
      return Fail(DriverCode::kNoBinaryForGpu, kLoadCall, ptx.status().message());
    case absl::StatusCode::kResourceExhausted:
      return Fail(DriverCode::kOutOfMemory, kLoadCall, ptx.status().message());
    default:
      return Fail(DriverCode::kInvalidImage, kLoadCall, ptx.status().message());
  }
}

}  // namespace

AddressRange RangeOf(const LoadedModule& module, const ptx::GlobalInfo& variable) {
  if (variable.managed >= 0) return (*module.managed)[static_cast<size_t>(variable.managed)];
  return module.image.subrange(Bytes(variable.offset), Bytes(variable.size));
}

absl::StatusOr<std::string> KernelCalls::PtxAt(DeviceOrdinal device, const void* image) const {
  return guard_.Guard(kLoadCall, [&] {
    return AsDriverStatus(ptx::PtxAt(image, CapabilityOf(mmu_.profile, device)));
  });
}

absl::StatusOr<std::string> KernelCalls::PtxIn(DeviceOrdinal device,
                                               absl::string_view image) const {
  return guard_.Guard(kLoadCall, [&] {
    return AsDriverStatus(ptx::PtxIn(image, CapabilityOf(mmu_.profile, device)));
  });
}

absl::StatusOr<ptx::Module> KernelCalls::Parse(const char* call, DeviceOrdinal device,
                                               absl::string_view ptx) const {
  return guard_.Guard(call, [&] { return modules_.Parse(device, ptx); });
}

absl::StatusOr<Module> KernelCalls::Load(DeviceOrdinal device, absl::string_view ptx,
                                         std::optional<Module> other) {
  return guard_.Guard(kLoadCall, [&]() -> absl::StatusOr<Module> {
    if (!other.has_value()) return modules_.Load(device, ptx, nullptr);
    const absl::StatusOr<LoadedModule> known = modules_.FindModule(kLoadCall, *other);
    if (!known.ok()) return known.status();
    return modules_.Load(device, ptx, known->managed);
  });
}

absl::Status KernelCalls::Unload(Module module) {
  return guard_.Guard("cuModuleUnload", [&] {
    modules_.Unload(module);
    return absl::OkStatus();
  });
}

absl::StatusOr<Kernel> KernelCalls::GetKernel(Module module, absl::string_view name) {
  return guard_.Guard("cuModuleGetFunction", [&] { return modules_.GetKernel(module, name); });
}

absl::StatusOr<LoadedModule> KernelCalls::Find(const char* call, Module module) const {
  return guard_.Guard(call, [&] { return modules_.FindModule(call, module); });
}

absl::StatusOr<LoadedKernel> KernelCalls::Find(const char* call, Kernel kernel) const {
  return guard_.Guard(call, [&] { return modules_.FindKernel(call, kernel); });
}

absl::StatusOr<AddressRange> KernelCalls::FindGlobal(const char* call, Module module,
                                                     absl::string_view name) const {
  return guard_.Guard(call, [&]() -> absl::StatusOr<AddressRange> {
    const absl::StatusOr<LoadedModule> known = modules_.FindModule(call, module);
    if (!known.ok()) return known.status();
    const ptx::GlobalInfo* const global = known->program->FindGlobal(name);
    if (global == nullptr) {
      return Fail(DriverCode::kNotFound, call, "the module has no variable ", name);
    }
    return RangeOf(*known, *global);
  });
}

std::shared_ptr<ptx::GraphConditions> KernelCalls::conditions() const {
  return modules_.conditions();
}

absl::Status KernelCalls::Set(Kernel kernel, KernelSetting setting, int value, SettingOf of) {
  return guard_.Guard("cuFuncSetAttribute",
                      [&] { return modules_.Set(kernel, setting, value, of); });
}

absl::Status KernelCalls::CheckLaunch(const LoadedKernel& kernel, const LaunchConfig& config) {
  return guard_.Guard("cuLaunchKernel", [&] { return modules_.CheckLaunch(kernel, config); });
}

absl::StatusOr<Dim3> KernelCalls::CheckShape(const LoadedKernel& kernel, const LaunchConfig& config,
                                             const LaunchForm& form) {
  return guard_.Guard("cuLaunchKernel", [&] { return modules_.CheckShape(kernel, config, form); });
}

absl::Status KernelCalls::SetHeapSize(DeviceOrdinal device, Bytes size) {
  return guard_.Guard("cuCtxSetLimit", [&] {
    modules_.SetHeapSize(device, size);
    return absl::OkStatus();
  });
}

absl::Status KernelCalls::ForgetHeap(DeviceOrdinal device) {
  return guard_.Guard("cuDevicePrimaryCtxReset", [&] {
    modules_.ForgetHeap(device);
    return absl::OkStatus();
  });
}

std::vector<Diagnostic> KernelCalls::HeapLeaks(std::optional<DeviceOrdinal> device) const {
  return modules_.HeapLeaks(device);
}

absl::StatusOr<Dim3> KernelCalls::ClusterOf(const LoadedKernel& kernel, const Dim3& grid,
                                            const LaunchForm& form) const {
  return guard_.Guard("cuLaunchKernelEx", [&] { return modules_.ClusterOf(kernel, grid, form); });
}

bool KernelCalls::HaveFault() const { return modules_.HaveFault(); }

absl::Status KernelCalls::FaultFor(const char* call) const { return modules_.FaultFor(call); }

absl::Status KernelCalls::LaunchFault(Stream stream, const std::string& words) {
  return guard_.Guard("cuGraphLaunch", [&] { return modules_.LaunchFault(stream, words); });
}

absl::Status KernelCalls::Launch(Stream stream, Kernel kernel, const LaunchConfig& config,
                                 absl::Span<const void* const> arguments, const LaunchForm& form) {
  const char* const call = form.cooperative ? "cuLaunchCooperativeKernel" : "cuLaunchKernelEx";
  return guard_.Guard(call,
                      [&] { return modules_.Launch(stream, kernel, config, arguments, form); });
}

}  // namespace twinmmu
