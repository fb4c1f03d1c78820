#include "conformance/allocators/warm_up.h"

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "api/allocators/owners.h"

namespace twinmmu::conformance {
namespace {

constexpr size_t kStreams = 24;

// Work of every kind on all of them.
absl::Status WarmUpStreams(Executor& executor, DeviceOrdinal device, DeviceAddress memory) {
  std::vector<std::byte> bytes(KiB(128).value());
  const Bytes size(bytes.size());
  absl::Status status;
  std::vector<Stream> streams;
  for (size_t i = 0; i < kStreams && status.ok(); ++i) {
    const absl::StatusOr<Stream> stream = executor.CreateStream(device);
    status = stream.status();
    if (!status.ok()) break;
    streams.push_back(*stream);
    status.Update(executor.CopyDeviceToHost(*stream, bytes.data(), memory, size));
    status.Update(executor.CopyHostToDevice(*stream, memory, bytes.data(), size));
    status.Update(executor.Fill(*stream, memory, FillPattern{}, size.value()));
    status.Update(executor.SynchronizeStream(*stream));
  }
  for (const Stream stream : streams) status.Update(executor.DestroyStream(stream));
  return status;
}

}  // namespace

absl::Status WarmUp(Vmm& vmm, Executor& executor, absl::Span<const DeviceOrdinal> devices) {
  AllocationProperties properties;
  properties.location = Location::Device(devices.front());
  std::vector<AccessGrant> grants;
  for (const DeviceOrdinal device : devices) {
    grants.push_back({Location::Device(device), Access::kReadWrite});
  }
  const absl::StatusOr<Bytes> granule =
      vmm.GetAllocationGranularity(properties, Granularity::kMinimum);
  if (!granule.ok()) return granule.status();
  const absl::StatusOr<Reservation> addresses = Reservation::Make(&vmm, *granule);
  if (!addresses.ok()) return addresses.status();
  const absl::StatusOr<Allocation> memory = Allocation::Make(&vmm, *granule, properties);
  if (!memory.ok()) return memory.status();
  const absl::StatusOr<Mapping> mapping = Mapping::Make(*addresses, Bytes(0), *memory, grants);
  absl::Status status = mapping.status();
  for (size_t i = 0; i < devices.size() && status.ok(); ++i) {
    status = WarmUpStreams(executor, devices[i], mapping->range().base);
  }
  return status;
}

}  // namespace twinmmu::conformance
