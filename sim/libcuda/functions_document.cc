#include "sim/libcuda/functions_document.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sim/libcuda/symbols.h"

namespace twinmmu::libcuda {
namespace {

// A function with all its forms.
struct Function {
  std::string name;
  Support support = Support::kRefused;  // of the form that has most
  std::vector<std::string> forms;
  int version = 0;  // that brought it
};

// Modelled, and refuse whatever they are passed: what they need, no profile has. A driver without
// it does the same.
constexpr const char* kRefusing[] = {
    "cuDeviceGetLuid",
    "cuDeviceGetNvSciSyncAttributes",
    "cuMemBatchDecompressAsync",
    "cuArrayGetPlane",
    "cuImportExternalSemaphore",
    "cuSignalExternalSemaphoresAsync",
    "cuWaitExternalSemaphoresAsync",
    "cuDestroyExternalSemaphore",
    "cuProfilerInitialize",
};

bool Refuses(const Function& function) {
  return std::count(std::begin(kRefusing), std::end(kRefusing), function.name) != 0;
}

constexpr int kVersion = 13000;  // of the library that is documented

std::string NameOf(Support support) {
  switch (support) {
    case Support::kModelled:
      return "modelled";
    case Support::kDeclared:
      return "declared";
    case Support::kRefused:
      return "refused";
  }
  return "";
}

std::vector<Function> Functions() {
  std::vector<Function> functions;
  for (const SymbolInfo& symbol : kSymbols) {
    if (functions.empty() || functions.back().name != symbol.name) {
      functions.push_back({symbol.name, Support::kRefused, {}, symbol.version});
    }
    Function& function = functions.back();
    function.support = std::min(function.support, symbol.support);
    if (symbol.per_thread()) continue;  // as old as a form that is listed
    const bool is_refused = symbol.support == Support::kRefused;
    function.forms.push_back(absl::StrCat("`", symbol.symbol, "` ", symbol.version / 1000, ".",
                                          symbol.version / 10 % 100, is_refused ? " refused" : ""));
  }
  return functions;
}

}  // namespace

std::string FunctionsDocument() {
  const std::vector<Function> functions = Functions();
  std::string rows;
  for (const Function& function : functions) {
    absl::StrAppend(&rows, "| `", function.name, "` | ", NameOf(function.support),
                    Refuses(function) ? ", refuses" : "", " | ",
                    absl::StrJoin(function.forms, ", "), " |\n");
  }
  const auto is_later = [](const Function& function) { return function.version > kVersion; };
  const auto later = std::count_if(functions.begin(), functions.end(), is_later);
  const auto count = [&](Support support) {
    return std::count_if(functions.begin(), functions.end(), [&](const Function& function) {
      return function.support == support && !is_later(function);
    });
  };
  return absl::StrCat(
      "# The functions of the driver\n\nThe simulated `libcuda.so.1` exports all ",
      static_cast<std::ptrdiff_t>(functions.size()) - later,
      " functions of CUDA 13.0, in all their forms:\n\n* ", count(Support::kModelled),
      " are **modelled**: they do what the documentation says, on simulated memory. ",
      std::count_if(functions.begin(), functions.end(), Refuses),
      " of them need\n  what no simulated machine has, such as Windows, external semaphores or an "
      "engine that decompresses,\n  and refuse whatever they are passed, as drivers do without it "
      "(\"modelled, refuses\");\n* ",
      count(Support::kDeclared),
      " are **declared**: they take no part in memory. They are accepted where a driver accepts "
      "them,\n  without effect, and what they set can be read back;\n* ",
      count(Support::kRefused),
      " are **refused**: NOT_SUPPORTED, and the report of the run names them "
      "(kFunctionNotSimulated).\n\nOf the functions that came later it has those of memory, ",
      later,
      " of them, and only in\nlibraries of those versions. Nobody compared them with a driver.\n\n",
      R"(Generated from `third_party/cuda_abi/exports.inc`:

    tools/bazel run //sim/libcuda:update_functions

Each form has the CUDA version that brought it. A library of another version exports what that
version had. The forms for the default stream of a thread (`_ptds`, `_ptsz`) are exported too.

| function | | forms |
|---|---|---|
)",
      rows);
}

}  // namespace twinmmu::libcuda
