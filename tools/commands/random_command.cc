#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/commands/commands.h"
#include "tools/commands/each_backend.h"
#include "tools/commands/failure.h"
#include "tools/commands/machines.h"
#include "tools/commands/random_runs.h"

namespace twinmmu {
namespace {

using conformance::random::OpenSubject;

// Says what came of the seeds, and returns the exit code.
int Run(const std::string& backend, const OpenSubject& open,
        const conformance::random::Seeds& seeds, Screen& screen, OrderedJson& json) {
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<conformance::random::Report> report =
      conformance::random::RunSeeds(open, seeds);
  screen.progress().Clear();
  if (!report.ok()) {
    json["error"] = report.status().message();
    return Fail(report.status());
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  const bool differs = !report->difference.empty();
  screen.text() << backend << ": seeds " << seeds.first << "-" << seeds.first + report->seeds - 1
                << ", " << report->calls << " calls, " << (differs ? 1 : 0) << " differences in "
                << report->answers << " answers, " << taken.count() << " s\n";
  if (differs) {
    screen.text() << "As a test over `Vmm& vmm` and `Executor& executor`:\n" << report->difference;
  }
  json["first_seed"] = seeds.first;
  json["last_seed"] = seeds.first + report->seeds - 1;
  json["calls"] = report->calls;
  json["answers"] = report->answers;
  json["differences"] = differs ? 1 : 0;
  json["seconds"] = taken.count();
  if (differs) json["test"] = report->difference;
  return differs ? 1 : 0;
}

}  // namespace

int RandomCommand(const Options& options, Screen& screen) {
  const absl::StatusOr<conformance::random::Seeds> seeds = RandomSeeds(options.random, screen);
  if (!seeds.ok()) return UsageError(seeds.status());
  const auto run = [&](const std::string& backend, OrderedJson& json) -> absl::StatusOr<int> {
    const absl::StatusOr<OpenSubject> open = RandomSubject(backend, options.machine);
    if (!open.ok()) return open.status();
    return Run(backend, *open, *seeds, screen, json);
  };
  return OnEachBackend(options, "sim", {"sim", "cuda"}, screen, run);
}

}  // namespace twinmmu
