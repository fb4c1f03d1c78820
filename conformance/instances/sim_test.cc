// The suite on the simulator.

#include "conformance/instances/sim.h"

#include "conformance/runner.h"
#include "gtest/gtest.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  twinmmu::conformance::RunOptions options;
  options.require_hardware = true;
  return twinmmu::conformance::RunConformance({twinmmu::conformance::SimTarget()}, options);
}
