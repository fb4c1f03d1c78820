// What of the suite has aliases or kernels, on simulators that do not show the newest value where
// an alias fence is missing: a column of the table for each policy of aliases but that of the
// reference, which sim_test runs.

#include <string>
#include <utility>
#include <vector>

#include "conformance/instances/sim_target.h"
#include "conformance/runner.h"
#include "sim/profile/profile.h"

int main(int argc, char** argv) {
  std::vector<twinmmu::conformance::TargetFactory> targets;
  for (const auto& known : twinmmu::AllNamed<twinmmu::coherence::Policy>()) {
    twinmmu::Profile profile = twinmmu::Profile::ReferenceH200(2);
    if (profile.alias_policy == known.value) continue;
    profile.alias_policy = known.value;
    targets.push_back(twinmmu::conformance::SimTarget(std::string("sim_") + known.name, profile));
  }
  return twinmmu::conformance::RunConformance(argc, argv, std::move(targets), {});
}
