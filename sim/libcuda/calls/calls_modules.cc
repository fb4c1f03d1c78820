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

CUresult Keep(DriverState& driver, Context& context, const absl::StatusOr<Module>& loaded,
              CUmodule* module) {
  if (loaded.ok()) driver.modules.modules.Add(loaded->value(), ModuleRecord{&context});
  return Give(loaded, module);
}

CUresult LoadImage(const CallSite& site, CUmodule* module, const void* image,
                   const JitOptions& options) {
  return EnterInContext(site, {module, image}, [&](DriverState& driver, Context& context) {
    const absl::StatusOr<std::string> ptx =
        driver.simulator->kernels().PtxAt(context.device, image);
    const absl::StatusOr<Module> loaded =
        ptx.ok() ? driver.executor.LoadModule(context.device, *ptx) : ptx.status();
    options.Tell(loaded.status());
    return Keep(driver, context, loaded, module);
  });
}

}  // namespace

Module ModuleOf(DriverState& driver, const Context& context, CUmodule module) {
  const std::optional<ModuleRecord> record = driver.modules.modules.Find(ToNumber(module));
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
  return LoadImage(TWINMMU_HERE, module, image, JitOptions(count, options, values));
}

extern "C" CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return LoadImage(TWINMMU_HERE, module, image, JitOptions());
}

extern "C" CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return LoadImage(TWINMMU_HERE, module, image, JitOptions());
}

extern "C" CUresult cuModuleLoad(CUmodule* module, const char* name) {
  return EnterInContext(TWINMMU_HERE, {module, name}, [&](DriverState& driver, Context& context) {
    std::string image;
    if (!ReadFile(name, &image)) return ToResult(DriverCode::kFileNotFound);
    absl::StatusOr<std::string> ptx = driver.simulator->kernels().PtxIn(context.device, image);
    if (!ptx.ok()) return ToResult(ptx.status());
    return Keep(driver, context, driver.executor.LoadModule(context.device, *ptx), module);
  });
}

extern "C" CUresult cuModuleUnload(CUmodule module) {
  return EnterInContext(TWINMMU_HERE, [&](DriverState& driver, Context& context) {
    const absl::Status unloaded = driver.executor.UnloadModule(ModuleOf(driver, context, module));
    if (unloaded.ok()) {
      driver.modules.modules.Remove(ToNumber(module));
      std::vector<uint64_t> gone;
      driver.modules.functions.ForEach([&](uint64_t id, const FunctionRecord& record) {
        if (record.module == ToNumber(module)) gone.push_back(id);
      });
      for (const uint64_t function : gone) driver.modules.functions.Remove(function);
    }
    return unloaded;
  });
}

extern "C" CUresult cuModuleGetLoadingMode(int* mode) {
  return Enter(TWINMMU_HERE, {mode}, [&](DriverState&) {
    *mode = kEagerLoading;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return EnterInContext(TWINMMU_HERE, {function, name}, [&](DriverState& driver, Context& context) {
    const absl::StatusOr<Kernel> kernel =
        driver.executor.GetKernel(ModuleOf(driver, context, module), name);
    if (kernel.ok()) {
      driver.modules.functions.Add(kernel->value(), FunctionRecord{&context, ToNumber(module)});
    }
    return Give(kernel, function);
  });
}

extern "C" CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule module) {
  const CallSite site = TWINMMU_HERE;
  return EnterInContext(site, {count}, [&](DriverState& driver, Context& context) {
    const auto found =
        driver.simulator->kernels().Find(site.name(), ModuleOf(driver, context, module));
    if (found.ok()) *count = static_cast<unsigned int>(found->program->kernels().size());
    return ToResult(found.status());
  });
}

extern "C" CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int count,
                                               CUmodule module) {
  const CallSite site = TWINMMU_HERE;
  return EnterInContext(site, {functions}, [&](DriverState& driver, Context& context) {
    const Module named = ModuleOf(driver, context, module);
    const auto found = driver.simulator->kernels().Find(site.name(), named);
    if (!found.ok()) return ToResult(found.status());
    const std::vector<ptx::KernelInfo>& kernels = found->program->kernels();
    for (size_t i = 0; i < std::min<size_t>(count, kernels.size()); ++i) {
      const absl::StatusOr<Kernel> kernel = driver.executor.GetKernel(named, kernels[i].name);
      if (!kernel.ok()) return ToResult(kernel.status());
      driver.modules.functions.Add(kernel->value(), FunctionRecord{&context, named.value()});
      functions[i] = ToPointer<CUfunction>(kernel->value());
    }
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* size, CUmodule module,
                                         const char* name) {
  const CallSite site = TWINMMU_HERE;
  return EnterInContext(site, {name}, [&](DriverState& driver, Context& context) {
    const Module named = ModuleOf(driver, context, module);
    return Give(driver.simulator->kernels().FindGlobal(site.name(), named, name), address, size);
  });
}
TWINMMU_ALIAS(cuModuleGetGlobal, cuModuleGetGlobal_v2);

}  // namespace twinmmu::libcuda
