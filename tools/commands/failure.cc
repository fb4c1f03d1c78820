#include "tools/commands/failure.h"

#include <unistd.h>

#include <iostream>

#include "tools/terminal/terminal.h"

namespace twinmmu {

int Fail(absl::string_view what, int exit_code) {
  std::cerr << TerminalOf(STDERR_FILENO).Red("twinmmu:") << " " << what << "\n";
  return exit_code;
}

}  // namespace twinmmu
