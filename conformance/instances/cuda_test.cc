// The suite on this machine's driver and devices. Absent hardware is a failure: whoever runs this
// test means to test it.

#include "conformance/instances/cuda.h"

#include "conformance/runner.h"
#include "gtest/gtest.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  twinmmu::conformance::RunOptions options;
  options.require_hardware = true;
  return twinmmu::conformance::RunConformance({twinmmu::conformance::CudaTarget()}, options);
}
