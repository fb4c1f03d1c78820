#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/commands/commands.h"
#include "tools/commands/failure.h"
#include "tools/commands/machines.h"
#include "tools/run/run_program.h"

namespace twinmmu {
namespace {

constexpr uint64_t kMaxStackDepth = 64;

}  // namespace

int RunCommand(const Options& options, Screen& screen) {
  if (options.operands.empty()) {
    return UsageError("run which program? twinmmu run -- PROGRAM ARGUMENT...");
  }
  if (options.events.stack_depth > kMaxStackDepth) {
    return UsageError(absl::StrCat("--stack-depth=", options.events.stack_depth,
                                   ": it is a number from 0 to ", kMaxStackDepth, "."));
  }
  RunOptions run;
  run.variables = ProfileVariables(options.machine);
  const auto set = [&](const char* variable, const std::string& value) {
    if (!value.empty()) run.variables.emplace_back(variable, value);
  };
  set("TWINMMU_STRICT", options.program.strict ? "1" : "");
  set("TWINMMU_MEMORY", options.program.memory);
  set("TWINMMU_FAIL", absl::StrJoin(options.program.failures, ";"));
  run.report_file = options.program.report;
  run.error_exit_code = options.program.error_exit_code;
  run.views = options.views;
  run.ci = options.ci;
  run.stack_depth = options.events.stack_depth;
  run.report_limit = options.program.report_limit;
  run.quiet = screen.quiet();
  return RunProgram(run, options.operands);
}

}  // namespace twinmmu
