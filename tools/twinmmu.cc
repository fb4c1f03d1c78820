// twinmmu: the command line tool.

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tools/command_line/command_line.h"
#include "tools/command_line/command_table.h"
#include "tools/command_line/help.h"
#include "tools/commands/commands.h"
#include "tools/commands/failure.h"
#include "tools/commands/machines.h"
#include "tools/commands/screen.h"
#include "tools/terminal/terminal.h"

namespace twinmmu {
namespace {

int Dispatch(const Options& options, const MainArguments& main, Screen& screen) {
  const std::string& command = options.command;
  if (command == "conformance") return ConformanceCommand(options, main, screen);
  if (command == "record") return RecordCommand(options, main, screen);
  if (command == "info") return InfoCommand(options, screen);
  if (command == "random") return RandomCommand(options, screen);
  if (command == "soak") return SoakCommand(options, screen);
  if (command == "deviations") return DeviationsCommand(options, screen);
  if (command == "litmus") return LitmusCommand(options, screen);
  if (command == "ptx") return PtxCommand(options, screen);
  if (command == "replay") return ReplayCommand(options, screen);
  if (command == "compare") return CompareCommand(options, screen);
  if (command == "run") return RunCommand(options, screen);
  if (command == "view") return ViewCommand(options, screen);
  if (command == "annotate") return AnnotateCommand(options, screen);
  if (command == "doctor") return DoctorCommand(options, screen);
  if (command == "new-test") return NewTestCommand(options, screen);
  if (command == "completion") return CompletionCommand(options, screen);
  return ManualCommand(screen);
}

int Run(const MainArguments& main) {
  const absl::StatusOr<Request> request = ReadCommandLine(
      std::vector<std::string>(main.argv + 1, main.argv + main.argc), TerminalOf(STDOUT_FILENO));
  if (!request.ok()) return UsageError(request.status());
  if (!request->text.empty()) {
    std::cout << request->text;
    return 0;
  }
  const Options& options = request->options;
  if (options.command.empty()) {
    std::cerr << Overview(TerminalOf(STDERR_FILENO));
    return kUsageError;
  }
  const CommandInfo& command = *FindCommand(options.command);
  if (*command.operands == '\0' && !options.operands.empty()) {
    return UsageError(
        absl::StrCat(command.name, " takes no argument \"", options.operands.front(), "\"."));
  }
  const absl::Status devices = CheckDevices(options.machine);
  if (!devices.ok()) return UsageError(devices);
  Screen screen(options.output);
  return Dispatch(options, main, screen);
}

// A reader that went away, or a file that may not grow, is an exit code like any output that cannot
// be written: no signal, which would leave no time to clean up. The write fails, too.
volatile std::sig_atomic_t pipe_closed = 0;
void OnClosedPipe(int) { pipe_closed = 1; }
void OnFullFile(int) {}

// Ends the process once nobody reads what is written to a stream: nobody waits for the rest.
class EndingBuffer : public std::streambuf {
 public:
  explicit EndingBuffer(std::streambuf* target) : target_(*target) {}

 protected:
  int_type overflow(int_type c) override {
    return traits_type::eq_int_type(c, traits_type::eof())
               ? traits_type::not_eof(c)
               : Checked(target_.sputc(traits_type::to_char_type(c)), traits_type::eof());
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    const std::streamsize written = target_.sputn(text, size);
    if (written < size) End();
    return written;
  }
  int sync() override { return Checked(target_.pubsync(), -1); }

 private:
  static int Checked(int result, int failure) {
    if (result == failure) End();
    return result;
  }
  // Not once more while it ends.
  static void End() {
    if (pipe_closed != 0 && !std::exchange(ending_, true)) std::exit(kOutputLost);
  }

  static inline bool ending_ = false;
  std::streambuf& target_;
};

void HandleLostOutput() {
  for (const auto& [signal, handler] :
       {std::pair(SIGPIPE, &OnClosedPipe), std::pair(SIGXFSZ, &OnFullFile)}) {
    struct sigaction action = {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;  // programs that are started ignore it too
    action = {};
    action.sa_handler = handler;
    sigaction(signal, &action, nullptr);
  }
  // Until the very end: the streams are flushed when nothing else is left.
  static auto& out = *new EndingBuffer(std::cout.rdbuf());
  static auto& error = *new EndingBuffer(std::cerr.rdbuf());
  std::cout.rdbuf(&out);
  std::cerr.rdbuf(&error);
}

}  // namespace
}  // namespace twinmmu

int main(int argc, char** argv) {
  twinmmu::HandleLostOutput();
  const int exit_code = twinmmu::Run({argc, argv});
  // What was written through another stream is known to C's.
  if (std::cout.flush() && std::ferror(stdout) == 0) return exit_code;
  return twinmmu::Fail("could not write all output.", twinmmu::kOutputLost);
}
