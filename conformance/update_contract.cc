// Writes the rules into docs/contract.md: tools/bazel run //conformance:update_contract

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "conformance/contract.h"

int main() {
  const char* const root = std::getenv("BUILD_WORKSPACE_DIRECTORY");  // set by `bazel run`
  const std::string path = std::string(root != nullptr ? root : ".") + "/docs/contract.md";
  std::stringstream document;
  document << std::ifstream(path).rdbuf();
  const auto updated = twinmmu::conformance::UpdateContract(document.str());
  if (!updated.ok()) {
    std::cerr << path << ": " << updated.status().message() << "\n";
    return 1;
  }
  std::ofstream file(path);
  file << *updated;
  file.close();
  std::cout << (file ? "wrote " : "could not write ") << path << "\n";
  return file ? 0 : 1;
}
