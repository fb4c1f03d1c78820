// The linker: texts that name what others define, as one image.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sim/calls/executor/kernel_calls.h"
#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/functions/images.h"
#include "sim/libcuda/modules.h"
#include "sim/ptx/decode/link.h"
#include "sim/ptx/decode/make_program.h"
#include "sim/ptx/text/isa.h"
#include "sim/ptx/text/object_file.h"

namespace twinmmu::libcuda {

struct LinkState {
  LinkState(DeviceOrdinal of_device, const JitOptions& with) : device(of_device), options(with) {}

  const DeviceOrdinal device;
  const JitOptions options;
  std::mutex mutex;  // guards what follows
  ptx::Linker linker;
  std::vector<std::string> texts;
  std::string errors;              // all so far, as the log keeps them
  std::optional<CUresult> failed;  // nothing can become of it any more
  std::optional<CUresult> spoilt;  // it cannot be completed, but more is taken
  bool complete = false;
  std::string image;  // with its NUL
};

namespace {

using CUlinkState = struct CUlinkState_st*;

// CUjitInputType: machine code, PTX, a fat binary, object files and libraries of the host, NVVM.
enum InputType : int { kMachineCode, kPtx, kFatBinary, kObject, kLibrary, kNvvm, kInputTypes };

// What cuda.h calls INVALID_SOURCE: symbols that are missing, or there twice.
constexpr auto kInvalidSource = static_cast<DriverCode>(300);

// The PTX of a link without inputs.
constexpr char kNothing[] = ".version 7.0\n.target sm_70\n.address_size 64\n";

// CUjit_option: those that give results, and those that are of the whole link.
constexpr int kWallTime = 2;
constexpr int kErrorLogBytes = 6;
constexpr int kTargetFromContext = 8;
constexpr int kFallback = 10;
constexpr int kWholeProgram = 20;  // CU_JIT_LTO, and what belongs to it
constexpr int kUnusedVariables = 29;

bool TakesOptions(const JitOptions& options) {
  return options.IsListTaken() && options.AreValuesTaken();
}

bool Has(unsigned int count, const CUjit_option* options, CUjit_option first, CUjit_option last) {
  return std::any_of(options, options + count,
                     [=](CUjit_option option) { return option >= first && option <= last; });
}

// Of one input: what concerns the link cannot be said there.
bool TakesForInput(unsigned int count, const CUjit_option* options, const JitOptions& read) {
  return TakesOptions(read) && !Has(count, options, kWallTime, kErrorLogBytes) &&
         !Has(count, options, CU_JIT_GLOBAL_SYMBOL_NAMES, CU_JIT_GLOBAL_SYMBOL_COUNT) &&
         !Has(count, options, kTargetFromContext, kFallback) &&
         !Has(count, options, kWholeProgram, kUnusedVariables);
}

absl::Status Refuse(const CallSite& site, DriverCode code, absl::string_view words) {
  return MakeDriverStatus({code, ErrorOrigin::kSimulator, site.name()}, words);
}

// Calls body(link) with what a handle names.
template <typename Body>
CUresult EnterLink(const CallSite& site, CUlinkState handle, const Body& body) {
  return Enter(site, [&](DriverState& driver) {
    const std::optional<LinkRecord> record = driver.modules.links.Find(ToNumber(handle));
    if (!record.has_value()) return ToResult(DriverCode::kInvalidHandle);
    const std::lock_guard lock(record->state->mutex);
    return ToResult(body(driver, *record->state));
  });
}

// The words of errors stay in the log.
absl::Status Tell(const CallSite& site, LinkState& link, const absl::Status& status) {
  if (!status.ok()) {
    absl::StrAppend(&link.errors, link.errors.empty() ? "" : "\n", status.message());
    link.options.Tell(site, Refuse(site, GetDriverCode(status), link.errors));
  } else if (link.errors.empty()) {
    link.options.Tell(site, status);
  }
  return status;
}

using Texts = std::vector<std::string>;

// Of the fat binaries in an object file or a library.
absl::StatusOr<Texts> PtxOf(const CallSite& site, DriverState& driver, const LinkState& link,
                            const absl::StatusOr<std::vector<absl::string_view>>& binaries) {
  if (!binaries.ok()) return Refuse(site, DriverCode::kUnknown, binaries.status().message());
  Texts texts;
  for (const absl::string_view binary : *binaries) {
    absl::StatusOr<std::string> ptx = driver.simulator->kernels().PtxIn(link.device, binary);
    if (!ptx.ok()) return ptx.status();
    texts.push_back(*std::move(ptx));
  }
  return texts;
}

absl::StatusOr<Texts> PtxOf(const CallSite& site, DriverState& driver, const LinkState& link,
                            int type, absl::string_view data) {
  if (data.empty()) return Refuse(site, DriverCode::kInvalidImage, "there is nothing in it");
  switch (type) {
    case kPtx:
      return Texts{std::string(data.substr(0, data.find('\0')))};
    case kFatBinary: {
      absl::StatusOr<std::string> ptx = driver.simulator->kernels().PtxIn(link.device, data);
      if (!ptx.ok()) return ptx.status();
      return Texts{*std::move(ptx)};
    }
    case kObject:
      return PtxOf(site, driver, link, ptx::FatBinariesInObject(data));
    case kLibrary:
      return PtxOf(site, driver, link, ptx::FatBinariesInLibrary(data));
    case kMachineCode:
      return Refuse(site, DriverCode::kInvalidImage, "machine code cannot be linked here");
    default:
      return Refuse(site, DriverCode::kNotSupported, "NVVM cannot be linked here");
  }
}

// `error_of_ptx`: what PTX gets for the options of this input.
absl::Status Add(const CallSite& site, DriverState& driver, LinkState& link, int type,
                 absl::string_view data, const char* name, DriverCode error_of_ptx) {
  if (ptx::IsJoined(data.substr(0, data.find('\0')))) {
    link.failed = ToResult(DriverCode::kNoBinaryForGpu);
    return Refuse(site, DriverCode::kNoBinaryForGpu, "what is linked cannot be linked again");
  }
  const absl::StatusOr<Texts> texts = PtxOf(site, driver, link, type, data);
  if (!texts.ok()) {
    if (type == kMachineCode) link.spoilt = ToResult(GetDriverCode(texts.status()));
    return texts.status();
  }
  if (error_of_ptx != DriverCode::kSuccess) {
    return Refuse(site, error_of_ptx, "no PTX is compiled with these options");
  }
  std::vector<ptx::Module> modules;
  for (const std::string& text : *texts) {
    absl::StatusOr<ptx::Module> module =
        driver.simulator->kernels().Parse(site.name(), link.device, text);
    if (!module.ok()) return module.status();
    modules.push_back(*std::move(module));
  }
  link.failed = ToResult(DriverCode::kOutOfMemory);  // where it ends in between
  for (size_t i = 0; i < modules.size(); ++i) {
    link.texts.push_back((*texts)[i]);
    const std::string unnamed = absl::StrCat("input ", link.texts.size());
    const absl::Status added =
        link.linker.Add({name == nullptr ? unnamed : name, std::move(modules[i])});
    if (added.ok()) continue;
    link.failed = ToResult(kInvalidSource);
    return Refuse(site, kInvalidSource, added.message());
  }
  link.failed.reset();
  return absl::OkStatus();
}

absl::Status Complete(const CallSite& site, LinkState& link) {
  link.failed = ToResult(DriverCode::kOutOfMemory);  // where it ends in between
  absl::StatusOr<ptx::Module> linked = link.linker.Run();
  absl::Status status = linked.status();
  if (status.ok()) status = ptx::MakeProgram(*std::move(linked)).status();
  if (status.ok()) {
    if (link.texts.empty()) link.texts.emplace_back(kNothing);
    link.image = ptx::JoinTexts(link.texts);
    link.failed.reset();
    link.complete = true;
    return status;
  }
  const bool needs_memory = absl::IsResourceExhausted(status);
  status = Refuse(site, needs_memory ? DriverCode::kOutOfMemory : kInvalidSource, status.message());
  link.failed = ToResult(GetDriverCode(status));
  return status;
}

}  // namespace

extern "C" CUresult cuLinkCreate_v2(unsigned int count, CUjit_option* options, void** values,
                                    CUlinkState* link) {
  return EnterInContext(TWINMMU_HERE, {link}, [&](DriverState& driver, Context& context) {
    const JitOptions read(count, options, values);
    if (!TakesOptions(read) || Has(count, options, kFallback, kFallback)) {
      return DriverCode::kInvalidValue;
    }
    Records<LinkRecord>::Prepared record(
        LinkRecord{std::make_shared<LinkState>(context.device, read)});
    const uint64_t id = kFirstLink + ++driver.modules.last_id;
    driver.modules.links.Add(id, std::move(record));
    *link = ToPointer<CUlinkState>(id);
    return DriverCode::kSuccess;
  });
}
TWINMMU_ALIAS(cuLinkCreate, cuLinkCreate_v2);

extern "C" CUresult cuLinkAddData_v2(CUlinkState handle, int type, void* data, size_t size,
                                     const char* name, unsigned int count, CUjit_option* options,
                                     void** values) {
  const CallSite site = TWINMMU_HERE;
  return EnterLink(site, handle, [&](DriverState& driver, LinkState& link) -> absl::Status {
    const bool closed = link.complete || link.failed.has_value();
    const JitOptions read(count, options, values);
    if (closed || data == nullptr || size == 0 || type < 0 || type >= kInputTypes ||
        !TakesForInput(count, options, read)) {
      return Refuse(site, DriverCode::kInvalidValue, "this cannot be added");
    }
    const auto* const bytes = static_cast<const char*>(data);
    // A text ends at its end, whatever is said of it, as an H100 has it.
    const size_t there = type == kPtx ? strnlen(bytes, size) : size;
    if (there > PTRDIFF_MAX) return Refuse(site, DriverCode::kInvalidValue, "nothing is so large");
    return Tell(site, link, Add(site, driver, link, type, {bytes, there}, name, read.ErrorOfPtx()));
  });
}
TWINMMU_ALIAS(cuLinkAddData, cuLinkAddData_v2);

extern "C" CUresult cuLinkAddFile_v2(CUlinkState handle, int type, const char* path,
                                     unsigned int count, CUjit_option* options, void** values) {
  const CallSite site = TWINMMU_HERE;
  return EnterLink(site, handle, [&](DriverState& driver, LinkState& link) -> absl::Status {
    const bool closed = link.complete || link.failed.has_value();
    const JitOptions read(count, options, values);
    if (closed || path == nullptr || !TakesForInput(count, options, read)) {
      return Refuse(site, DriverCode::kInvalidValue, "this cannot be added");
    }
    std::string content;
    const DriverCode found = ReadImage(path, &content);
    if (found != DriverCode::kSuccess) return Refuse(site, found, path);
    if (type < 0 || type >= kInputTypes) {
      return Refuse(site, DriverCode::kInvalidImage, "there is no such type of input");
    }
    return Tell(site, link, Add(site, driver, link, type, content, path, read.ErrorOfPtx()));
  });
}
TWINMMU_ALIAS(cuLinkAddFile, cuLinkAddFile_v2);

// The image belongs to the link, and is text: what cuModuleLoadData takes.
extern "C" CUresult cuLinkComplete(CUlinkState handle, void** image, size_t* size) {
  const CallSite site = TWINMMU_HERE;
  return EnterLink(site, handle, [&](DriverState&, LinkState& link) {
    if (link.failed.has_value()) return *link.failed;
    if (link.complete) return ToResult(DriverCode::kInvalidHandle);
    if (image == nullptr) return ToResult(NullPointer(site));
    if (link.spoilt.has_value()) return *link.spoilt;
    const absl::Status status = Tell(site, link, Complete(site, link));
    if (!status.ok()) return ToResult(status);
    *image = &link.image[0];
    if (size != nullptr) *size = link.image.size() + 1;
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuLinkDestroy(CUlinkState handle) {
  return Enter(TWINMMU_HERE, [&](DriverState& driver) {
    return driver.modules.links.Remove(ToNumber(handle)) ? DriverCode::kSuccess
                                                         : DriverCode::kInvalidHandle;
  });
}

}  // namespace twinmmu::libcuda
