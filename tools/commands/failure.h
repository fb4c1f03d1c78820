// Fail, UsageError: how a command ends that cannot do what it should.

#ifndef TWINMMU_TOOLS_COMMANDS_FAILURE_H_
#define TWINMMU_TOOLS_COMMANDS_FAILURE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace twinmmu {

// Asked for what does not exist; 1 is: not as expected.
inline constexpr int kUsageError = 2;
// Nobody can read what the command has to say.
inline constexpr int kOutputLost = 1;

// Each says on stderr what is wrong, and returns the exit code.
int Fail(absl::string_view what, int exit_code = 1);
inline int Fail(const absl::Status& status, int exit_code = 1) {
  return Fail(status.message(), exit_code);
}
inline int UsageError(absl::string_view what) { return Fail(what, kUsageError); }
inline int UsageError(const absl::Status& status) { return Fail(status, kUsageError); }

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMANDS_FAILURE_H_
