// Initialisation, versions, errors, and how functions are found.

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/calls/exports.h"
#include "sim/libcuda/error_texts.h"

namespace twinmmu::libcuda {
namespace {

struct Lookup {
  void (*function)() = nullptr;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
};

// The newest form of `name` that programs made for CUDA `version` know.
Lookup FindFunction(const char* name, int version, uint64_t flags) {
  const absl::Span<const Export> exports = Exports();
  const auto is_named = [&](const Export& e) { return SameText(e.info->name, name); };
  const auto is_per_thread = [&](const Export& e) { return is_named(e) && e.info->per_thread(); };
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0 &&
                          std::any_of(exports.begin(), exports.end(), is_per_thread);
  Lookup lookup;
  for (const Export& candidate : exports) {
    if (!is_named(candidate) || candidate.info->per_thread() != per_thread) continue;
    // A negative version is one of the far future to the driver.
    if (static_cast<unsigned int>(candidate.info->version) <= static_cast<unsigned int>(version)) {
      lookup = {candidate.function, CU_GET_PROC_ADDRESS_SUCCESS};  // the last one is the newest
    } else if (lookup.function == nullptr) {
      lookup.found = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    }
  }
  return lookup;
}

// What both forms of cuGetProcAddress check.
DriverCode CheckQuery(const CallSite& site, const char* symbol, void** pfn, int version,
                      uint64_t flags) {
  constexpr uint64_t kKnown =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (symbol == nullptr || pfn == nullptr) return NullPointer(site);
  const bool known = version <= Process::Get().driver_version() && (flags & ~kKnown) == 0;
  return known ? DriverCode::kSuccess : DriverCode::kInvalidValue;
}

// To ask is how a program finds out: no misuse, but worth a line of the report.
void AddAsked(const char* symbol, int version, const Lookup& lookup) {
  Process::Get().report().AddAsked(symbol, version,
                                   lookup.found == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

// NVIDIA's run-time compiler asks for tables, too, and works without.
bool IsCompiler(const void* caller) {
  Dl_info info = {};
  if (dladdr(caller, &info) == 0 || info.dli_fname == nullptr) return false;
  const absl::string_view path = info.dli_fname;
  return absl::StartsWith(path.substr(path.rfind('/') + 1), "libnvrtc");
}

}  // namespace

extern "C" CUresult cuInit(unsigned int flags) {
  const CallSite site = TWINMMU_HERE;
  return EnterAlways(site, [&] {
    const DriverCode code = Process::Get().Init(flags);
    // Only in a child of a process that has called it.
    return code == DriverCode::kNotInitialized ? Misused(site, DiagnosticKind::kUseAfterFork, code)
                                               : code;
  });
}

extern "C" CUresult cuDriverGetVersion(int* version) {
  const CallSite site = TWINMMU_HERE;
  return EnterAlways(site, [&] {
    if (version == nullptr) return NullPointer(site);
    *version = Process::Get().driver_version();
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuGetErrorName(CUresult error, const char** text) {
  const CallSite site = TWINMMU_HERE;
  return EnterAlways(site, [&] {
    if (text == nullptr) return NullPointer(site);
    *text = ErrorName(error);
    return *text != nullptr ? DriverCode::kSuccess : DriverCode::kInvalidValue;
  });
}

extern "C" CUresult cuGetErrorString(CUresult error, const char** text) {
  const CallSite site = TWINMMU_HERE;
  return EnterAlways(site, [&] {
    if (text == nullptr) return NullPointer(site);
    *text = ErrorText(error);
    return *text != nullptr ? DriverCode::kSuccess : DriverCode::kInvalidValue;
  });
}

extern "C" CUresult cuGetProcAddress(const char* symbol, void** pfn, int version, uint64_t flags) {
  const CallSite site = TWINMMU_HERE;
  return EnterAlways(site, [&] {
    const DriverCode valid = CheckQuery(site, symbol, pfn, version, flags);
    if (valid != DriverCode::kSuccess) return valid;
    const Lookup lookup = FindFunction(symbol, version, flags);
    if (lookup.function == nullptr) {
      AddAsked(symbol, version, lookup);
      return DriverCode::kNotFound;
    }
    *pfn = reinterpret_cast<void*>(lookup.function);
    return DriverCode::kSuccess;
  });
}

// Unlike the first form, this one succeeds for what it does not find, and says so in `found`.
extern "C" CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int version, uint64_t flags,
                                        CUdriverProcAddressQueryResult* found) {
  const CallSite site = TWINMMU_HERE;
  return EnterAlways(site, [&] {
    const DriverCode valid = CheckQuery(site, symbol, pfn, version, flags);
    if (valid != DriverCode::kSuccess) return valid;
    const Lookup lookup = FindFunction(symbol, version, flags);
    if (lookup.function == nullptr) AddAsked(symbol, version, lookup);
    *pfn = reinterpret_cast<void*>(lookup.function);
    if (found != nullptr) *found = lookup.found;
    return DriverCode::kSuccess;
  });
}

extern "C" CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  const CallSite site = TWINMMU_HERE;
  return EnterAlways(site, [&] {
    if (table == nullptr || id == nullptr) return NullPointer(site);
    *table = nullptr;
    if (IsCompiler(site.caller)) return DriverCode::kNotSupported;
    return Misused(site, DiagnosticKind::kRuntimeNeedsGenuineDriver, DriverCode::kNotSupported);
  });
}

}  // namespace twinmmu::libcuda
