#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ratio>
#include <string>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "conformance/allocators/random_program.h"
#include "tools/commands.h"
#include "tools/failure.h"

ABSL_FLAG(uint64_t, seed, 1, "soak: the seed of the first program");
ABSL_FLAG(double, minutes, 1, "soak: how long to begin new programs");
ABSL_FLAG(uint64_t, steps, 0, "soak: how many steps to make; 0: as many as --minutes allow");

namespace twinmmu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kStepsOfAProgram = 1000;
constexpr double kFailures = 0.2;
constexpr std::chrono::seconds kBetweenLines(10);

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

bool RunPrograms(const std::string& name, Vmm& vmm, Executor& executor,
                 const conformance::Traits& traits, Total& total, std::ostream& out) {
  const Clock::time_point start = Clock::now();
  const std::chrono::duration<double, std::ratio<60>> limit(absl::GetFlag(FLAGS_minutes));
  const uint64_t steps = absl::GetFlag(FLAGS_steps);
  Clock::time_point last_line = start;
  for (uint64_t seed = total.first_seed;; ++seed) {
    conformance::RandomProgram program;
    program.seed = seed;
    program.steps = steps == 0 ? kStepsOfAProgram : std::min(kStepsOfAProgram, steps - total.steps);
    program.failures = seed % 2 == 0 ? kFailures : 0;
    program.sole_user = traits.sole_user;
    program.driver_may_take = traits.driver_may_take - total.driver_took;
    if (!RunProgram(program, vmm, executor, total, out)) return false;
    const Clock::time_point now = Clock::now();
    if (steps == 0 ? now - start >= limit : total.steps >= steps) return true;
    if (now - last_line < kBetweenLines) continue;
    last_line = now;
    out << name << ": " << total << std::endl;
  }
}

}  // namespace

int RunSoak(const conformance::TargetFactory& target,
            const std::function<std::vector<Diagnostic>(Driver&)>& diagnostics, std::ostream& out) {
  if (!(absl::GetFlag(FLAGS_minutes) >= 0)) {
    return UsageError("--minutes must be 0 or more.");
  }
  absl::StatusOr<conformance::Target> opened = target.open();
  absl::StatusOr<Vmm*> vmm = opened.ok() ? opened->driver->vmm() : opened.status();
  absl::StatusOr<Executor*> executor = vmm.ok() ? opened->driver->executor() : vmm.status();
  if (!executor.ok()) return Fail(executor.status());
  const conformance::Traits& traits = opened->traits;
  Total total;
  total.first_seed = absl::GetFlag(FLAGS_seed);
  bool good = RunPrograms(target.name, **vmm, **executor, traits, total, out);
  if (diagnostics != nullptr) {
    for (const Diagnostic& noticed : diagnostics(*opened->driver)) {
      out << noticed << "\n";
      good = false;
    }
  }
  out << target.name << ": " << total << "; " << (good ? 0 : 1) << " differences";
  if (good) {
    out << (traits.sole_user ? ", memory returned to its start" : ", free memory was not compared");
    if (total.driver_took != Bytes(0))
      out << " except " << total.driver_took << " that the driver took";
  }
  out << "\n";
  return good ? 0 : 1;
}

}  // namespace twinmmu
