#include "sim/libcudart/runtime_document.h"

#include <string>

#include "sim/libcudart/runtime_symbols.h"

namespace twinmmu::cudart {
namespace {

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
}

// As old as the form that is listed.
bool IsPerThread(const RuntimeSymbol& symbol) {
  return EndsWith(symbol.name, "_ptsz") || EndsWith(symbol.name, "_ptds");
}

std::string VersionsOf(const RuntimeSymbol& symbol) {
  const std::string first = std::to_string(symbol.first_version);
  const std::string last = std::to_string(symbol.last_version);
  return first == last ? first : first + " to " + last;
}

std::string RowOf(const RuntimeSymbol& symbol) {
  const std::string drivers = symbol.drivers;
  return "| `" + std::string(symbol.name) + "` | " + (symbol.modelled ? "modelled" : "refused") +
         " | " + (drivers.empty() ? "" : "`" + drivers + "`") + " | " + VersionsOf(symbol) + " |\n";
}

}  // namespace

std::string RuntimeDocument() {
  int modelled = 0;
  int refused = 0;
  std::string modelled_rows;
  std::string refused_rows;
  for (const RuntimeSymbol& symbol : kRuntimeSymbols) {
    if (IsPerThread(symbol)) continue;
    ++(symbol.modelled ? modelled : refused);
    (symbol.modelled ? modelled_rows : refused_rows) += RowOf(symbol);
  }
  return "# The functions of the runtime\n\nOur `libcudart.so.11.0`, `libcudart.so.12` and "
         "`libcudart.so.13` export " +
         std::to_string(modelled + refused) + " functions:\n\n* " + std::to_string(modelled) +
         " are **modelled**: they do what the documentation says, by the driver's functions "
         "beneath.\n  What the driver refuses ([functions.md](functions.md)) is its answer, "
         "cudaErrorNotSupported;\n* " +
         std::to_string(refused) +
         R"( are **refused**: cudaErrorNotSupported, and on the simulated driver the report of the
  run names them.

Generated from `third_party/cuda_abi/runtime_exports.inc`:

    tools/bazel run //sim/libcudart:update_runtime

The last column has the major versions of the runtime that export a function. The forms for the
default stream of a thread (`_ptds`, `_ptsz`) are exported too.

nvcc 13.0 and clang 22 emit neither `__cudaRegisterHostVar` nor `__cudaRegisterUnifiedTable`. The
first is what flang emits with `-gpu=mem:unified`: device code uses a variable of the host where it
lies. The driver of an H200 takes no PTX that names one, so the launch is cudaErrorInvalidValue, with
the genuine runtime and here. The second is not
documented, and no compiler is known that emits it; it has no result, so what it leaves is the last
error.

| function | | the driver's functions | CUDA |
|---|---|---|---|
)" + modelled_rows +
         refused_rows;
}

}  // namespace twinmmu::cudart
