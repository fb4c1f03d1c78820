// What the flags of the suite say to its runner.

#ifndef TWINMMU_TOOLS_COMMANDS_SUITE_OPTIONS_H_
#define TWINMMU_TOOLS_COMMANDS_SUITE_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "conformance/runner.h"
#include "tools/command_line/options.h"
#include "tools/commands/screen.h"

namespace twinmmu {

// `screen` must outlive the run.
conformance::RunOptions RunnerOptions(const SuiteOptions& options, Screen& screen);

// PermissionDenied: a file that is to be written cannot be. GoogleTest aborts at the end of the run
// when it cannot write its report: better said before.
absl::Status CheckCanWrite(const std::string& path);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMANDS_SUITE_OPTIONS_H_
