// The suite on every named profile of the simulator: a column of the table for each.

#include <string>
#include <utility>
#include <vector>

#include "conformance/instances/sim_target.h"
#include "conformance/runner.h"

int main(int argc, char** argv) {
  using twinmmu::conformance::TargetFactory;
  std::vector<TargetFactory> targets;
  for (const twinmmu::NamedProfile& profile : twinmmu::NamedProfiles()) {
    // sim_test runs the reference.
    if (profile.make == twinmmu::NamedProfiles().front().make) continue;
    // What these refuse, every rule may use.
    const twinmmu::Profile machine = profile.make();
    if (!machine.rdma_memory_granted || !machine.exporters_visible) continue;
    if (machine.memory_returns_late || machine.mappings_seen_late) continue;
    std::string name(profile.name);
    for (char& c : name) c = c == '-' || c == '.' ? '_' : c;  // see RunConformance
    targets.push_back(twinmmu::conformance::SimTarget(name, machine));
  }
  return twinmmu::conformance::RunConformance(argc, argv, std::move(targets), {});
}
