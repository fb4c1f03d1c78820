#include "conformance/litmus/litmus_memory.h"

namespace twinmmu {

LitmusMemory::~LitmusMemory() {
  for (const AddressRange& range : mapped_) vmm_.Unmap(range).IgnoreError();
  for (const AddressRange& range : reserved_) vmm_.AddressFree(range).IgnoreError();
}

absl::StatusOr<Bytes> LitmusMemory::GranuleOf(const AllocationProperties& properties) {
  return vmm_.GetAllocationGranularity(properties, Granularity::kMinimum);
}

absl::StatusOr<std::vector<DeviceAddress>> LitmusMemory::New(Bytes size, size_t count) {
  AllocationProperties properties;
  properties.location = Location::Device(devices_.front());
  const absl::StatusOr<Bytes> granule = GranuleOf(properties);
  if (!granule.ok()) return granule.status();
  size = RoundUp(size, *granule);
  const absl::StatusOr<AllocationHandle> handle = vmm_.Create(size, properties);
  if (!handle.ok()) return handle.status();
  absl::StatusOr<std::vector<DeviceAddress>> addresses = MapAt(count, size, *handle, devices_);
  const absl::Status released = vmm_.Release(*handle);
  if (addresses.ok() && !released.ok()) return released;
  return addresses;
}

absl::StatusOr<LitmusReplicas> LitmusMemory::NewReplicas(Multicast& multicast, Bytes size,
                                                         const std::vector<size_t>& unicast_counts,
                                                         size_t multicast_count) {
  MulticastProperties properties;
  properties.device_count = static_cast<uint32_t>(unicast_counts.size());
  const absl::StatusOr<Bytes> granule = multicast.GetGranularity(properties, Granularity::kMinimum);
  if (!granule.ok()) return granule.status();
  size = RoundUp(size, *granule);
  properties.size = size;
  const absl::StatusOr<AllocationHandle> object = multicast.Create(properties);
  if (!object.ok()) return object.status();
  LitmusReplicas replicas;
  absl::Status status = FillTeam(multicast, *object, size, unicast_counts, &replicas);
  if (status.ok()) {
    const auto team = absl::MakeConstSpan(devices_).first(unicast_counts.size());
    absl::StatusOr<std::vector<DeviceAddress>> mapped = MapAt(multicast_count, size, *object, team);
    status = mapped.status();
    if (mapped.ok()) replicas.multicast = *std::move(mapped);
  }
  status.Update(vmm_.Release(*object));
  if (!status.ok()) return status;
  return replicas;
}

absl::Status LitmusMemory::FillTeam(Multicast& multicast, AllocationHandle object, Bytes size,
                                    const std::vector<size_t>& counts, LitmusReplicas* replicas) {
  for (size_t i = 0; i < counts.size(); ++i) {
    const absl::Status status = multicast.AddDevice(object, devices_[i]);
    if (!status.ok()) return status;
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    AllocationProperties properties;
    properties.location = Location::Device(devices_[i]);
    const absl::StatusOr<Bytes> granule = GranuleOf(properties);
    if (!granule.ok()) return granule.status();
    const Bytes rounded = RoundUp(size, *granule);
    const absl::StatusOr<AllocationHandle> handle = vmm_.Create(rounded, properties);
    if (!handle.ok()) return handle.status();
    absl::StatusOr<std::vector<DeviceAddress>> mapped =
        MapAt(counts[i], rounded, *handle, devices_);
    absl::Status status = mapped.status();
    if (mapped.ok()) replicas->unicast.push_back(*std::move(mapped));
    if (status.ok()) status = multicast.BindMemory(object, Bytes(0), *handle, Bytes(0), size);
    status.Update(vmm_.Release(*handle));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<DeviceAddress>> LitmusMemory::MapAt(
    size_t count, Bytes size, AllocationHandle handle, absl::Span<const DeviceOrdinal> devices) {
  std::vector<DeviceAddress> addresses;
  for (size_t i = 0; i < count; ++i) {
    const absl::StatusOr<DeviceAddress> address = MapOnce(size, handle, devices);
    if (!address.ok()) return address.status();
    addresses.push_back(*address);
  }
  return addresses;
}

absl::StatusOr<DeviceAddress> LitmusMemory::MapOnce(Bytes size, AllocationHandle handle,
                                                    absl::Span<const DeviceOrdinal> devices) {
  const absl::StatusOr<AddressRange> range = vmm_.AddressReserve(size);
  if (!range.ok()) return range.status();
  reserved_.push_back(*range);
  absl::Status status = vmm_.Map(*range, handle);
  if (!status.ok()) return status;
  mapped_.push_back(*range);
  std::vector<AccessGrant> grants;
  for (const DeviceOrdinal device : devices) {
    grants.push_back(AccessGrant{Location::Device(device), Access::kReadWrite});
  }
  status = vmm_.SetAccess(*range, grants);
  if (!status.ok()) return status;
  return range->base;
}

}  // namespace twinmmu
