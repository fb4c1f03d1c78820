// Libraries: modules that belong to no context, and their kernels.

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/functions/images.h"
#include "sim/libcuda/calls/references/references.h"
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

// What a driver that loads lazily, as that of an H200 does, says of an image only when something of
// it is asked for.
bool IsToldLater(const absl::Status& status) {
  switch (GetDriverCode(status)) {
    case DriverCode::kInvalidImage:
    case DriverCode::kInvalidPtx:
    case DriverCode::kUnsupportedPtxVersion:
    case DriverCode::kNotFound:
      return true;
    default:
      return false;
  }
}

bool LacksOptions(const int* options, unsigned int count) {
  return options == nullptr && count != 0;
}

// CUlibraryOption: of these the image is copied anyway, and functions of the host are none here,
// but need their table.
bool AreLibraryOptions(const int* options, void** values, unsigned int count) {
  constexpr int kHostTable = 0;
  constexpr int kOptions = 2;
  for (unsigned int i = 0; i < count; ++i) {
    if (options[i] < 0 || options[i] >= kOptions) return false;
    if (options[i] == kHostTable && (values == nullptr || values[i] == nullptr)) return false;
  }
  return true;
}

// Compiles it once, so that the report says at once what is wrong.
CUresult Keep(const CallSite& site, DriverState& driver, absl::StatusOr<std::string> ptx,
              const JitOptions& options, CUlibrary* library) {
  const DeviceOrdinal device = AnyDevice();
  absl::Status status = options.Check(site, driver, device, ptx);
  Records<LibraryRecord>::Prepared record(LibraryRecord{"", {}, {{device.value(), 0}}});
  if (status.ok()) {
    const absl::StatusOr<Module> loaded = driver.simulator->kernels().Load(device, *ptx);
    status = loaded.status();
    if (status.ok()) record->modules.begin()->second = loaded->value();
  }
  options.Tell(site, status);
  if (status.ok()) {
    record->ptx = *std::move(ptx);
  } else if (IsToldLater(status)) {
    record->refusal = status;
    record->modules.clear();
  } else {
    return ToResult(status);
  }
  const uint64_t id = kFirstLibrary + ++driver.modules.last_id;
  driver.modules.libraries.Add(id, std::move(record));
  *library = ToPointer<CUlibrary>(id);
  return CUDA_SUCCESS;
}

CUresult GetKernel(DriverState& driver, uint64_t library, const std::string& name,
                   CUkernel* kernel) {
  uint64_t id = 0;
  driver.modules.kernels.ForEach([&](uint64_t known, const KernelRecord& record) {
    if (record.library == library && record.name == name) id = known;
  });
  if (id == 0) {
    Records<KernelRecord>::Prepared record(KernelRecord{library, name});
    id = kFirstKernel + ++driver.modules.last_id;
    driver.modules.kernels.Add(id, std::move(record));
  }
  *kernel = ToPointer<CUkernel>(id);
  return CUDA_SUCCESS;
}

Module FirstOf(const std::map<int, uint64_t>& modules) {
  const auto& [device, module] = *modules.begin();
  return Module(DeviceOrdinal(device), module);
}

// The program of a library, wherever it is loaded. The status of its image, if that is no good.
absl::StatusOr<LoadedModule> ProgramOf(DriverState& driver, const CallSite& site,
                                       uint64_t library) {
  const std::optional<LibraryRecord> record = driver.modules.libraries.Find(library);
  if (record.has_value() && !record->refusal.ok()) return record->refusal;
  if (!record.has_value() || record->modules.empty()) {
    return MakeDriverStatus({DriverCode::kInvalidHandle, ErrorOrigin::kSimulator, site.name()},
                            "there is no such library");
  }
  return driver.simulator->kernels().Find(site.name(), FirstOf(record->modules));
}

// Those of an image that is no good are none.
absl::StatusOr<std::vector<std::string>> NamesOfKernels(DriverState& driver, const CallSite& site,
                                                        uint64_t library) {
  std::vector<std::string> names;
  const std::optional<LibraryRecord> record = driver.modules.libraries.Find(library);
  if (record.has_value() && !record->refusal.ok()) return names;
  const absl::StatusOr<LoadedModule> loaded = ProgramOf(driver, site, library);
  if (!loaded.ok()) return loaded.status();
  for (const ptx::KernelInfo& kernel : loaded->program->kernels()) names.push_back(kernel.name);
  return names;
}

}  // namespace

absl::StatusOr<Module> LoadOn(DriverState& driver, Context& context, uint64_t library) {
  const std::optional<LibraryRecord> record = driver.modules.libraries.Find(library);
  if (!record.has_value()) {
    return MakeDriverStatus({DriverCode::kInvalidHandle, ErrorOrigin::kSimulator, "cuLibrary"},
                            "there is no such library");
  }
  if (!record->refusal.ok()) return record->refusal;
  const int device = context.device.value();
  const auto there = record->modules.find(device);
  if (there != record->modules.end()) return Module(context.device, there->second);
  std::map<int, uint64_t> made = {{device, 0}};  // so that nothing fails after the load
  // Its managed variables are the same on all devices.
  std::optional<Module> other;
  if (!record->modules.empty()) other = FirstOf(record->modules);
  KernelCalls& kernels = driver.simulator->kernels();
  const absl::StatusOr<Module> loaded = kernels.Load(context.device, record->ptx, other);
  if (!loaded.ok()) return loaded;
  uint64_t kept = made.begin()->second = loaded->value();
  driver.modules.libraries.Edit(library, [&](LibraryRecord& known) {
    kept = known.modules.insert(made.extract(made.begin())).position->second;
  });
  // Another thread was faster.
  if (kept != loaded->value()) kernels.Unload(*loaded).IgnoreError();
  return Module(context.device, kept);
}

extern "C" CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* options,
                                      void** values, unsigned int count, int* library_options,
                                      void** library_values, unsigned int library_count) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {library, image}, [&](DriverState& driver) {
    if (LacksOptions(library_options, library_count) ||
        !AreLibraryOptions(library_options, library_values, library_count)) {
      return ToResult(DriverCode::kInvalidValue);
    }
    return Keep(site, driver, driver.simulator->kernels().PtxAt(AnyDevice(), image),
                JitOptions(count, options, values), library);
  });
}

extern "C" CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* name,
                                          CUjit_option* options, void** values, unsigned int count,
                                          int* library_options, void** library_values,
                                          unsigned int library_count) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {library, name}, [&](DriverState& driver) {
    const JitOptions jit(count, options, values);
    if (LacksOptions(library_options, library_count) || !jit.IsListTaken()) {
      return ToResult(DriverCode::kInvalidValue);
    }
    std::string image;
    const DriverCode read = ReadImage(name, &image);
    if (read != DriverCode::kSuccess) return ToResult(read);
    if (image.empty()) return ToResult(DriverCode::kInvalidImage);
    if (!AreLibraryOptions(library_options, library_values, library_count)) {
      return ToResult(DriverCode::kInvalidValue);
    }
    return Keep(site, driver, driver.simulator->kernels().PtxIn(AnyDevice(), image), jit, library);
  });
}

extern "C" CUresult cuLibraryUnload(CUlibrary library) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    const uint64_t id = ToNumber(library);
    const std::optional<LibraryRecord> record = driver.modules.libraries.Find(id);
    if (!record.has_value()) return ToResult(DriverCode::kInvalidHandle);
    if (const Captured unsafe = RefuseUnsafeCall(driver)) return *unsafe;
    for (const auto& [device, module] : record->modules) {
      const absl::Status unloaded =
          driver.simulator->kernels().Unload(Module(DeviceOrdinal(device), module));
      if (!unloaded.ok()) return ToResult(unloaded);
      ForgetReferences(driver, module);
      // The rest may have to be asked for again; and what was unloaded may be loaded again.
      const int gone = device;
      driver.modules.libraries.Edit(id, [&](LibraryRecord& known) { known.modules.erase(gone); });
    }
    driver.modules.libraries.Remove(id);
    const auto is_of_it = [&](const KernelRecord& kernel) { return kernel.library == id; };
    driver.modules.kernels.RemoveIf(is_of_it, [&](uint64_t gone) {
      driver.modules.functions.RemoveIf(
          [&](const FunctionRecord& function) { return ToNumber(function.kernel) == gone; },
          [&](uint64_t function) { driver.modules.stepwise_launches.Remove(function); });
    });
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {kernel, name}, [&](DriverState& driver) {
    const auto program = ProgramOf(driver, site, ToNumber(library));
    if (!program.ok()) return ToResult(program.status());
    if (program->program->FindKernel(name) == nullptr) return ToResult(DriverCode::kNotFound);
    return GetKernel(driver, ToNumber(library), name, kernel);
  });
}

extern "C" CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary library) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {count}, [&](DriverState& driver) {
    const auto names = NamesOfKernels(driver, site, ToNumber(library));
    if (names.ok()) *count = static_cast<unsigned int>(names->size());
    return ToResult(names.status());
  });
}

extern "C" CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int count,
                                              CUlibrary library) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {kernels}, [&](DriverState& driver) {
    const auto names = NamesOfKernels(driver, site, ToNumber(library));
    if (!names.ok()) return ToResult(names.status());
    std::vector<CUkernel> all(std::min<size_t>(count, names->size()));  // or none of them
    for (size_t i = 0; i < all.size(); ++i) {
      GetKernel(driver, ToNumber(library), (*names)[i], &all[i]);
    }
    std::copy(all.begin(), all.end(), kernels);
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {module}, [&](DriverState& driver) {
    if (library == nullptr) return ToResult(DriverCode::kInvalidHandle);
    return InCurrentContext(site, driver, [&](Context& context) {
      return Give(LoadOn(driver, context, ToNumber(library)), module);
    });
  });
}

extern "C" CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* size, CUlibrary library,
                                       const char* name) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {name}, [&](DriverState& driver) {
    if (*name == '\0') return ToResult(DriverCode::kInvalidValue);  // without a context, too
    return InCurrentContext(site, driver, [&](Context& context) {
      if (address == nullptr && size == nullptr) return ToResult(DriverCode::kInvalidValue);
      const absl::StatusOr<Module> loaded = LoadOn(driver, context, ToNumber(library));
      if (!loaded.ok()) return ToResult(loaded.status());
      KernelCalls& kernels = driver.simulator->kernels();
      const auto known = kernels.Find(site.name(), *loaded);
      if (known.ok() && known->program->FindKernel(name) != nullptr) {
        return ToResult(DriverCode::kInvalidValue);
      }
      return Give(kernels.FindGlobal(site.name(), *loaded, name), address, size);
    });
  });
}

extern "C" CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* size, CUlibrary library,
                                        const char* name) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {name}, [&](DriverState& driver) {
    if (address == nullptr && size == nullptr) return ToResult(DriverCode::kInvalidValue);
    if (*name == '\0') return ToResult(DriverCode::kInvalidValue);
    const absl::StatusOr<LoadedModule> loaded = ProgramOf(driver, site, ToNumber(library));
    if (!loaded.ok()) return ToResult(loaded.status());
    const ptx::GlobalInfo* const global = loaded->program->FindGlobal(name);
    if (global == nullptr || global->managed < 0) return ToResult(DriverCode::kNotFound);
    return Give(RangeOf(*loaded, *global), address, size);
  });
}

extern "C" CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  const CallSite site = TWINMMU_HERE;
  return Enter(site, {function}, [&](DriverState& driver) {
    if (kernel == nullptr) return ToResult(DriverCode::kInvalidHandle);
    return InCurrentContext(site, driver, [&](Context& context) {
      const uint64_t id = ToNumber(kernel);
      if (!driver.modules.kernels.Find(id).has_value()) return ToResult(DriverCode::kInvalidHandle);
      Records<FunctionRecord>::Prepared record(FunctionRecord{&context, 0, kernel});
      const absl::StatusOr<Kernel> found = KernelOf(driver, context, ToPointer<CUfunction>(id));
      if (found.ok()) driver.modules.functions.Add(found->value(), std::move(record));
      return Give(found, function);
    });
  });
}

extern "C" CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
  return Enter(TWINMMU_HERE, {library}, [&](DriverState& driver) {
    const std::optional<KernelRecord> record = driver.modules.kernels.Find(ToNumber(kernel));
    if (!record.has_value()) return DriverCode::kInvalidHandle;
    *library = ToPointer<CUlibrary>(record->library);
    return DriverCode::kSuccess;
  });
}

}  // namespace twinmmu::libcuda
