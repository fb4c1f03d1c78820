// ChildProgram: a program that is started, watched, and waited for.

#ifndef TWINMMU_TOOLS_RUN_CHILD_PROGRAM_H_
#define TWINMMU_TOOLS_RUN_CHILD_PROGRAM_H_

#include <sys/types.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace twinmmu {

// How a program ended.
struct Ending {
  pid_t pid = 0;
  int exit_code = 0;  // as a shell gives it: 128 and the number of the signal
  std::string words;  // "ended with exit code 1", "was ended by signal 9 (Killed)"
};

// Runs a program in the foreground. While this lives, signals that somebody sends to end this
// process are handed on to the program, and what comes of them is the program's to say; those of
// the terminal reach it anyway. Before and behind the program they wait, until this is gone: so
// what stands on the host for the program is made and removed meanwhile. If this process is killed,
// so is the program. One at a time.
class Foreground {
 public:
  Foreground();
  ~Foreground();
  Foreground(const Foreground&) = delete;
  Foreground& operator=(const Foreground&) = delete;

  // With this environment ("NAME=value"), to its end. NotFound: there is no such program.
  // PermissionDenied: there is, and it cannot be run.
  absl::StatusOr<Ending> Run(const std::vector<std::string>& command,
                             const std::vector<std::string>& environment);

 private:
  int Start(const std::vector<std::string>& command, const std::vector<std::string>& environment,
            pid_t* child) const;

  sigset_t ending_;                                        // the signals that are handed on
  sigset_t mask_;                                          // as it was
  std::vector<std::pair<int, struct sigaction>> actions_;  // as they were
};

// Runs a program, and gives back what it writes to stdout; stdin and stderr are /dev/null.
// NotFound: there is no such program. DeadlineExceeded: it took longer, and was killed.
absl::StatusOr<std::string> OutputOf(const std::vector<std::string>& command, int seconds);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_RUN_CHILD_PROGRAM_H_
