// A user's allocator, as small as can be: each block is a reservation with memory of its own.

#ifndef TOY_ALLOCATOR_H_
#define TOY_ALLOCATOR_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/vmm.h"

class ToyAllocator {
 public:
  // `vmm` must outlive this object.
  ToyAllocator(twinmmu::Vmm* vmm, twinmmu::DeviceOrdinal device) : vmm_(*vmm) {
    properties_.location = twinmmu::Location::Device(device);
  }

  // At least `size` bytes that the device can read and write. An error leaves nothing behind.
  absl::StatusOr<twinmmu::AddressRange> Allocate(twinmmu::Bytes size) {
    const auto granule = vmm_.GetAllocationGranularity(properties_, twinmmu::Granularity::kMinimum);
    if (!granule.ok()) return granule.status();
    const auto range = vmm_.AddressReserve(twinmmu::RoundUp(size, *granule));
    if (!range.ok()) return range.status();
    const absl::Status backed = Back(*range);
    if (!backed.ok()) {
      vmm_.AddressFree(*range).IgnoreError();  // The first error is the one to report.
      return backed;
    }
    return *range;
  }

  // `range`: what Allocate gave.
  absl::Status Free(const twinmmu::AddressRange& range) {
    const absl::Status unmapped = vmm_.Unmap(range);
    return unmapped.ok() ? vmm_.AddressFree(range) : unmapped;
  }

 private:
  absl::Status Back(const twinmmu::AddressRange& range) {
    const auto handle = vmm_.Create(range.size, properties_);
    if (!handle.ok()) return handle.status();
    const absl::Status mapped = vmm_.Map(range, *handle);
    const absl::Status released = vmm_.Release(*handle);  // The mapping keeps the memory alive.
    if (!mapped.ok()) return mapped;
    absl::Status granted = released;
    if (granted.ok()) {
      granted = vmm_.SetAccess(range, {{properties_.location, twinmmu::Access::kReadWrite}});
    }
    if (!granted.ok()) vmm_.Unmap(range).IgnoreError();
    return granted;
  }

  twinmmu::Vmm& vmm_;
  twinmmu::AllocationProperties properties_;
};

#endif  // TOY_ALLOCATOR_H_
