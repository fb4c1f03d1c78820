// Writes the rules into docs/reference/contract.md: tools/bazel run
// //conformance/rules:update_contract

#include "conformance/rules/contract.h"
#include "conformance/rules/document.h"

int main() {
  using twinmmu::conformance::UpdateContract;
  return twinmmu::conformance::UpdateFile("docs/reference/contract.md", UpdateContract);
}
