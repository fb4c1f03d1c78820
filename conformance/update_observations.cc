// Writes the deviations into docs/reference/observations.md:
//   tools/bazel run //conformance:update_observations

#include "conformance/document.h"
#include "conformance/observations.h"

int main() {
  using twinmmu::conformance::UpdateObservations;
  return twinmmu::conformance::UpdateFile("docs/reference/observations.md", UpdateObservations);
}
