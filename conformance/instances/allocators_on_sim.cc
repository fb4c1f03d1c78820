// The tests of allocators on the simulator under each policy of streams, and on the backend over
// the simulated library.

#include <cstdlib>
#include <string>
#include <vector>

#include "conformance/allocators/implementations.h"
#include "conformance/instances/cuda_on_sim_target.h"
#include "conformance/instances/sim_target.h"
#include "sim/profile/profile.h"

namespace twinmmu::conformance {
namespace {

std::string SimulatedLibrary() {
  // Bazel starts a test where its files are.
  const std::string folder = std::getenv("TEST_SRCDIR") != nullptr ? "" : "bazel-bin/";
  return folder + "sim/libcuda/libcuda.so.1";
}

}  // namespace

std::vector<Implementation> Implementations() {
  std::vector<Implementation> all;
  for (const auto& known : AllNamed<StreamPolicy>()) {
    Profile profile = Profile::ReferenceH200(2);
    profile.stream_policy = known.value;
    all.push_back({SimTarget(std::string("sim_") + known.name, profile), DiagnosticsOf});
  }
  all.push_back({CudaOnSimTarget(SimulatedLibrary()), nullptr});
  return all;
}

}  // namespace twinmmu::conformance
