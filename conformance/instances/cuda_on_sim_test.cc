// The suite on the backend over the simulated library: the whole way of the real backend.

#include "conformance/instances/cuda_on_sim.h"

#include <cstdlib>
#include <string>

#include "conformance/runner.h"

int main(int argc, char** argv) {
  const char* const runfiles = std::getenv("TEST_SRCDIR");
  const std::string folder =
      runfiles != nullptr ? std::string(runfiles) + "/twinmmu/" : std::string("bazel-bin/");
  twinmmu::conformance::RunOptions options;
  options.require_hardware = true;
  return twinmmu::conformance::RunConformance(
      argc, argv, {twinmmu::conformance::CudaOnSimTarget(folder + "sim/libcuda/libcuda.so.1")},
      options);
}
