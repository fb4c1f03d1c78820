// The suite on every named profile of the simulator: a column of the table for each.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "conformance/instances/sim.h"
#include "conformance/runner.h"

int main(int argc, char** argv) {
  using twinmmu::conformance::TargetFactory;
  const twinmmu::Profile reference = twinmmu::NamedProfiles().front().make();
  std::vector<TargetFactory> targets;
  for (const twinmmu::NamedProfile& profile : twinmmu::NamedProfiles()) {
    // sim_test runs the reference.
    if (profile.make == twinmmu::NamedProfiles().front().make) continue;
    // What an older driver lacks is a matter of sim/libcuda.
    if (profile.make().driver_version != reference.driver_version) continue;
    std::string name(profile.name);
    std::replace(name.begin(), name.end(), '-', '_');  // see RunConformance
    targets.push_back(twinmmu::conformance::SimTarget(name, profile.make()));
  }
  return twinmmu::conformance::RunConformance(argc, argv, std::move(targets), {});
}
