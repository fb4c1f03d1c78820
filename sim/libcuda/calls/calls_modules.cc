// Modules: images that are loaded into a context, and what is in them.

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/images.h"
#include "sim/libcuda/modules.h"
#include "sim/ptx/program/program.h"

namespace twinmmu::libcuda {
namespace {

constexpr int kEagerLoading = 1;  // CU_MODULE_EAGER_LOADING

CUresult Keep(Machine& machine, Context& context, const absl::StatusOr<Module>& loaded,
              CUmodule* module) {
  if (!loaded.ok()) return ToResult(loaded.status());
  machine.modules.modules.Add(loaded->value(), ModuleRecord{&context});
  *module = ToPointer<CUmodule>(loaded->value());
  return CUDA_SUCCESS;
}

CUresult LoadImage(const CallSite& site, CUmodule* module, const void* image,
                   const JitOptions& options) {
  return EnterInContext(site, [&](Machine& machine, Context& context) {
    if (module == nullptr || image == nullptr) return ToResult(NullPointer(site));
    const absl::StatusOr<std::string> ptx =
        machine.simulator->kernels().PtxAt(context.device, image);
    const absl::StatusOr<Module> loaded =
        ptx.ok() ? machine.executor.LoadModule(context.device, *ptx) : ptx.status();
    options.Tell(loaded.status());
    return Keep(machine, context, loaded, module);
  });
}

}  // namespace

Module ModuleOf(Machine& machine, const Context& context, CUmodule module) {
  const std::optional<ModuleRecord> record = machine.modules.modules.Find(ToNumber(module));
  return Module(record.has_value() ? record->context->device : context.device, ToNumber(module));
}

JitOptions::JitOptions(unsigned int count, const CUjit_option* options, void** values) {
  if (options == nullptr || values == nullptr) return;
  constexpr CUjit_option kInfoSize = 4;  // CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES
  for (unsigned int i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) log_ = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) size_ = &values[i];
    if (options[i] == kInfoSize) info_size_ = &values[i];
  }
}

void JitOptions::Tell(const absl::Status& status) const {
  // A size is passed as if it were a pointer, and comes back as what was written.
  if (info_size_ != nullptr) *info_size_ = nullptr;
  if (size_ == nullptr) return;
  const size_t room = ToNumber(*size_);
  size_t written = 0;
  if (log_ != nullptr && room != 0 && !status.ok()) {
    written = std::min(room - 1, status.message().size());
    std::memcpy(log_, status.message().data(), written);
    log_[written] = '\0';
  }
  *size_ = ToPointer<void*>(written);
}

bool ReadFile(const char* name, std::string* content) {
  std::ifstream file(name, std::ios::binary);
  if (!file) return false;
  content->assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return !file.bad();
}

extern "C" CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int count,
                                       CUjit_option* options, void** values) {
  return LoadImage(TWINMMU_HERE(cuModuleLoadDataEx), module, image,
                   JitOptions(count, options, values));
}

extern "C" CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return LoadImage(TWINMMU_HERE(cuModuleLoadData), module, image, JitOptions());
}

extern "C" CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return LoadImage(TWINMMU_HERE(cuModuleLoadFatBinary), module, image, JitOptions());
}

extern "C" CUresult cuModuleLoad(CUmodule* module, const char* name) {
  const CallSite site = TWINMMU_HERE(cuModuleLoad);
  return EnterInContext(site, [&](Machine& machine, Context& context) {
    if (module == nullptr || name == nullptr) return ToResult(NullPointer(site));
    std::string image;
    if (!ReadFile(name, &image)) return ToResult(DriverCode::kFileNotFound);
    absl::StatusOr<std::string> ptx = machine.simulator->kernels().PtxIn(context.device, image);
    if (!ptx.ok()) return ToResult(ptx.status());
    return Keep(machine, context, machine.executor.LoadModule(context.device, *ptx), module);
  });
}

extern "C" CUresult cuModuleUnload(CUmodule module) {
  return EnterInContext(TWINMMU_HERE(cuModuleUnload), [&](Machine& machine, Context& context) {
    const absl::Status unloaded = machine.executor.UnloadModule(ModuleOf(machine, context, module));
    if (unloaded.ok()) {
      machine.modules.modules.Remove(ToNumber(module));
      std::vector<uint64_t> gone;
      machine.modules.functions.ForEach([&](uint64_t number, const FunctionRecord& record) {
        if (record.module == ToNumber(module)) gone.push_back(number);
      });
      for (const uint64_t function : gone) machine.modules.functions.Remove(function);
    }
    return unloaded;
  });
}

extern "C" CUresult cuModuleGetLoadingMode(int* mode) {
  const CallSite site = TWINMMU_HERE(cuModuleGetLoadingMode);
  return Enter(site, [&](Machine&) {
    if (mode == nullptr) return NullPointer(site);
    *mode = kEagerLoading;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const CallSite site = TWINMMU_HERE(cuModuleGetFunction);
  return EnterInContext(site, [&](Machine& machine, Context& context) {
    if (function == nullptr || name == nullptr) return ToResult(NullPointer(site));
    const absl::StatusOr<Kernel> kernel =
        machine.executor.GetKernel(ModuleOf(machine, context, module), name);
    if (!kernel.ok()) return ToResult(kernel.status());
    machine.modules.functions.Add(kernel->value(), FunctionRecord{&context, ToNumber(module)});
    *function = ToPointer<CUfunction>(kernel->value());
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule module) {
  const CallSite site = TWINMMU_HERE(cuModuleGetFunctionCount);
  return EnterInContext(site, [&](Machine& machine, Context& context) {
    if (count == nullptr) return ToResult(NullPointer(site));
    const auto found =
        machine.simulator->kernels().Find(site.name(), ModuleOf(machine, context, module));
    if (found.ok()) *count = static_cast<unsigned int>(found->program->kernels().size());
    return ToResult(found.status());
  });
}

extern "C" CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int count,
                                               CUmodule module) {
  const CallSite site = TWINMMU_HERE(cuModuleEnumerateFunctions);
  return EnterInContext(site, [&](Machine& machine, Context& context) {
    if (functions == nullptr) return ToResult(NullPointer(site));
    const Module named = ModuleOf(machine, context, module);
    const auto found = machine.simulator->kernels().Find(site.name(), named);
    if (!found.ok()) return ToResult(found.status());
    const std::vector<ptx::KernelInfo>& kernels = found->program->kernels();
    for (size_t i = 0; i < std::min<size_t>(count, kernels.size()); ++i) {
      const absl::StatusOr<Kernel> kernel = machine.executor.GetKernel(named, kernels[i].name);
      if (!kernel.ok()) return ToResult(kernel.status());
      machine.modules.functions.Add(kernel->value(), FunctionRecord{&context, named.value()});
      functions[i] = ToPointer<CUfunction>(kernel->value());
    }
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* size, CUmodule module,
                                         const char* name) {
  const CallSite site = TWINMMU_HERE(cuModuleGetGlobal_v2);
  return EnterInContext(site, [&](Machine& machine, Context& context) {
    if (name == nullptr) return ToResult(NullPointer(site));
    const absl::StatusOr<AddressRange> found = machine.simulator->kernels().FindGlobal(
        site.name(), ModuleOf(machine, context, module), name);
    if (!found.ok()) return ToResult(found.status());
    if (address != nullptr) *address = found->base.value();
    if (size != nullptr) *size = found->size.value();
    return CUDA_SUCCESS;
  });
}
TWINMMU_ALIAS(cuModuleGetGlobal, cuModuleGetGlobal_v2);

}  // namespace twinmmu::libcuda
