#include "tools/run/child_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tools/run/host_error.h"

namespace twinmmu {
namespace {

// For the handler of signals, which has nothing else.
std::atomic<pid_t> foreground{0};

// What ends a process that does not say otherwise, and can be caught.
bool Ends(int signal) {
  constexpr int kOthers[] = {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU,
                             SIGCONT, SIGCHLD, SIGURG,  SIGWINCH};
  return std::find(std::begin(kOthers), std::end(kOthers), signal) == std::end(kOthers);
}

bool IsFault(int signal) {
  constexpr int kFaults[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
  return std::find(std::begin(kFaults), std::end(kFaults), signal) != std::end(kFaults);
}

// What a person types at the terminal goes to all its processes, this one and the child; the
// kernel sends it. The rest is for this process only: what others send, the end of its time, and
// the end of the terminal, if it leads the session.
bool IsForThisProcess(int signal, const siginfo_t& info) {
  if (info.si_code <= 0) return info.si_pid != getpid();
  return signal == SIGXCPU || (signal == SIGHUP && getsid(0) == getpid());
}

void HandOn(int signal, siginfo_t* info, void*) {
  const int before = errno;
  const pid_t child = foreground.load();
  if (IsForThisProcess(signal, *info)) {
    if (child > 0) kill(child, signal);
  } else if (IsFault(signal)) {
    std::signal(signal, SIG_DFL);  // of this program: it comes again
  }
  errno = before;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

absl::Status CannotRun(const std::string& program, int error) {
  const std::string message = absl::StrCat("cannot run ", program, ": ", HostErrorInWords(error));
  return error == ENOENT ? absl::NotFoundError(message) : absl::PermissionDeniedError(message);
}

// In the new process: becomes the program. Says on `failure` why it cannot.
[[noreturn]] void Become(const std::vector<char*>& command, const std::vector<char*>& environment,
                         pid_t parent, int failure) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // it was killed before it was asked for
  execvpe(command[0], command.data(), environment.data());
  const int error = errno;
  if (write(failure, &error, sizeof(error)) < 0) _exit(1);
  _exit(1);
}

int WaitFor(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

Ending EndingOf(pid_t pid, int status) {
  Ending ending;
  ending.pid = pid;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    ending.exit_code = 128 + signal;
    ending.words = absl::StrCat("was ended by signal ", signal, " (", strsignal(signal), ")");
  } else {
    ending.exit_code = WEXITSTATUS(status);
    ending.words = absl::StrCat("ended with exit code ", ending.exit_code);
  }
  return ending;
}

// What comes out of `file` until it is closed at the other end. False: not in time.
bool ReadAll(int file, int seconds, std::string* text) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(seconds);
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd ready = {file, POLLIN, 0};
    if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) == 0) return false;
    char buffer[4096];
    const ssize_t length = read(file, buffer, sizeof(buffer));
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return true;
    text->append(buffer, static_cast<size_t>(length));
  }
}

}  // namespace

Foreground::Foreground() {
  sigemptyset(&ending_);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    if (Ends(signal)) sigaddset(&ending_, signal);
  }
  sigprocmask(SIG_BLOCK, &ending_, &mask_);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    struct sigaction before = {};
    // The C library keeps some for itself. What is ignored here, the program ignores too.
    if (!Ends(signal) || sigaction(signal, nullptr, &before) != 0) continue;
    if (before.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_sigaction = HandOn;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    if (sigaction(signal, &action, nullptr) == 0) actions_.emplace_back(signal, before);
  }
}

Foreground::~Foreground() {
  for (const auto& [signal, before] : actions_) sigaction(signal, &before, nullptr);
  sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

// 0, or why it cannot be run.
int Foreground::Start(const std::vector<std::string>& command,
                      const std::vector<std::string>& environment, pid_t* child) const {
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) return errno;
  const std::vector<char*> arguments = Pointers(command);
  const std::vector<char*> variables = Pointers(environment);
  const pid_t parent = getpid();
  *child = fork();
  if (*child == 0) {
    for (const auto& [signal, before] : actions_) std::signal(signal, SIG_DFL);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
    Become(arguments, variables, parent, failure[1]);
  }
  int error = *child < 0 ? errno : 0;
  close(failure[1]);
  if (*child > 0 && read(failure[0], &error, sizeof(error)) > 0) WaitFor(*child);
  close(failure[0]);
  return error;
}

absl::StatusOr<Ending> Foreground::Run(const std::vector<std::string>& command,
                                       const std::vector<std::string>& environment) {
  pid_t child = 0;
  const int error = Start(command, environment, &child);
  if (error != 0) return CannotRun(command[0], error);
  foreground = child;
  sigprocmask(SIG_SETMASK, &mask_, nullptr);
  siginfo_t info;
  while (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  // From here on its number may be another's.
  sigprocmask(SIG_BLOCK, &ending_, nullptr);
  foreground = 0;
  return EndingOf(child, WaitFor(child));
}

absl::StatusOr<std::string> OutputOf(const std::vector<std::string>& command, int seconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ResourceExhaustedError("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = posix_spawnp(&child, command[0].c_str(), &actions, nullptr,
                                 Pointers(command).data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  const bool in_time = error == 0 && ReadAll(ends[0], seconds, &text);
  close(ends[0]);
  if (error != 0) return CannotRun(command[0], error);
  if (!in_time) kill(child, SIGKILL);
  WaitFor(child);
  if (!in_time) return absl::DeadlineExceededError(absl::StrCat(command[0], " took too long"));
  return text;
}

}  // namespace twinmmu
