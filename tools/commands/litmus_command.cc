#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "conformance/litmus/litmus_timing.h"
#include "tools/commands/commands.h"
#include "tools/commands/failure.h"
#include "tools/commands/litmus_report.h"
#include "tools/commands/machines.h"

namespace twinmmu {
namespace {

// Plenty for what is rare, and what the simulator does in seconds.
constexpr uint64_t kRoundsOfGpu = 1'000'000;
constexpr uint64_t kRoundsOfSimulator = 2048;

LitmusRun RunOf(const Options& options, const std::string& backend) {
  const bool gpu = backend == "cuda";
  LitmusRun run;
  run.play.rounds = options.litmus.rounds != 0 ? options.litmus.rounds
                    : gpu                      ? kRoundsOfGpu
                                               : kRoundsOfSimulator;
  run.play.timing = gpu ? LitmusTiming::kClocks : LitmusTiming::kGivingWay;
  if (options.machine.strict_multicast) run.modes.multicast = coherence::MulticastMode::kStrict;
  if (options.litmus.ptx_boundaries) run.modes.boundary = coherence::BoundaryMode::kPtx;
  return run;
}

// Without a machine unless one is asked for. Returns the exit code.
int RunOn(const std::string& backend, const Options& options, Screen& screen,
          nlohmann::json& records) {
  LitmusRun run = RunOf(options, backend);
  absl::StatusOr<conformance::Target> target = conformance::Target();
  if (backend != "sim" || options.litmus.play) {
    const absl::StatusOr<conformance::TargetFactory> factory =
        TargetNamed(backend, options.machine);
    if (!factory.ok()) return UsageError(factory.status());
    target = factory->open();
    if (!target.ok()) return Fail(target.status());
    run.driver = target->driver.get();
  }
  const absl::StatusOr<LitmusResult> result = RunLitmus(options.operands, run, screen.text());
  if (!result.ok()) return UsageError(result.status());
  for (const nlohmann::json& record : result->records) records.push_back(record);
  return result->as_expected ? 0 : 1;
}

}  // namespace

int LitmusCommand(const Options& options, Screen& screen) {
  if (options.operands.empty()) return UsageError("litmus needs files of tests, as JSON Lines.");
  const absl::StatusOr<std::vector<std::string>> backends =
      Backends(options.machine, "sim", {"sim", "cuda_on_sim", "cuda"});
  if (!backends.ok()) return UsageError(backends.status());
  nlohmann::json records = nlohmann::json::array();
  int exit_code = 0;
  for (const std::string& name : *backends) {
    exit_code |= RunOn(name, options, screen, records);
    if (exit_code == kUsageError) return exit_code;
  }
  return screen.Finish(exit_code, records);
}

}  // namespace twinmmu
