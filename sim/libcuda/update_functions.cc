// Writes docs/reference/functions.md anew: tools/bazel run //sim/libcuda:update_functions

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "sim/libcuda/functions_document.h"

int main() {
  const char* const workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  const std::string path = std::string(workspace != nullptr ? workspace : ".") + "/" +
                           twinmmu::libcuda::kFunctionsDocument;
  std::ofstream file(path);
  file << twinmmu::libcuda::FunctionsDocument();
  file.close();
  if (file) return 0;
  std::cerr << "cannot write " << path << "\n";
  return 1;
}
