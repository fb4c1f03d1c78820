#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "conformance/programs/programs.h"
#include "conformance/rules/document.h"
#include "conformance/rules/rules.h"
#include "tools/commands/commands.h"
#include "tools/commands/each_backend.h"
#include "tools/commands/machines.h"

namespace twinmmu {
namespace {

using conformance::DeviationProgram;
using conformance::Target;

enum class End { kAsDeclared, kOtherwise, kFailed, kNotOpened, kCrashed };

struct Answer {
  End end;
  std::string text;  // what the program says, or what went wrong
};

// In the child. The target stays open: its end is the end of the process.
Answer RunHere(const DeviationProgram& program, const conformance::TargetFactory& factory) {
  absl::StatusOr<Target> target = factory.open();
  if (!target.ok()) return {End::kNotOpened, std::string(target.status().message())};
  const absl::StatusOr<std::string> said = RunProgram(program, *target->driver);
  const bool declared = target->traits.deviations.count(program.deviation) > 0;
  target->driver.release();
  if (!said.ok()) return {End::kFailed, std::string(said.status().message())};
  const bool as_declared = *said == (declared ? program.deviating : program.by_rule);
  return {as_declared ? End::kAsDeclared : End::kOtherwise, *said};
}

// The child says its answer through a pipe, and how it ended by its exit code.
Answer RunInChild(const DeviationProgram& program, const conformance::TargetFactory& factory) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return {End::kFailed, "cannot make a pipe"};
  const pid_t child = fork();
  if (child < 0) return {End::kFailed, "cannot start a process"};
  if (child == 0) {
    const Answer answer = RunHere(program, factory);
    const ssize_t written = write(pipe_ends[1], answer.text.data(), answer.text.size());
    _exit(written < 0 ? static_cast<int>(End::kFailed) : static_cast<int>(answer.end));
  }
  close(pipe_ends[1]);
  Answer answer;
  char buffer[256];
  for (ssize_t n; (n = read(pipe_ends[0], buffer, sizeof(buffer))) > 0;) {
    answer.text.append(buffer, static_cast<size_t>(n));
  }
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    return {End::kCrashed, absl::StrCat("the process ended with signal ", WTERMSIG(status))};
  }
  answer.end = static_cast<End>(WEXITSTATUS(status));
  return answer;
}

// One line; on a terminal, several that fit it.
std::string Row(const std::string& id, const std::string& name, const std::string& words,
                bool as_recorded, const Terminal& terminal) {
  if (!terminal.is_terminal()) return absl::StrCat(id, name, words, "\n");
  const std::string row = conformance::Paragraph(id, absl::StrCat(name, words), terminal.width);
  return as_recorded ? row : terminal.Red(row);
}

// Runs each program on a target of its own, in a child process: some leave things behind, and one
// may end the process. Says what each says, and returns the exit code. 0: each says what is
// declared of the target. 1: one does not, or the target cannot be opened.
int RunAll(const conformance::TargetFactory& factory, Screen& screen, OrderedJson& json) {
  std::ostream& out = screen.text();
  int deviating = 0;
  int otherwise = 0;
  json["programs"] = OrderedJson::array();
  for (const DeviationProgram& program : conformance::AllPrograms()) {
    const conformance::DeviationInfo& deviation = GetDeviation(program.deviation);
    const Answer answer = RunInChild(program, factory);
    if (answer.end == End::kNotOpened) {
      out << factory.name << ": " << answer.text << "\n";
      json["error"] = answer.text;
      return 1;
    }
    const bool deviates = answer.text == program.deviating;
    const bool as_recorded = answer.end == End::kAsDeclared;
    deviating += deviates ? 1 : 0;
    otherwise += as_recorded ? 0 : 1;
    const char* const verdict = deviates                         ? "deviates"
                                : answer.text == program.by_rule ? "keeps the rule"
                                                                 : "neither";
    const std::string line =
        absl::StrCat(verdict, ": ", answer.text, as_recorded ? "" : " (not as recorded)");
    out << Row(absl::StrFormat("%s %-9s ", factory.name, GetRule(deviation.rule).id),
               absl::StrFormat("%-50s ", deviation.name), line, as_recorded, screen.terminal());
    json["programs"].push_back({{"rule", GetRule(deviation.rule).id},
                                {"deviation", deviation.name},
                                {"verdict", verdict},
                                {"said", answer.text},
                                {"as_recorded", as_recorded}});
  }
  out << absl::StreamFormat("%s: %d of %d deviate; %d not as recorded\n", factory.name, deviating,
                            conformance::AllPrograms().size(), otherwise);
  return otherwise == 0 ? 0 : 1;
}

}  // namespace

// One after the other, each in child processes: this one opens no driver.
int DeviationsCommand(const Options& options, Screen& screen) {
  const auto run = [&](const std::string& backend, OrderedJson& json) -> absl::StatusOr<int> {
    const auto target = TargetNamed(backend, options.machine);
    if (!target.ok()) return target.status();
    return RunAll(*target, screen, json);
  };
  return OnEachBackend(options, "sim", {"sim", "cuda"}, screen, run);
}

}  // namespace twinmmu
