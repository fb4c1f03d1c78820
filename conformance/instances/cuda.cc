#include "conformance/instances/cuda.h"

#include <memory>
#include <utility>

namespace twinmmu::conformance {

TargetFactory CudaTarget(const CudaDriverOptions& options) {
  const auto open = [options]() -> absl::StatusOr<Target> {
    absl::StatusOr<std::unique_ptr<Driver>> driver = OpenCudaDriver(options);
    if (!driver.ok()) return driver.status();
    Target target;
    target.name = "cuda";
    target.driver = *std::move(driver);
    target.traits.deviations = ReferenceDeviations();
    return target;
  };
  return TargetFactory{"cuda", open};
}

}  // namespace twinmmu::conformance
