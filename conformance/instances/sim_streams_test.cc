// The suite on simulators whose work does not run at the call: a column of the table for each
// policy of streams except that of the reference, which sim_test runs.

#include <string>
#include <utility>
#include <vector>

#include "conformance/instances/sim_target.h"
#include "conformance/runner.h"
#include "sim/profile/profile.h"

int main(int argc, char** argv) {
  std::vector<twinmmu::conformance::TargetFactory> targets;
  for (const auto& known : twinmmu::AllNamed<twinmmu::StreamPolicy>()) {
    twinmmu::Profile profile = twinmmu::Profile::ReferenceH200(2);
    if (profile.stream_policy == known.value) continue;
    profile.stream_policy = known.value;
    targets.push_back(twinmmu::conformance::SimTarget(std::string("sim_") + known.name, profile));
  }
  return twinmmu::conformance::RunConformance(argc, argv, std::move(targets), {});
}
