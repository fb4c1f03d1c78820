#include "sim/libnvml/nvml_document.h"

#include <string>

#include "sim/libnvml/nvml_symbols.h"

namespace twinmmu::nvml {

std::string NvmlDocument() {
  int modelled = 0;
  int refused = 0;
  std::string modelled_rows;
  std::string refused_names;
  for (const NvmlSymbol& symbol : kNvmlSymbols) {
    const std::string name = symbol.name;
    const std::string answer = symbol.answer;
    if (answer.empty()) {
      ++refused;
      refused_names += "* `" + name + "`\n";
    } else {
      ++modelled;
      modelled_rows += "| `" + name + "` | " + answer + " |\n";
    }
  }
  return "# The functions of NVML\n\nOur `libnvidia-ml.so.1` exports " +
         std::to_string(modelled + refused) + " functions:\n\n* " + std::to_string(modelled) +
         " are **modelled**: they tell of the simulated machine;\n* " + std::to_string(refused) +
         R"( are **refused**: NOT_SUPPORTED, an answer that programs know from GPUs which lack something.
  Once the process has called cuInit, the report of the run names them.

Generated from `third_party/cuda_abi/nvml_exports.inc`:

    tools/bazel run //sim/libnvml:update_nvml

| modelled | what it tells |
|---|---|
)" + modelled_rows +
         "\nRefused:\n\n" + refused_names;
}

}  // namespace twinmmu::nvml
