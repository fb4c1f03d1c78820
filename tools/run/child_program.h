// ChildProgram: a program that is started, watched, and waited for.

#ifndef TWINMMU_TOOLS_RUN_CHILD_PROGRAM_H_
#define TWINMMU_TOOLS_RUN_CHILD_PROGRAM_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace twinmmu {

// How a program ended.
struct Ending {
  pid_t pid = 0;
  int exit_code = 0;  // as a shell gives it: 128 and the number of the signal
  std::string words;  // "ended with exit code 1", "was ended by signal 9 (Killed)"
};

// Runs a program in the foreground, with this environment ("NAME=value"), to its end. Signals that
// somebody sends to this process are handed on to it; those of the terminal reach it anyway.
// NotFound: there is no such program. PermissionDenied: there is, and it cannot be run.
absl::StatusOr<Ending> RunInForeground(const std::vector<std::string>& command,
                                       const std::vector<std::string>& environment);

// Runs a program, and gives back what it writes to stdout; stdin and stderr are /dev/null.
// NotFound: there is no such program. DeadlineExceeded: it took longer, and was killed.
absl::StatusOr<std::string> OutputOf(const std::vector<std::string>& command, int seconds);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_RUN_CHILD_PROGRAM_H_
