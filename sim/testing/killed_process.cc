#include "sim/testing/killed_process.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "gtest/gtest.h"

namespace twinmmu {
namespace {

constexpr int kRefused = 77;

[[noreturn]] void Act(const std::function<void()>& role) {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kRefused);
  raise(SIGSTOP);
  role();
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

End EndOf(int status) {
  if (!WIFEXITED(status)) return End::kFailed;
  if (WEXITSTATUS(status) == kRefused) return End::kNotTraced;
  return WEXITSTATUS(status) == 0 ? End::kByItself : End::kFailed;
}

}  // namespace

End KillAtStop(int stop, const std::function<void()>& role) {
  const pid_t process = fork();
  if (process == 0) Act(role);
  int status = 0;
  if (process == -1 || waitpid(process, &status, 0) != process) return End::kFailed;
  if (!WIFSTOPPED(status)) return EndOf(status);
  constexpr long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
  ptrace(PTRACE_SETOPTIONS, process, nullptr, kOptions);
  constexpr int kSystemCall = SIGTRAP | 0x80;
  long signal = 0;  // of the process, which gets it when it goes on
  for (int stops = 0; stops < stop;) {
    ptrace(PTRACE_SYSCALL, process, nullptr, signal);
    if (waitpid(process, &status, 0) != process) return End::kFailed;
    if (!WIFSTOPPED(status)) return EndOf(status);
    signal = WSTOPSIG(status) == kSystemCall ? 0 : WSTOPSIG(status);
    if (signal == 0) ++stops;
  }
  kill(process, SIGKILL);
  waitpid(process, &status, 0);
  return End::kKilled;
}

}  // namespace twinmmu
