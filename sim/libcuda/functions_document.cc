#include "sim/libcuda/functions_document.h"

#include <algorithm>
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
};

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
      functions.push_back({symbol.name, Support::kRefused, {}});
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
    absl::StrAppend(&rows, "| `", function.name, "` | ", NameOf(function.support), " | ",
                    absl::StrJoin(function.forms, ", "), " |\n");
  }
  const auto count = [&](Support support) {
    return std::count_if(functions.begin(), functions.end(),
                         [&](const Function& function) { return function.support == support; });
  };
  return absl::StrCat(
      "# The functions of the driver\n\nThe simulated `libcuda.so.1` exports all ",
      functions.size(), " functions of CUDA 13.0, in all their forms:\n\n* ",
      count(Support::kModelled),
      " are **modelled**: they do what the documentation says, on simulated memory;\n* ",
      count(Support::kDeclared),
      " are **declared**: they take no part in memory. They are accepted where a driver accepts "
      "them,\n  without effect, and what they set can be read back;\n* ",
      count(Support::kRefused),
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
