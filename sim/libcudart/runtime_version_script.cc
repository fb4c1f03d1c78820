// Prints the linker's version script for a runtime of the major version in its argument: it exports
// what that version has, and nothing else. Each symbol has the version of the library's name, as
// programs that were linked to the runtime ask for it.

#include <cstdlib>
#include <iostream>

#include "sim/libcudart/runtime_symbols.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: runtime_version_script MAJOR SONAME, as in 13 libcudart.so.13\n";
    return 2;
  }
  const int version = std::atoi(argv[1]);
  std::cout << argv[2] << " {\n  global:\n";
  for (const auto& symbol : twinmmu::cudart::kRuntimeSymbols) {
    if (symbol.first_version <= version && version <= symbol.last_version) {
      std::cout << "    " << symbol.name << ";\n";
    }
  }
  std::cout << "  local: *;\n};\n";
  return 0;
}
