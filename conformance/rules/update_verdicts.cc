// Writes the tables of docs/reference/verdicts.md:
//   tools/bazel run //conformance/rules:update_verdicts

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "conformance/rules/document.h"
#include "conformance/rules/observed.h"
#include "conformance/rules/verdict_table.h"

int main() {
  namespace conformance = twinmmu::conformance;
  const char* const tree = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  const std::string folder = absl::StrCat(tree == nullptr ? "." : tree, "/conformance/");
  std::stringstream simulated;
  simulated << std::ifstream(folder + "rules/simulated_verdicts.txt").rdbuf();
  return conformance::UpdateFile("docs/reference/verdicts.md", [&](absl::string_view document) {
    return conformance::UpdateVerdicts(document, simulated.str(),
                                       conformance::SuiteRecordings(folder + "recordings"));
  });
}
