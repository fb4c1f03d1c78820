// Prints the linker's version script for a library of the CUDA version in its argument: it exports
// what that version had, and nothing else.

#include <cstdlib>
#include <iostream>

#include "sim/libcuda/symbols.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: version_script VERSION, as in 13000\n";
    return 2;
  }
  const int version = std::atoi(argv[1]);
  std::cout << "{\n  global:\n";
  for (const auto& symbol : twinmmu::libcuda::kSymbols) {
    if (symbol.version <= version) std::cout << "    " << symbol.symbol << ";\n";
  }
  // For our CUDA runtime (calls_refused.cc) and our NVML (nvml_view.cc), which look for them by
  // name.
  std::cout << "    twinmmuCaller;\n    twinmmuContext;\n    twinmmuDeviceInUse;\n    "
               "twinmmuWarn;\n  local: *;\n};\n";
  return 0;
}
