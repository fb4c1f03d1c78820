#include "conformance/instances/random/random_cuda.h"

#include <utility>

#include "absl/status/status.h"
#include "conformance/framework/target.h"
#include "conformance/instances/cuda_target.h"

namespace twinmmu::conformance::random {
namespace {

// What Create answers.
DriverCode AskFor(Vmm& vmm, Bytes size, const AllocationProperties& properties) {
  const absl::StatusOr<AllocationHandle> handle = vmm.Create(size, properties);
  return GetDriverCode(handle.ok() ? vmm.Release(*handle) : handle.status());
}

// False too where no such memory is created.
bool GrantsCompression(Vmm& vmm, Bytes size) {
  AllocationProperties properties;
  properties.compression = CompressionType::kGeneric;
  const absl::StatusOr<AllocationHandle> handle = vmm.Create(size, properties);
  if (!handle.ok()) return false;
  const absl::StatusOr<AllocationProperties> granted = vmm.GetAllocationProperties(*handle);
  return vmm.Release(*handle).ok() && granted.ok() &&
         granted->compression == CompressionType::kGeneric;
}

// What the driver says of itself; the rest is as with the reference.
absl::StatusOr<ModelParameters> Describe(Vmm& vmm) {
  ModelParameters parameters;
  for (const auto& [option, granularity] :
       {std::pair(Granularity::kMinimum, &parameters.granularity),
        std::pair(Granularity::kRecommended, &parameters.recommended_granularity)}) {
    const absl::StatusOr<Bytes> answer = vmm.GetAllocationGranularity({}, option);
    if (!answer.ok()) return answer.status();
    *granularity = *answer;
  }
  parameters.reservation_granularity = parameters.granularity;
  const absl::StatusOr<int> count = vmm.GetDeviceCount();
  if (!count.ok()) return count.status();
  for (int i = 0; i < *count; ++i) {
    const absl::StatusOr<MemoryInfo> info = vmm.GetMemoryInfo(DeviceOrdinal(i));
    if (!info.ok()) return info.status();
    parameters.devices.push_back(*info);
    parameters.peers.emplace_back();
    for (int k = 0; k < *count; ++k) {
      const absl::StatusOr<bool> reaches = vmm.CanAccessPeer(DeviceOrdinal(i), DeviceOrdinal(k));
      if (!reaches.ok()) return reaches.status();
      parameters.peers.back().push_back(*reaches);
    }
  }
  AllocationProperties fabric;
  fabric.requested_handle_types = HandleType::kFabric;
  parameters.fabric = AskFor(vmm, parameters.granularity, fabric);
  AllocationProperties of_host;
  of_host.location = Location::HostNuma(0);
  parameters.host_memory = AskFor(vmm, parameters.granularity, of_host);
  parameters.grants_compression = GrantsCompression(vmm, parameters.granularity);
  parameters.deviations = ReferenceDeviations();
  return parameters;
}

}  // namespace

OpenSubject CudaSubject(const CudaDriverOptions& options, bool sole_user) {
  return [options, sole_user]() -> absl::StatusOr<Subject> {
    absl::StatusOr<Target> target = CudaTarget(options).open();
    if (!target.ok()) return target.status();
    const absl::StatusOr<Vmm*> vmm = target->driver->vmm();
    if (!vmm.ok()) return vmm.status();
    absl::StatusOr<ModelParameters> parameters = Describe(**vmm);
    if (!parameters.ok()) return parameters.status();
    parameters->sole_user = sole_user;
    return Subject{std::move(target->driver), *std::move(parameters), true};
  };
}

}  // namespace twinmmu::conformance::random
