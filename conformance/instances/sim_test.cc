// The suite on the simulator.

#include <cstdlib>

#include "conformance/instances/sim_target.h"
#include "conformance/runner.h"
#include "sim/profile/profile.h"

int main(int argc, char** argv) {
  twinmmu::conformance::RunOptions options;
  options.require_hardware = true;
  // The verdicts that docs/reference/verdicts.md shows, which has a claimed window in mind.
  const bool claimed = twinmmu::Profile::ReferenceH200(2).window.claimed;
  if (claimed && std::getenv("TEST_SRCDIR") != nullptr) {
    options.baseline_path = "conformance/rules/simulated_verdicts.txt";
  }
  return twinmmu::conformance::RunConformance(argc, argv, {twinmmu::conformance::SimTarget()},
                                              options);
}
