#include "tools/run/child_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace twinmmu {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

// For the handler of signals, which has nothing else.
std::atomic<pid_t> foreground{0};

// What a person types at the terminal goes to all its processes, this one and the child; the
// kernel sends it. What another process sends is for this one only.
void Forward(int signal, siginfo_t* info, void*) {
  const int before = errno;
  const pid_t child = foreground.load();
  if (child > 0 && info->si_code <= 0) kill(child, signal);
  errno = before;
}

// While it lives, signals are handed on to the child; they wait until it is known.
class Forwarding {
 public:
  Forwarding() {
    sigset_t all;
    sigemptyset(&all);
    for (const int signal : kForwarded) sigaddset(&all, signal);
    sigprocmask(SIG_BLOCK, &all, &mask_);
    for (size_t i = 0; i < std::size(kForwarded); ++i) {
      sigaction(kForwarded[i], nullptr, &actions_[i]);
      if (actions_[i].sa_handler == SIG_IGN) continue;  // the child ignores it too
      struct sigaction action = {};
      action.sa_sigaction = Forward;
      action.sa_flags = SA_SIGINFO | SA_RESTART;
      sigaction(kForwarded[i], &action, nullptr);
    }
  }
  ~Forwarding() {
    foreground = 0;
    for (size_t i = 0; i < std::size(kForwarded); ++i) {
      sigaction(kForwarded[i], &actions_[i], nullptr);
    }
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  Forwarding(const Forwarding&) = delete;
  Forwarding& operator=(const Forwarding&) = delete;

  const sigset_t& mask() const { return mask_; }  // of the child
  void Begin(pid_t child) {
    foreground = child;
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  sigset_t mask_;
  struct sigaction actions_[std::size(kForwarded)];
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

absl::Status CannotRun(const std::string& program, int error) {
  const std::string message = absl::StrCat("cannot run ", program, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(message) : absl::PermissionDeniedError(message);
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

absl::StatusOr<Ending> RunInForeground(const std::vector<std::string>& command,
                                       const std::vector<std::string>& environment) {
  Forwarding forwarding;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &forwarding.mask());
  pid_t child = 0;
  const int error = posix_spawnp(&child, command[0].c_str(), nullptr, &attributes,
                                 Pointers(command).data(), Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return CannotRun(command[0], error);
  forwarding.Begin(child);
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
