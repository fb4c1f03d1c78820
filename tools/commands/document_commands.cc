#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/libcuda/settings.h"
#include "tools/command_line/completion.h"
#include "tools/command_line/manual_page.h"
#include "tools/commands/commands.h"
#include "tools/commands/failure.h"
#include "tools/commands/machines.h"

namespace twinmmu {

int CompletionCommand(const Options& options, Screen& screen) {
  if (options.operands.size() != 1) {
    return UsageError("completion needs the name of a shell: bash, zsh or fish.");
  }
  const absl::StatusOr<std::string> script =
      CompletionScript(options.operands.front(), ProfileNames());
  if (!script.ok()) return UsageError(script.status());
  screen.text() << *script;
  return 0;
}

int ManualCommand(Screen& screen) {
  std::vector<EnvironmentVariable> variables;
  for (const libcuda::Variable& variable : libcuda::AllVariables()) {
    variables.push_back({variable.name, variable.what});
  }
  screen.text() << ManualPage(variables);
  return 0;
}

}  // namespace twinmmu
