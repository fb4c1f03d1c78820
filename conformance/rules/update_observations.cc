// Writes the sections of docs/observations.md: tools/bazel run
// //conformance/rules:update_observations

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "conformance/rules/document.h"
#include "conformance/rules/observations.h"

int main() {
  namespace conformance = twinmmu::conformance;
  const char* const tree = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  const std::string folder = absl::StrCat(tree == nullptr ? "." : tree, "/conformance/recordings");
  return conformance::UpdateFile("docs/observations.md", [&](absl::string_view document) {
    return conformance::UpdateObservations(document, conformance::SuiteRecordings(folder));
  });
}
