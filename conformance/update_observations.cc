// Writes the sections of docs/reference/observations.md: tools/bazel run //conformance:update_observations

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "conformance/document.h"
#include "conformance/observations.h"

int main() {
  namespace conformance = twinmmu::conformance;
  const char* const tree = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  const std::string folder = absl::StrCat(tree == nullptr ? "." : tree, "/conformance/recordings");
  return conformance::UpdateFile("docs/reference/observations.md", [&](absl::string_view document) {
    return conformance::UpdateObservations(document, conformance::SuiteRecordings(folder));
  });
}
