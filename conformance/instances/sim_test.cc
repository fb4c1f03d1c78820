// The suite on the simulator.

#include "conformance/instances/sim_target.h"
#include "conformance/runner.h"

int main(int argc, char** argv) {
  twinmmu::conformance::RunOptions options;
  options.require_hardware = true;
  return twinmmu::conformance::RunConformance(argc, argv, {twinmmu::conformance::SimTarget()},
                                              options);
}
