// Writes docs/reference/runtime.md anew: tools/bazel run //sim/libcudart:update_runtime

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "sim/libcudart/runtime_document.h"

int main() {
  const char* const workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  const std::string path =
      std::string(workspace != nullptr ? workspace : ".") + "/" + twinmmu::cudart::kRuntimeDocument;
  std::ofstream file(path);
  file << twinmmu::cudart::RuntimeDocument();
  file.close();
  if (file) return 0;
  std::cerr << "cannot write " << path << "\n";
  return 1;
}
