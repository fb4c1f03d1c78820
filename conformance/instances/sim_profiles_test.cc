// The suite on every named profile of the simulator: a column of the table for each. Its slow
// parts, which start processes or run kernels, take turns: each runs on one profile of
// eight; with --config=campaign on all.

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "conformance/campaign/campaign.h"
#include "conformance/instances/sim_target.h"
#include "conformance/runner.h"

namespace {

constexpr std::array<absl::string_view, 8> kSlowSuites = {
    "aliases", "copies", "cuMemRelease", "faults", "kernels", "peers", "processes", "running"};

// The slow suites that it is not the turn of profile number `index` to run, as GoogleTest's filter
// has them.
std::string OthersTurns(absl::string_view profile, size_t index) {
  std::string patterns;
  for (size_t suite = 0; suite < kSlowSuites.size(); ++suite) {
    if ((suite + index) % 8 == 0) continue;
    absl::StrAppend(&patterns, profile, "/", kSlowSuites[suite], ".*:");
  }
  return patterns;
}

}  // namespace

int main(int argc, char** argv) {
  using twinmmu::conformance::TargetFactory;
  std::vector<TargetFactory> targets;
  std::string others_turns;
  for (const twinmmu::NamedProfile& profile : twinmmu::NamedProfiles()) {
    // sim_test runs the reference.
    if (profile.make == twinmmu::NamedProfiles().front().make) continue;
    // What these refuse, every rule may use.
    const twinmmu::Profile machine = profile.make();
    if (!machine.rdma_memory_granted || !machine.exporters_visible) continue;
    if (machine.memory_returns_late || machine.mappings_seen_late) continue;
    std::string name(profile.name);
    for (char& c : name) c = c == '-' || c == '.' ? '_' : c;  // see RunConformance
    others_turns += OthersTurns(name, targets.size());
    targets.push_back(twinmmu::conformance::SimTarget(name, machine));
  }
  twinmmu::conformance::RunOptions options;
  if (!twinmmu::conformance::campaign::IsLong()) options.filter = absl::StrCat("-", others_turns);
  return twinmmu::conformance::RunConformance(argc, argv, std::move(targets), options);
}
