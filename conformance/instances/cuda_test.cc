// The suite on this machine's driver and devices. Absent hardware is a failure: whoever runs this
// test means to test it.

#include "conformance/instances/cuda_target.h"
#include "conformance/runner.h"

int main(int argc, char** argv) {
  twinmmu::conformance::RunOptions options;
  options.require_hardware = true;
  return twinmmu::conformance::RunConformance(argc, argv, {twinmmu::conformance::CudaTarget()},
                                              options);
}
