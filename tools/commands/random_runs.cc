#include "tools/commands/random_runs.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "conformance/instances/random/random_cuda.h"
#include "conformance/instances/random/random_sim.h"
#include "tools/commands/machines.h"

namespace twinmmu {
namespace {

// False: not one number, nor two with the smaller one first.
bool ParseSeeds(const std::string& text, conformance::random::Seeds& seeds) {
  const std::vector<std::string> parts = absl::StrSplit(text, '-');
  return parts.size() <= 2 && absl::SimpleAtoi(parts.front(), &seeds.first) &&
         absl::SimpleAtoi(parts.back(), &seeds.last) && seeds.first <= seeds.last;
}

}  // namespace

absl::StatusOr<conformance::random::Seeds> RandomSeeds(const SeedOptions& options, Screen& screen) {
  conformance::random::Seeds seeds;
  seeds.calls = options.calls;
  if (!ParseSeeds(options.seeds, seeds)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--seeds=", options.seeds, " is not of the form FIRST-LAST."));
  }
  if (seeds.calls == 0) return absl::InvalidArgumentError("--calls=0 would compare nothing.");
  seeds.begin = [first = seeds.first, last = seeds.last, &screen](uint64_t seed) {
    screen.progress().Show(
        absl::StrCat("seed ", seed, ": ", seed - first + 1, " of ", last - first + 1));
  };
  return seeds;
}

absl::StatusOr<conformance::random::OpenSubject> RandomSubject(const std::string& backend,
                                                               const MachineOptions& options) {
  if (backend == "cuda") {
    return conformance::random::CudaSubject(CudaOptions(options), !options.shared_devices);
  }
  const absl::StatusOr<Profile> profile = ChosenProfile(options);
  if (!profile.ok()) return profile.status();
  if (profile->HasVmm()) return conformance::random::SimSubject(*profile);
  return absl::InvalidArgumentError(
      absl::StrCat("--profile=", options.profile, " has no virtual memory management."));
}

}  // namespace twinmmu
