#include "conformance/instances/cuda_on_sim.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "backend/cuda_driver.h"
#include "conformance/instances/sim.h"

namespace twinmmu::conformance {

TargetFactory CudaOnSimTarget(const std::string& library, const Profile& profile) {
  const auto open = [library, profile]() -> absl::StatusOr<Target> {
    CudaDriverOptions options;
    options.library = library;
    absl::StatusOr<std::unique_ptr<Driver>> driver = OpenCudaDriver(options);
    if (!driver.ok()) return driver.status();
    Target target;
    target.name = "cuda_on_sim";
    target.driver = *std::move(driver);
    target.traits = TraitsOf(profile);
    return target;
  };
  return TargetFactory{"cuda_on_sim", open};
}

}  // namespace twinmmu::conformance
