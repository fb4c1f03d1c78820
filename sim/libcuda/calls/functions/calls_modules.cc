// Modules: images that are loaded into a context, and what is in them.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/images.h"
#include "sim/libcuda/calls/references/references.h"
#include "sim/libcuda/modules.h"
#include "sim/ptx/program/program.h"

namespace twinmmu::libcuda {
namespace {

// CUmoduleLoadingMode.
constexpr int kEagerLoading = 1;
constexpr int kLazyLoading = 2;

// Whether the image is to blame.
bool IsAboutImage(const absl::Status& status) {
  if (status.ok()) return false;
  switch (GetDriverCode(status)) {
    case DriverCode::kInvalidImage:
    case DriverCode::kNoBinaryForGpu:
    case DriverCode::kInvalidPtx:
    case DriverCode::kUnsupportedPtxVersion:
    case DriverCode::kNotSupported:
      return true;
    default:
      return false;
  }
}

void ReportRefusal(const CallSite& site, const absl::Status& status) {
  Diagnostic diagnostic;
  diagnostic.kind = DiagnosticKind::kModuleRefused;
  diagnostic.severity = InfoOf(diagnostic.kind).severity;
  diagnostic.call = site.name();
  diagnostic.message = std::string(status.message());
  Process::Get().report().Add(diagnostic);
}

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

}  // namespace

Module ModuleOf(DriverState& driver, const Context& context, CUmodule module) {
  const std::optional<ModuleRecord> record = driver.modules.modules.Find(ToNumber(module));
  return Module(record.has_value() ? record->context->device : context.device, ToNumber(module));
}

bool HasUnknown(unsigned int count, const CUjit_option* options) {
  constexpr int kOptions = 35;
  return std::any_of(options, options + count,
                     [](CUjit_option option) { return option < 0 || option >= kOptions; });
}

JitOptions::JitOptions(unsigned int count, const CUjit_option* options, void** values) {
  if (options == nullptr || values == nullptr) return;
  are_known_ = !HasUnknown(count, options);
  void** lists[3] = {};  // of the host's variables: names, addresses, and how many there are
  for (unsigned int i = 0; i < count; ++i) {
    const int list = options[i] - CU_JIT_GLOBAL_SYMBOL_NAMES;
    if (list >= 0 && list < 3) lists[list] = &values[i];
    if (options[i] == CU_JIT_INFO_LOG_BUFFER) infos_.text = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES) infos_.size = &values[i];
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) errors_.text = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) errors_.size = &values[i];
  }
  for (Log* const log : {&infos_, &errors_}) {
    if (log->size != nullptr) log->capacity = ToNumber(*log->size);
  }
  const auto is_said = [](void** value) { return value != nullptr; };
  if (std::none_of(std::begin(lists), std::end(lists), is_said)) return;
  host_lists_are_whole_ = std::all_of(std::begin(lists), std::end(lists), is_said) &&
                          *lists[0] != nullptr && *lists[1] != nullptr;
  if (!host_lists_are_whole_) return;
  const auto* const names = static_cast<const char* const*>(*lists[0]);
  const uint64_t names_there = ToNumber(*lists[2]) & 0xffffffff;
  for (uint64_t i = 0; i < names_there; ++i) {
    if (names[i] != nullptr) host_variables_.insert(names[i]);
  }
}

absl::Status JitOptions::Check(const CallSite& site, DriverState& driver, DeviceOrdinal device,
                               const absl::StatusOr<std::string>& ptx) const {
  const auto refuse = [&](absl::string_view words) {
    return MakeDriverStatus({DriverCode::kInvalidValue, ErrorOrigin::kSimulator, site.name()},
                            words);
  };
  if (!are_known_) return refuse("there is no such option");
  if (!host_lists_are_whole_) return refuse("a list of the host's variables is missing");
  if (!ptx.ok() || host_variables_.empty()) return ptx.status();
  const absl::StatusOr<ptx::Module> module =
      driver.simulator->kernels().Parse(site.name(), device, ptx->substr(0, ptx->find('\0')));
  if (!module.ok()) return module.status();
  for (const ptx::Variable& variable : module->variables) {
    if (host_variables_.count(variable.name) == 0) continue;
    return refuse(absl::StrCat("'", variable.name, "' of the PTX cannot be one of the host's"));
  }
  return absl::OkStatus();
}

void JitOptions::Log::Write(absl::string_view message) const {
  size_t written = 0;
  if (HasRoom()) {
    written = std::min<size_t>(capacity - 1, message.size());
    std::copy_n(message.data(), written, text);
    text[written] = '\0';
  }
  if (size != nullptr) *size = ToPointer<void*>(written);
}

void JitOptions::Tell(const CallSite& site, const absl::Status& status) const {
  const bool unsaid = IsAboutImage(status) && !errors_.HasRoom();
  infos_.Write("");
  errors_.Write(status.message());
  if (unsaid) ReportRefusal(site, status);
}

// Of a pipe or a device nobody knows whether it ends.
bool ReadFile(const char* name, std::string* content) {
  const int file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  const auto close_it = absl::MakeCleanup([file] { close(file); });
  struct stat found = {};
  if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) return false;
  content->resize(static_cast<size_t>(found.st_size));
  size_t done = 0;
  while (done < content->size()) {
    const ssize_t read_now = read(file, content->data() + done, content->size() - done);
    if (read_now < 0 && errno == EINTR) continue;
    if (read_now < 0) return false;
    if (read_now == 0) break;
    done += static_cast<size_t>(read_now);
  }
  content->resize(done);
  return true;
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
    if (!ReadFile(name, &image)) return ToResult(DriverCode::kFileNotFound);
    return LoadPtx(site, driver, context, driver.simulator->kernels().PtxIn(context.device, image),
                   JitOptions(), module);
  });
}

extern "C" CUresult cuModuleUnload(CUmodule module) {
  return EnterInContext(TWINMMU_HERE, module, {}, [&](DriverState& driver, Context& context) {
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
  return EnterInContext(site, module, {count}, [&](DriverState& driver, Context& context) {
    const auto found =
        driver.simulator->kernels().Find(site.name(), ModuleOf(driver, context, module));
    if (found.ok()) *count = static_cast<unsigned int>(found->program->kernels().size());
    return ToResult(found.status());
  });
}

extern "C" CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int count,
                                               CUmodule module) {
  const CallSite site = TWINMMU_HERE;
  return EnterInContext(site, module, {functions}, [&](DriverState& driver, Context& context) {
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
