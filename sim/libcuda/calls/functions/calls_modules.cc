// Modules: images that are loaded into a context, and what is in them.

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/functions/images.h"
#include "sim/libcuda/calls/references/references.h"
#include "sim/libcuda/modules.h"
#include "sim/ptx/program/program.h"

namespace twinmmu::libcuda {
namespace {

// CUmoduleLoadingMode.
constexpr int kEagerLoading = 1;
constexpr int kLazyLoading = 2;

CUresult LoadPtx(const CallSite& site, DriverState& driver, Context& context,
                 const absl::StatusOr<std::string>& ptx, const JitOptions& options,
                 CUmodule* module) {
  Records<ModuleRecord>::Prepared record(ModuleRecord{&context});
  const absl::Status taken = options.Check(site, driver, context.device, ptx);
  const absl::StatusOr<Module> loaded =
      taken.ok() ? driver.executor.LoadModule(context.device, *ptx) : taken;
  if (loaded.ok()) driver.modules.modules.Add(loaded->value(), std::move(record));
  options.Tell(site, loaded.status());
  return Give(loaded, module);
}

CUresult LoadImage(const CallSite& site, CUmodule* module, const void* image,
                   const JitOptions& options) {
  return EnterInContext(site, {module, image}, [&](DriverState& driver, Context& context) {
    return LoadPtx(site, driver, context, driver.simulator->kernels().PtxAt(context.device, image),
                   options, module);
  });
}

// For questions about a module: what is null, and a module that is none, count before a fault.
template <typename Body>
CUresult EnterToAskOf(const CallSite& site, CUmodule module, const void* result, const Body& body) {
  if (module == nullptr && result != nullptr) return EnterWithHandle(site, module, {}, body);
  return EnterInContext(site, NamedObject::NullFirst(module), {result}, body);
}

}  // namespace

Module ModuleOf(DriverState& driver, const Context& context, CUmodule module) {
  const std::optional<ModuleRecord> record = driver.modules.modules.Find(ToNumber(module));
  return Module(record.has_value() ? record->context->device : context.device, ToNumber(module));
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
  const CallSite site = TWINMMU_HERE;
  return EnterInContext(site, {module, name}, [&](DriverState& driver, Context& context) {
    std::string image;
    const DriverCode read = ReadImage(name, &image);
    if (read != DriverCode::kSuccess) return ToResult(read);
    return LoadPtx(site, driver, context, driver.simulator->kernels().PtxIn(context.device, image),
                   JitOptions(), module);
  });
}

extern "C" CUresult cuModuleUnload(CUmodule module) {
  return EnterWithHandle(TWINMMU_HERE, module, {}, [&](DriverState& driver, Context& context) {
    const absl::Status unloaded = driver.executor.UnloadModule(ModuleOf(driver, context, module));
    if (unloaded.ok()) {
      driver.modules.modules.Remove(ToNumber(module));
      ForgetReferences(driver, ToNumber(module));
      const auto is_of_it = [&](const FunctionRecord& function) {
        return function.module == ToNumber(module);
      };
      driver.modules.functions.RemoveIf(
          is_of_it, [&](uint64_t id) { driver.modules.stepwise_launches.Remove(id); });
    }
    return unloaded;
  });
}

// As an H200 says. Functions are loaded with their module in either mode, and what is wrong with
// the image of a library shows later.
extern "C" CUresult cuModuleGetLoadingMode(int* mode) {
  return Enter(TWINMMU_HERE, {mode}, [&](DriverState&) {
    const char* const said = std::getenv("CUDA_MODULE_LOADING");
    const bool eager = said != nullptr && absl::EqualsIgnoreCase(said, "EAGER");
    *mode = eager ? kEagerLoading : kLazyLoading;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const Needed needed = {function, name};
  return EnterWithHandle(TWINMMU_HERE, module, needed, [&](DriverState& driver, Context& context) {
    if (module == nullptr) return ToResult(DriverCode::kInvalidHandle);
    if (*name == '\0') return ToResult(DriverCode::kInvalidValue);
    Context* const owner = &OwnerOf(driver, module, context);
    Records<FunctionRecord>::Prepared record(FunctionRecord{owner, ToNumber(module), nullptr});
    const absl::StatusOr<Kernel> kernel =
        driver.executor.GetKernel(ModuleOf(driver, context, module), name);
    if (kernel.ok()) driver.modules.functions.Add(kernel->value(), std::move(record));
    return Give(kernel, function);
  });
}

extern "C" CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule module) {
  const CallSite site = TWINMMU_HERE;
  return EnterToAskOf(site, module, count, [&](DriverState& driver, Context& context) {
    const auto found =
        driver.simulator->kernels().Find(site.name(), ModuleOf(driver, context, module));
    if (found.ok()) *count = static_cast<unsigned int>(found->program->kernels().size());
    return ToResult(found.status());
  });
}

extern "C" CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int count,
                                               CUmodule module) {
  const CallSite site = TWINMMU_HERE;
  return EnterToAskOf(site, module, functions, [&](DriverState& driver, Context& context) {
    const Module named = ModuleOf(driver, context, module);
    const auto found = driver.simulator->kernels().Find(site.name(), named);
    if (!found.ok()) return ToResult(found.status());
    const std::vector<ptx::KernelInfo>& kernels = found->program->kernels();
    Context* const owner = &OwnerOf(driver, module, context);
    std::vector<CUfunction> all(std::min<size_t>(count, kernels.size()));  // or none of them
    for (size_t i = 0; i < all.size(); ++i) {
      Records<FunctionRecord>::Prepared record(FunctionRecord{owner, named.value(), nullptr});
      const absl::StatusOr<Kernel> kernel = driver.executor.GetKernel(named, kernels[i].name);
      if (!kernel.ok()) return ToResult(kernel.status());
      driver.modules.functions.Add(kernel->value(), std::move(record));
      all[i] = ToPointer<CUfunction>(kernel->value());
    }
    std::copy(all.begin(), all.end(), functions);
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* size, CUmodule module,
                                         const char* name) {
  const CallSite site = TWINMMU_HERE;
  return EnterWithHandle(site, module, {name}, [&](DriverState& driver, Context& context) {
    if (module == nullptr) return ToResult(DriverCode::kInvalidHandle);
    if (address == nullptr && size == nullptr) return ToResult(DriverCode::kInvalidValue);
    const Module named = ModuleOf(driver, context, module);
    const auto found = driver.simulator->kernels().Find(site.name(), named);
    if (!found.ok()) return ToResult(found.status());
    const bool is_function = found->program->FindKernel(name) != nullptr;
    const ptx::GlobalInfo* const variable = found->program->FindGlobal(name);
    const bool is_reference = variable != nullptr && variable->reference != ptx::Reference::kNone;
    if (*name == '\0' || is_function || is_reference) return ToResult(DriverCode::kInvalidValue);
    return Give(driver.simulator->kernels().FindGlobal(site.name(), named, name), address, size);
  });
}
TWINMMU_ALIAS(cuModuleGetGlobal, cuModuleGetGlobal_v2);

}  // namespace twinmmu::libcuda
