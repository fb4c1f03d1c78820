#include "conformance/instances/cuda_target.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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

// What cannot be asked is not on record either.
bool WasRecorded(Vmm& vmm) {
  const absl::StatusOr<int> version = vmm.GetDriverVersion();
  const absl::StatusOr<int> count = vmm.GetDeviceCount();
  if (!version.ok() || !count.ok()) return false;
  for (int i = 0; i < *count; ++i) {
    const DeviceOrdinal device(i);
    const auto major = vmm.GetDeviceAttribute(DeviceAttribute::kComputeCapabilityMajor, device);
    const auto minor = vmm.GetDeviceAttribute(DeviceAttribute::kComputeCapabilityMinor, device);
    if (!major.ok() || !minor.ok() || !IsRecorded(*version, *major, *minor)) return false;
  }
  return true;
}

}  // namespace

TargetFactory CudaTarget(const CudaDriverOptions& options) {
  const auto open = [options]() -> absl::StatusOr<Target> {
    absl::StatusOr<std::unique_ptr<Driver>> driver = OpenCudaDriver(options);
    if (!driver.ok()) return IsAbsent(driver.status()) ? driver.status() : Broken(driver.status());
    Target target;
    target.name = "cuda";
    target.driver = *std::move(driver);
    target.traits.multicast_allowed = options.allow_multicast_on_hardware;
    target.traits.deviations = ReferenceDeviations();
    target.traits.driver_may_take = MiB(32);
    const absl::StatusOr<Vmm*> vmm = target.driver->vmm();
    if (!vmm.ok()) return Broken(vmm.status());
    target.traits.recorded = WasRecorded(**vmm);
    return target;
  };
  return TargetFactory{"cuda", open};
}

}  // namespace twinmmu::conformance
