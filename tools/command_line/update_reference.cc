#include "conformance/rules/document.h"
#include "tools/command_line/reference.h"

int main() {
  return twinmmu::conformance::UpdateFile(twinmmu::kReferencePath, twinmmu::UpdateReference);
}
