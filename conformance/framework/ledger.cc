#include "conformance/framework/ledger.h"

#include <algorithm>

namespace twinmmu::conformance {

absl::StatusOr<AddressRange> LedgerVmm::AddressReserve(Bytes size, const ReserveOptions& options) {
  const auto range = ForwardingVmm::AddressReserve(size, options);
  if (range.ok()) reservations_.push_back(*range);
  return range;
}

absl::Status LedgerVmm::AddressFree(const AddressRange& range) {
  const absl::Status status = ForwardingVmm::AddressFree(range);
  if (!status.ok()) return status;
  // By base alone: a driver that frees on a wrong size has freed all the same.
  reservations_.erase(
      std::remove_if(reservations_.begin(), reservations_.end(),
                     [&](const AddressRange& booked) { return booked.base == range.base; }),
      reservations_.end());
  return status;
}

absl::StatusOr<AllocationHandle> LedgerVmm::Create(Bytes size,
                                                   const AllocationProperties& properties,
                                                   uint64_t flags) {
  const auto handle = ForwardingVmm::Create(size, properties, flags);
  if (handle.ok()) ++references_[*handle];
  return handle;
}

absl::Status LedgerVmm::Release(AllocationHandle handle) {
  const absl::Status status = ForwardingVmm::Release(handle);
  const auto booked = references_.find(handle);
  if (status.ok() && booked != references_.end() && --booked->second == 0) {
    references_.erase(booked);
  }
  return status;
}

absl::StatusOr<AllocationHandle> LedgerVmm::RetainAllocationHandle(DeviceAddress address) {
  const auto handle = ForwardingVmm::RetainAllocationHandle(address);
  if (handle.ok()) ++references_[*handle];
  return handle;
}

absl::Status LedgerVmm::Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                            uint64_t flags) {
  const absl::Status status = ForwardingVmm::Map(range, handle, offset, flags);
  if (status.ok()) mappings_.push_back(range);
  return status;
}

absl::Status LedgerVmm::Unmap(const AddressRange& range) {
  const absl::Status status = ForwardingVmm::Unmap(range);
  // A driver that accepts an end that wraps around has unmapped nothing.
  const bool wraps = range.base + range.size <= range.base;
  if (!status.ok() || wraps) return status;
  mappings_.erase(
      std::remove_if(mappings_.begin(), mappings_.end(),
                     [&](const AddressRange& booked) { return range.contains(booked); }),
      mappings_.end());
  return status;
}

absl::StatusOr<AllocationHandle> LedgerVmm::ImportShareableHandle(
    const ShareableHandle& shareable) {
  const auto handle = ForwardingVmm::ImportShareableHandle(shareable);
  if (handle.ok()) ++references_[*handle];
  return handle;
}

absl::Status LedgerVmm::UndoAll() {
  absl::Status first_error;
  while (!mappings_.empty()) {
    const AddressRange mapping = mappings_.back();
    mappings_.pop_back();
    first_error.Update(ForwardingVmm::Unmap(mapping));
  }
  while (!reservations_.empty()) {
    const AddressRange reservation = reservations_.back();
    reservations_.pop_back();
    first_error.Update(ForwardingVmm::AddressFree(reservation));
  }
  for (const auto& [handle, count] : references_) {
    for (int i = 0; i < count; ++i) first_error.Update(ForwardingVmm::Release(handle));
  }
  references_.clear();
  return first_error;
}

}  // namespace twinmmu::conformance
