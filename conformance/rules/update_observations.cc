// Writes the deviations into docs/reference/observations.md:
//   tools/bazel run //conformance/rules:update_observations

#include "conformance/rules/document.h"
#include "conformance/rules/observations.h"

int main() {
  using twinmmu::conformance::UpdateObservations;
  return twinmmu::conformance::UpdateFile("docs/reference/observations.md", UpdateObservations);
}
