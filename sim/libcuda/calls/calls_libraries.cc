// Libraries: modules that belong to no context, and their kernels.

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

// Where there is no context yet, for the first device.
DeviceOrdinal AnyDevice() {
  const StackOfContexts& stack = ContextStack();
  const bool has = !stack.empty() && stack.back().context != nullptr;
  return has ? stack.back().context->device : DeviceOrdinal(0);
}

// Compiles it once, so that what is wrong shows here, as it does with a module.
CUresult Keep(Machine& machine, absl::StatusOr<std::string> ptx, const JitOptions& options,
              CUlibrary* library) {
  absl::Status status = ptx.status();
  LibraryRecord record;
  if (status.ok()) {
    const DeviceOrdinal device = AnyDevice();
    const absl::StatusOr<Module> loaded = machine.executor.LoadModule(device, *ptx);
    status = loaded.status();
    if (status.ok()) {
      record.modules[device.value()] = loaded->value();
      record.ptx = *std::move(ptx);
    }
  }
  options.Tell(status);
  if (!status.ok()) return ToResult(status);
  const uint64_t number = kFirstLibrary + ++machine.modules.last_id;
  machine.modules.libraries.Add(number, record);
  *library = ToPointer<CUlibrary>(number);
  return CUDA_SUCCESS;
}

CUresult GetKernel(Machine& machine, uint64_t library, const std::string& name, CUkernel* kernel) {
  uint64_t number = 0;
  machine.modules.kernels.ForEach([&](uint64_t known, const KernelRecord& record) {
    if (record.library == library && record.name == name) number = known;
  });
  if (number == 0) {
    number = kFirstKernel + ++machine.modules.last_id;
    machine.modules.kernels.Add(number, KernelRecord{library, name, std::nullopt});
  }
  *kernel = ToPointer<CUkernel>(number);
  return CUDA_SUCCESS;
}

// The program of a library, wherever it is loaded.
absl::StatusOr<LoadedModule> ProgramOf(Machine& machine, const CallSite& site, uint64_t library) {
  const std::optional<LibraryRecord> record = machine.modules.libraries.Find(library);
  if (!record.has_value() || record->modules.empty()) {
    return MakeDriverStatus({DriverCode::kInvalidHandle, ErrorOrigin::kSimulator, site.name()},
                            "there is no such library");
  }
  const auto& [device, module] = *record->modules.begin();
  return machine.simulator->kernels().Find(site.name(), Module(DeviceOrdinal(device), module));
}

}  // namespace

absl::StatusOr<Module> LoadOn(Machine& machine, Context& context, uint64_t library) {
  const std::optional<LibraryRecord> record = machine.modules.libraries.Find(library);
  if (!record.has_value()) {
    return MakeDriverStatus({DriverCode::kInvalidHandle, ErrorOrigin::kSimulator, "cuLibrary"},
                            "there is no such library");
  }
  const int device = context.device.value();
  const auto there = record->modules.find(device);
  if (there != record->modules.end()) return Module(context.device, there->second);
  const absl::StatusOr<Module> loaded = machine.executor.LoadModule(context.device, record->ptx);
  if (!loaded.ok()) return loaded;
  uint64_t kept = loaded->value();
  machine.modules.libraries.Edit(library, [&](LibraryRecord& known) {
    kept = known.modules.emplace(device, kept).first->second;
  });
  // Another thread was faster.
  if (kept != loaded->value()) machine.executor.UnloadModule(*loaded).IgnoreError();
  return Module(context.device, kept);
}

extern "C" CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* options,
                                      void** values, unsigned int count, int* /*library_options*/,
                                      void** /*library_values*/, unsigned int /*library_count*/) {
  const CallSite site = TWINMMU_HERE(cuLibraryLoadData);
  return Enter(site, [&](Machine& machine) {
    if (library == nullptr || image == nullptr) return ToResult(NullPointer(site));
    return Keep(machine, machine.simulator->kernels().PtxAt(AnyDevice(), image),
                JitOptions(count, options, values), library);
  });
}

extern "C" CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* name,
                                          CUjit_option* options, void** values, unsigned int count,
                                          int* /*library_options*/, void** /*library_values*/,
                                          unsigned int /*library_count*/) {
  const CallSite site = TWINMMU_HERE(cuLibraryLoadFromFile);
  return Enter(site, [&](Machine& machine) {
    if (library == nullptr || name == nullptr) return ToResult(NullPointer(site));
    std::string image;
    if (!ReadFile(name, &image)) return ToResult(DriverCode::kFileNotFound);
    return Keep(machine, machine.simulator->kernels().PtxIn(AnyDevice(), image),
                JitOptions(count, options, values), library);
  });
}

extern "C" CUresult cuLibraryUnload(CUlibrary library) {
  return Enter(TWINMMU_HERE(cuLibraryUnload), [&](Machine& machine) {
    const uint64_t number = ToNumber(library);
    const std::optional<LibraryRecord> record = machine.modules.libraries.Find(number);
    if (!record.has_value()) return ToResult(DriverCode::kInvalidHandle);
    for (const auto& [device, module] : record->modules) {
      const absl::Status unloaded =
          machine.executor.UnloadModule(Module(DeviceOrdinal(device), module));
      if (!unloaded.ok()) return ToResult(unloaded);
    }
    machine.modules.libraries.Remove(number);
    std::vector<uint64_t> gone;
    machine.modules.kernels.ForEach([&](uint64_t kernel, const KernelRecord& known) {
      if (known.library == number) gone.push_back(kernel);
    });
    for (const uint64_t kernel : gone) machine.modules.kernels.Remove(kernel);
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  const CallSite site = TWINMMU_HERE(cuLibraryGetKernel);
  return Enter(site, [&](Machine& machine) {
    if (kernel == nullptr || name == nullptr) return ToResult(NullPointer(site));
    const auto program = ProgramOf(machine, site, ToNumber(library));
    if (!program.ok()) return ToResult(program.status());
    if (program->program->FindKernel(name) == nullptr) return ToResult(DriverCode::kNotFound);
    return GetKernel(machine, ToNumber(library), name, kernel);
  });
}

extern "C" CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary library) {
  const CallSite site = TWINMMU_HERE(cuLibraryGetKernelCount);
  return Enter(site, [&](Machine& machine) {
    if (count == nullptr) return ToResult(NullPointer(site));
    const auto program = ProgramOf(machine, site, ToNumber(library));
    if (program.ok()) *count = static_cast<unsigned int>(program->program->kernels().size());
    return ToResult(program.status());
  });
}

extern "C" CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int count,
                                              CUlibrary library) {
  const CallSite site = TWINMMU_HERE(cuLibraryEnumerateKernels);
  return Enter(site, [&](Machine& machine) {
    if (kernels == nullptr) return ToResult(NullPointer(site));
    const auto program = ProgramOf(machine, site, ToNumber(library));
    if (!program.ok()) return ToResult(program.status());
    const std::vector<ptx::KernelInfo>& known = program->program->kernels();
    for (size_t i = 0; i < known.size() && i < count; ++i) {
      GetKernel(machine, ToNumber(library), known[i].name, &kernels[i]);
    }
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  const CallSite site = TWINMMU_HERE(cuLibraryGetModule);
  return EnterInContext(site, [&](Machine& machine, Context& context) {
    if (module == nullptr) return ToResult(NullPointer(site));
    const absl::StatusOr<Module> loaded = LoadOn(machine, context, ToNumber(library));
    if (loaded.ok()) *module = ToPointer<CUmodule>(loaded->value());
    return ToResult(loaded.status());
  });
}

extern "C" CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* size, CUlibrary library,
                                       const char* name) {
  const CallSite site = TWINMMU_HERE(cuLibraryGetGlobal);
  return EnterInContext(site, [&](Machine& machine, Context& context) {
    if (name == nullptr) return ToResult(NullPointer(site));
    const absl::StatusOr<Module> loaded = LoadOn(machine, context, ToNumber(library));
    if (!loaded.ok()) return ToResult(loaded.status());
    const auto found = machine.simulator->kernels().FindGlobal(site.name(), *loaded, name);
    if (!found.ok()) return ToResult(found.status());
    if (address != nullptr) *address = found->base.value();
    if (size != nullptr) *size = found->size.value();
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  const CallSite site = TWINMMU_HERE(cuKernelGetFunction);
  return EnterInContext(site, [&](Machine& machine, Context& context) {
    if (function == nullptr) return ToResult(NullPointer(site));
    const absl::StatusOr<Kernel> found =
        KernelOf(machine, context, ToPointer<CUfunction>(ToNumber(kernel)));
    if (found.ok()) *function = ToPointer<CUfunction>(found->value());
    return ToResult(found.status());
  });
}

extern "C" CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
  const CallSite site = TWINMMU_HERE(cuKernelGetLibrary);
  return Enter(site, [&](Machine& machine) {
    if (library == nullptr) return NullPointer(site);
    const std::optional<KernelRecord> record = machine.modules.kernels.Find(ToNumber(kernel));
    if (!record.has_value()) return DriverCode::kInvalidHandle;
    *library = ToPointer<CUlibrary>(record->library);
    return DriverCode::kSuccess;
  });
}

}  // namespace twinmmu::libcuda
