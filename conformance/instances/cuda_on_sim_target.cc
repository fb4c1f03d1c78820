#include "conformance/instances/cuda_on_sim_target.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "api/driver.h"
#include "backend/cuda_driver.h"
#include "conformance/instances/sim_target.h"

namespace twinmmu::conformance {

namespace {

// What no genuine driver calls a device.
bool IsSimulated(Driver& driver) {
  const absl::StatusOr<Vmm*> vmm = driver.vmm();
  if (!vmm.ok()) return false;
  const absl::StatusOr<std::string> name = (*vmm)->GetDeviceName(DeviceOrdinal(0));
  return name.ok() && absl::StartsWith(*name, "TwinMMU simulated ");
}

}  // namespace

TargetFactory CudaOnSimTarget(const std::string& library, const Profile& profile) {
  const auto open = [library, profile]() -> absl::StatusOr<Target> {
    CudaDriverOptions options;
    options.library = library;
    absl::StatusOr<std::unique_ptr<Driver>> driver = OpenCudaDriver(options);
    if (!driver.ok()) return driver.status();
    // Multicast is for the simulated driver only, and for no other that has come in its place.
    options.allow_multicast_on_hardware = IsSimulated(**driver);
    if (options.allow_multicast_on_hardware) driver = OpenCudaDriver(options);
    if (!driver.ok()) return driver.status();
    Target target;
    target.name = "cuda_on_sim";
    target.driver = *std::move(driver);
    target.traits = TraitsOf(profile);
    target.traits.multicast_allowed = options.allow_multicast_on_hardware;
    return target;
  };
  return TargetFactory{"cuda_on_sim", open};
}

}  // namespace twinmmu::conformance
