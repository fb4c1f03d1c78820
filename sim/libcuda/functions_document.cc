#include "sim/libcuda/functions_document.h"

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
  bool is_modelled = false;  // in one form at least
  std::vector<std::string> forms;
};

std::vector<Function> Functions() {
  std::vector<Function> functions;
  for (const SymbolInfo& symbol : kSymbols) {
    if (functions.empty() || functions.back().name != symbol.name) {
      functions.push_back({symbol.name, false, {}});
    }
    Function& function = functions.back();
    const bool is_modelled = symbol.support == Support::kModelled;
    function.is_modelled |= is_modelled;
    if (symbol.per_thread()) continue;  // as old as a form that is listed
    function.forms.push_back(absl::StrCat("`", symbol.symbol, "` ", symbol.version / 1000, ".",
                                          symbol.version / 10 % 100,
                                          is_modelled ? "" : " refused"));
  }
  return functions;
}

}  // namespace

std::string FunctionsDocument() {
  const std::vector<Function> functions = Functions();
  size_t modelled = 0;
  std::string rows;
  for (const Function& function : functions) {
    modelled += function.is_modelled ? 1 : 0;
    absl::StrAppend(&rows, "| `", function.name, "` | ",
                    function.is_modelled ? "modelled" : "refused", " | ",
                    absl::StrJoin(function.forms, ", "), " |\n");
  }
  return absl::StrCat(
      "# The functions of the driver\n\nThe simulated `libcuda.so.1` exports all ",
      functions.size(), " functions of CUDA 13.0, in all their forms:\n\n* ", modelled,
      " are **modelled**: they do what the documentation says, on simulated memory;\n* ",
      functions.size() - modelled,
      " are **refused**: NOT_SUPPORTED, and the report of the run names them "
      "(kFunctionNotSimulated).\n\n",
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
