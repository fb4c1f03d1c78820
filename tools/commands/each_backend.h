// OnEachBackend: a command on one backend after the other.

#ifndef TWINMMU_TOOLS_COMMANDS_EACH_BACKEND_H_
#define TWINMMU_TOOLS_COMMANDS_EACH_BACKEND_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/command_line/options.h"
#include "tools/commands/screen.h"

namespace twinmmu {

// What a command does on a backend: describes it in `json`, and gives its exit code. An error: the
// flags do not fit the backend.
using RunOnBackend =
    std::function<absl::StatusOr<int>(const std::string& backend, OrderedJson& json)>;

// Those of --backend, or `by_default`; each must be in `known`. Returns the exit code of the
// command, whose results have an entry for each.
int OnEachBackend(const Options& options, const std::string& by_default,
                  const std::vector<std::string>& known, Screen& screen, const RunOnBackend& run);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMANDS_EACH_BACKEND_H_
