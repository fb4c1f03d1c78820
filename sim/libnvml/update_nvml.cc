// Writes docs/reference/nvml.md anew: tools/bazel run //sim/libnvml:update_nvml

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "sim/libnvml/nvml_document.h"

int main() {
  const char* const workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  const std::string path =
      std::string(workspace != nullptr ? workspace : ".") + "/" + twinmmu::nvml::kNvmlDocument;
  std::ofstream file(path);
  file << twinmmu::nvml::NvmlDocument();
  file.close();
  if (file) return 0;
  std::cerr << "cannot write " << path << "\n";
  return 1;
}
