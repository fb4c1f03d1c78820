#include "tools/litmus_memory.h"

namespace twinmmu {

LitmusMemory::~LitmusMemory() {
  for (const AddressRange& range : mapped_) vmm_.Unmap(range).IgnoreError();
  for (const AddressRange& range : reserved_) vmm_.AddressFree(range).IgnoreError();
}

absl::StatusOr<std::vector<DeviceAddress>> LitmusMemory::New(Bytes size, size_t count) {
  AllocationProperties properties;
  properties.location = Location::Device(devices_.front());
  const absl::StatusOr<Bytes> granule =
      vmm_.GetAllocationGranularity(properties, Granularity::kMinimum);
  if (!granule.ok()) return granule.status();
  size = RoundUp(size, *granule);
  const absl::StatusOr<AllocationHandle> handle = vmm_.Create(size, properties);
  if (!handle.ok()) return handle.status();
  std::vector<DeviceAddress> addresses;
  absl::Status status;
  for (size_t i = 0; status.ok() && i < count; ++i) {
    const absl::StatusOr<DeviceAddress> address = MapOnce(size, *handle);
    status = address.status();
    if (status.ok()) addresses.push_back(*address);
  }
  status.Update(vmm_.Release(*handle));
  if (!status.ok()) return status;
  return addresses;
}

absl::StatusOr<DeviceAddress> LitmusMemory::MapOnce(Bytes size, AllocationHandle handle) {
  const absl::StatusOr<AddressRange> range = vmm_.AddressReserve(size);
  if (!range.ok()) return range.status();
  reserved_.push_back(*range);
  absl::Status status = vmm_.Map(*range, handle);
  if (!status.ok()) return status;
  mapped_.push_back(*range);
  std::vector<AccessGrant> grants;
  for (const DeviceOrdinal device : devices_) {
    grants.push_back(AccessGrant{Location::Device(device), Access::kReadWrite});
  }
  status = vmm_.SetAccess(*range, grants);
  if (!status.ok()) return status;
  return range->base;
}

}  // namespace twinmmu
