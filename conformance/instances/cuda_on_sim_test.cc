// The suite on the backend over the simulated library: the whole way of the real backend.

#include <cstdlib>
#include <string>

#include "conformance/instances/cuda_on_sim_target.h"
#include "conformance/runner.h"
#include "sim/profile/profile.h"

int main(int argc, char** argv) {
  // Bazel starts a test where its files are.
  const char* const runfiles = std::getenv("TEST_SRCDIR");
  const std::string folder = runfiles != nullptr ? "" : "bazel-bin/";
  // The library looks there, too.
  const char* const alias_policy = std::getenv("TWINMMU_ALIAS_POLICY");
  twinmmu::Profile profile = twinmmu::Profile::ReferenceH200(2);
  if (alias_policy != nullptr) profile.SetAliasPolicy(alias_policy).IgnoreError();
  twinmmu::conformance::RunOptions options;
  options.require_hardware = true;
  // As in sim_test.cc.
  if (profile.window.claimed && runfiles != nullptr && alias_policy == nullptr) {
    options.baseline_path = "conformance/rules/simulated_verdicts.txt";
  }
  return twinmmu::conformance::RunConformance(
      argc, argv,
      {twinmmu::conformance::CudaOnSimTarget(folder + "sim/libcuda/libcuda.so.1", profile)},
      options);
}
