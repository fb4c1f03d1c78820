#include "conformance/instances/cuda.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/driver_error.h"

namespace twinmmu::conformance {
namespace {

// No library, or no device. Anything else is a driver that is there and does not work.
bool IsAbsent(const absl::Status& status) {
  const std::optional<DriverError> error = GetDriverError(status);
  return error.has_value() &&
         (error->origin == ErrorOrigin::kLoader || error->code == DriverCode::kNoDevice);
}

absl::Status Broken(const absl::Status& status) {
  return absl::InternalError(absl::StrCat("the driver does not work: ", status.message()));
}

}  // namespace

TargetFactory CudaTarget(const CudaDriverOptions& options) {
  const auto open = [options]() -> absl::StatusOr<Target> {
    absl::StatusOr<std::unique_ptr<Driver>> driver = OpenCudaDriver(options);
    if (!driver.ok()) return IsAbsent(driver.status()) ? driver.status() : Broken(driver.status());
    Target target;
    target.name = "cuda";
    target.driver = *std::move(driver);
    target.traits.deviations = ReferenceDeviations();
    return target;
  };
  return TargetFactory{"cuda", open};
}

}  // namespace twinmmu::conformance
