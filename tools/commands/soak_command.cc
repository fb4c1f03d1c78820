#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <ratio>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "conformance/allocators/random_program.h"
#include "conformance/instances/sim_target.h"
#include "tools/commands/commands.h"
#include "tools/commands/each_backend.h"
#include "tools/commands/failure.h"
#include "tools/commands/machines.h"

namespace twinmmu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kStepsOfAProgram = 1000;
constexpr double kFailures = 0.2;
constexpr std::chrono::seconds kBetweenLines(10);  // where no progress is shown

// All programs so far.
struct Total {
  uint64_t first_seed = 0;
  uint64_t last_seed = 0;
  uint64_t steps = 0;
  uint64_t driver_calls = 0;
  Bytes peak;
  Bytes driver_took;  // for itself

  friend std::ostream& operator<<(std::ostream& out, const Total& total) {
    return out << "seeds " << total.first_seed << "-" << total.last_seed << ", " << total.steps
               << " steps, " << total.driver_calls << " driver calls, peak " << total.peak;
  }
};

// Whether it was as it should be.
bool RunProgram(const conformance::RandomProgram& program, Vmm& vmm, Executor& executor,
                Total& total, std::ostream& out) {
  const conformance::RandomReport report = conformance::Run(program, vmm, executor);
  total.last_seed = program.seed;
  total.steps += report.steps;
  total.driver_calls += report.driver_calls;
  total.peak = std::max(total.peak, report.peak);
  if (program.sole_user) total.driver_took = total.driver_took + report.driver_took;
  out << report.difference;
  return report.difference.empty();
}

bool RunPrograms(const std::string& name, const SoakOptions& options, Vmm& vmm, Executor& executor,
                 const conformance::Traits& traits, Total& total, Screen& screen) {
  const Clock::time_point start = Clock::now();
  const std::chrono::duration<double, std::ratio<60>> limit(options.minutes);
  const uint64_t steps = options.steps;
  Clock::time_point last_line = start;
  for (uint64_t seed = total.first_seed;; ++seed) {
    conformance::RandomProgram program;
    program.seed = seed;
    program.steps = steps == 0 ? kStepsOfAProgram : std::min(kStepsOfAProgram, steps - total.steps);
    program.failures = seed % 2 == 0 ? kFailures : 0;
    program.sole_user = traits.sole_user;
    program.driver_may_take = traits.driver_may_take - total.driver_took;
    if (!RunProgram(program, vmm, executor, total, screen.text())) return false;
    const Clock::time_point now = Clock::now();
    if (steps == 0 ? now - start >= limit : total.steps >= steps) return true;
    screen.progress().Show(absl::StrCat(name, ": seed ", seed, ", ", total.steps, " steps"));
    if (now - last_line < kBetweenLines) continue;
    last_line = now;
    screen.progress().Clear();
    screen.text() << name << ": " << total << std::endl;
  }
}

// What the driver noticed, at the end; may be null.
using Diagnose = std::function<std::vector<Diagnostic>(Driver&)>;

std::string Ending(const Total& total, const conformance::Traits& traits) {
  std::string text =
      traits.sole_user ? ", memory returned to its start" : ", free memory was not compared";
  if (total.driver_took != Bytes(0)) {
    absl::StrAppend(&text, " except ", ToString(total.driver_took), " that the driver took");
  }
  return text;
}

// Runs programs for as long as the options say, and returns the exit code: 0 only without a
// difference, and with all memory back.
int Soak(const conformance::TargetFactory& target, const SoakOptions& options,
         const Diagnose& diagnose, Screen& screen, OrderedJson& json) {
  absl::StatusOr<conformance::Target> opened = target.open();
  absl::StatusOr<Vmm*> vmm = opened.ok() ? opened->driver->vmm() : opened.status();
  absl::StatusOr<Executor*> executor = vmm.ok() ? opened->driver->executor() : vmm.status();
  if (!executor.ok()) {
    json["error"] = executor.status().message();
    return Fail(executor.status());
  }
  const conformance::Traits& traits = opened->traits;
  Total total;
  total.first_seed = options.seed;
  bool good = RunPrograms(target.name, options, **vmm, **executor, traits, total, screen);
  screen.progress().Clear();
  for (const Diagnostic& noticed :
       diagnose == nullptr ? std::vector<Diagnostic>() : diagnose(*opened->driver)) {
    screen.text() << noticed << "\n";
    good = false;
  }
  screen.text() << target.name << ": " << total << "; " << (good ? 0 : 1) << " differences"
                << (good ? Ending(total, traits) : "") << "\n";
  json["first_seed"] = total.first_seed;
  json["last_seed"] = total.last_seed;
  json["steps"] = total.steps;
  json["driver_calls"] = total.driver_calls;
  json["peak"] = total.peak.value();
  json["differences"] = good ? 0 : 1;
  return good ? 0 : 1;
}

}  // namespace

int SoakCommand(const Options& options, Screen& screen) {
  if (!(options.soak.minutes >= 0)) return UsageError("--minutes must be 0 or more.");
  const auto run = [&](const std::string& backend, OrderedJson& json) -> absl::StatusOr<int> {
    const auto target = TargetNamed(backend, options.machine);
    if (!target.ok()) return target.status();
    const Diagnose diagnose = backend == "sim" ? Diagnose(conformance::DiagnosticsOf) : nullptr;
    return Soak(*target, options.soak, diagnose, screen, json);
  };
  return OnEachBackend(options, "sim", {"sim", "cuda_on_sim", "cuda"}, screen, run);
}

}  // namespace twinmmu
