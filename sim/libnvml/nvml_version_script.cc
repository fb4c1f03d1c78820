// Prints the linker's version script: the library exports what nvml_exports.inc has, and nothing
// else.

#include <iostream>

#include "sim/libnvml/nvml_symbols.h"

int main() {
  std::cout << "{\n  global:\n";
  for (const auto& symbol : twinmmu::nvml::kNvmlSymbols) {
    std::cout << "    " << symbol.name << ";\n";
  }
  std::cout << "  local: *;\n};\n";
  return 0;
}
