// CompletionScript: what makes a shell complete the command line of `twinmmu`.

#ifndef TWINMMU_TOOLS_COMMAND_LINE_COMPLETION_H_
#define TWINMMU_TOOLS_COMMAND_LINE_COMPLETION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace twinmmu {

// `shell`: bash, zsh or fish. `profiles`: the names that --profile takes. InvalidArgument: there is
// no script for that shell.
absl::StatusOr<std::string> CompletionScript(absl::string_view shell,
                                             const std::vector<std::string>& profiles);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMAND_LINE_COMPLETION_H_
