#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "conformance/recordings/recorders.h"
#include "tools/commands/commands.h"
#include "tools/commands/failure.h"
#include "tools/commands/machines.h"
#include "tools/commands/random_runs.h"
#include "tools/commands/suite_options.h"

namespace twinmmu {
namespace {

using conformance::RecordingPlan;

std::string Today() { return absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone()); }

int RecordRandomCalls(const Options& options, const RecordingPlan& plan, Screen& screen) {
  const auto open = RandomSubject(plan.backend, options.machine);
  if (!open.ok()) return UsageError(open.status());
  const auto seeds = RandomSeeds(options.random, screen);
  if (!seeds.ok()) return UsageError(seeds.status());
  const auto report = conformance::RecordRandom(*open, *seeds, plan);
  screen.progress().Clear();
  if (!report.ok()) return Fail(report.status());
  screen.text() << plan.path << ": seeds " << seeds->first << "-" << seeds->last << ", "
                << report->calls << " random calls\n";
  if (report->difference.empty()) return 0;
  screen.text() << "The model of random calls does not match this machine; these sequences end "
                   "early:\n"
                << report->difference;
  return 1;
}

int RecordCallsOf(const std::string& program, const conformance::TargetFactory& target,
                  const RecordingPlan& plan) {
  absl::StatusOr<conformance::Target> opened = target.open();
  if (!opened.ok()) return Fail(opened.status());
  const absl::Status recorded =
      conformance::RecordProgram(program, std::move(opened->driver), plan);
  return recorded.ok() ? 0 : Fail(recorded);
}

}  // namespace

int RecordCommand(const Options& options, const MainArguments& main, Screen& screen) {
  const absl::StatusOr<std::vector<std::string>> backends =
      Backends(options.machine, "sim", {"sim", "cuda"});
  if (!backends.ok()) return UsageError(backends.status());
  if (backends->size() != 1) return UsageError("record takes one --backend.");
  const absl::Status can_write = CheckCanWrite(options.suite.xml);
  if (!can_write.ok()) return UsageError(can_write);
  const RecordingPlan plan{options.record.out, backends->front(), Today()};
  if (plan.path.empty()) {
    return UsageError("record needs --out=FILE, such as --out=h200.jsonl.zst.");
  }
  const std::string& program = options.record.program;
  if (program == "random") return screen.Finish(RecordRandomCalls(options, plan, screen));
  const absl::StatusOr<conformance::TargetFactory> target =
      TargetNamed(plan.backend, options.machine);
  if (!target.ok()) return UsageError(target.status());
  if (program == "suite") {
    const conformance::RunOptions runner = RunnerOptions(options.suite, screen);
    return screen.Finish(conformance::RecordSuite(main.argc, main.argv, *target, runner, plan));
  }
  return screen.Finish(RecordCallsOf(program, *target, plan));
}

}  // namespace twinmmu
