// The suite on every named profile of the simulator: a column of the table for each. Its slow
// parts, which start processes or run kernels, take turns: each runs on a quarter of the profiles;
// with --config=campaign on all.

#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "conformance/instances/sim_target.h"
#include "conformance/runner.h"

namespace {

constexpr std::array<absl::string_view, 8> kSlowSuites = {
    "aliases", "copies", "cuMemRelease", "faults", "kernels", "peers", "processes", "running"};

// A filter of GoogleTest without the slow suites of the profile `index` that it is not the turn of.
std::string WithoutOthersTurns(absl::string_view profile, size_t index) {
  std::string filter;
  for (size_t suite = 0; suite < kSlowSuites.size(); ++suite) {
    if ((suite + index) % 4 != 0) absl::StrAppend(&filter, profile, "/", kSlowSuites[suite], ".*:");
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  using twinmmu::conformance::TargetFactory;
  std::vector<TargetFactory> targets;
  twinmmu::conformance::RunOptions options;
  if (std::getenv("CAMPAIGN") == nullptr) options.filter = "-";
  for (const twinmmu::NamedProfile& profile : twinmmu::NamedProfiles()) {
    // sim_test runs the reference.
    if (profile.make == twinmmu::NamedProfiles().front().make) continue;
    // What these refuse, every rule may use.
    const twinmmu::Profile machine = profile.make();
    if (!machine.rdma_memory_granted || !machine.exporters_visible) continue;
    if (machine.memory_returns_late || machine.mappings_seen_late) continue;
    std::string name(profile.name);
    for (char& c : name) c = c == '-' || c == '.' ? '_' : c;  // see RunConformance
    if (!options.filter.empty()) options.filter += WithoutOthersTurns(name, targets.size());
    targets.push_back(twinmmu::conformance::SimTarget(name, machine));
  }
  return twinmmu::conformance::RunConformance(argc, argv, std::move(targets), options);
}
