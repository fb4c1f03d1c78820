// Writes the rules into docs/reference/contract.md: tools/bazel run //conformance:update_contract

#include "conformance/contract.h"
#include "conformance/document.h"

int main() {
  using twinmmu::conformance::UpdateContract;
  return twinmmu::conformance::UpdateFile("docs/reference/contract.md", UpdateContract);
}
