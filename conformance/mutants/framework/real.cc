#include "conformance/mutants/framework/real.h"

#include <algorithm>

namespace twinmmu::conformance {

CALL_OF(Real, AddressReserve) {
  const absl::StatusOr<AddressRange> range = ForwardingVmm::AddressReserve(size, options);
  if (!range.ok()) return range;
  const std::lock_guard lock(mutex_);
  reservations_.push_back(*range);
  return range;
}

CALL_OF(Real, Create) {
  const absl::StatusOr<AllocationHandle> handle = ForwardingVmm::Create(size, properties, flags);
  if (!handle.ok()) return handle;
  const std::lock_guard lock(mutex_);
  sizes_[*handle] = size;
  return handle;
}

CALL_OF(Real, Map) {
  const absl::Status status = ForwardingVmm::Map(range, handle, offset, flags);
  if (!status.ok()) return status;
  const std::lock_guard lock(mutex_);
  mappings_.push_back(range);
  return status;
}

CALL_OF(Real, Write) {
  return work.stream.has_value()
             ? executor_->CopyHostToDevice(*work.stream, destination, source, size)
             : executor_->CopyHostToDevice(work.device, destination, source, size);
}

CALL_OF(Real, Read) {
  return work.stream.has_value()
             ? executor_->CopyDeviceToHost(*work.stream, destination, source, size)
             : executor_->CopyDeviceToHost(work.device, destination, source, size);
}

CALL_OF(Real, Move) {
  return work.stream.has_value()
             ? executor_->CopyDeviceToDevice(*work.stream, destination, source, size)
             : executor_->CopyDeviceToDevice(work.device, destination, source, size);
}

CALL_OF(Real, Set) {
  return work.stream.has_value() ? executor_->Fill(*work.stream, destination, pattern, count)
                                 : executor_->Fill(work.device, destination, pattern, count);
}

absl::Status Real::Refuse(DriverCode code) {
  return MakeDriverStatus({code, ErrorOrigin::kSimulator, "a mutant"}, "says a mutant");
}

Bytes Real::Granule() {
  return ForwardingVmm::GetAllocationGranularity(AllocationProperties(), Granularity::kMinimum)
      .value_or(Bytes(1));
}

std::optional<AddressRange> Real::MappingAt(DeviceAddress address) {
  const auto ask = [&](PointerAttribute attribute) {
    return ForwardingVmm::GetPointerAttribute(DeviceOrdinal(0), attribute, address);
  };
  const absl::StatusOr<uint64_t> base = ask(PointerAttribute::kMappingBaseAddress);
  const absl::StatusOr<uint64_t> size = ask(PointerAttribute::kMappingSize);
  if (!base.ok() || !size.ok()) return std::nullopt;
  return AddressRange{DeviceAddress(*base), Bytes(*size), Bytes(0)};
}

bool Real::LeavesMapping(DeviceAddress address, Bytes size) {
  const std::optional<AddressRange> mapping = MappingAt(address);
  return mapping.has_value() && address + size > mapping->end();
}

std::vector<AddressRange> Real::MappingsIn(const AddressRange& range) {
  const std::lock_guard lock(mutex_);
  std::vector<AddressRange> live;
  for (const AddressRange& made : mappings_) {
    const bool is_live = MappingAt(made.base) == made;
    const bool is_new = std::find(live.begin(), live.end(), made) == live.end();
    if (is_live && is_new && made.overlaps(range)) live.push_back(made);
  }
  std::sort(live.begin(), live.end(),
            [](const AddressRange& a, const AddressRange& b) { return a.base < b.base; });
  return live;
}

std::vector<AddressRange> Real::MappingsOf(AllocationHandle handle) {
  std::vector<AddressRange> mappings = MappingsIn(kEverything);
  mappings.erase(
      std::remove_if(mappings.begin(), mappings.end(),
                     [&](const AddressRange& range) { return HandleAt(range.base) != handle; }),
      mappings.end());
  return mappings;
}

AllocationHandle Real::HandleAt(DeviceAddress address) {
  const absl::StatusOr<AllocationHandle> handle = ForwardingVmm::RetainAllocationHandle(address);
  if (!handle.ok()) return AllocationHandle(0);
  ForwardingVmm::Release(*handle).IgnoreError();
  return *handle;
}

Access Real::AccessAt(DeviceAddress address, int device) {
  return ForwardingVmm::GetAccess(Location::Device(DeviceOrdinal(device)), address)
      .value_or(Access::kNone);
}

std::vector<AddressRange> Real::Reservations() {
  const std::lock_guard lock(mutex_);
  return reservations_;
}

std::optional<AddressRange> Real::ReservationAt(DeviceAddress address) {
  const std::vector<AddressRange> made = Reservations();
  const auto found = std::find_if(made.rbegin(), made.rend(), [&](const AddressRange& range) {
    return range.contains(address);
  });
  if (found == made.rend()) return std::nullopt;
  return *found;
}

bool Real::LeavesReservation(const AddressRange& range) {
  const std::optional<AddressRange> reservation = ReservationAt(range.base);
  return reservation.has_value() && !reservation->contains(range);
}

Bytes Real::SizeOf(AllocationHandle handle) {
  const std::lock_guard lock(mutex_);
  const auto found = sizes_.find(handle);
  return found == sizes_.end() ? Bytes(0) : found->second;
}

void Real::Remove(const AddressRange& range) {
  for (const AddressRange& mapping : MappingsIn(range)) ForwardingVmm::Unmap(mapping).IgnoreError();
}

void Real::Grant(const AddressRange& range, Access access, int device) {
  const AccessGrant grant{Location::Device(DeviceOrdinal(device)), access};
  for (const AddressRange& mapping : MappingsIn(range)) {
    ForwardingVmm::SetAccess(mapping, absl::MakeConstSpan(&grant, 1)).IgnoreError();
  }
}

void Real::Scribble(const AddressRange& range) {
  for (const AddressRange& mapping : MappingsIn(range)) {
    const Access access = AccessAt(mapping.base);
    Grant(mapping, Access::kReadWrite);
    const std::vector<char> bytes(mapping.size.value(), 'x');
    executor_->CopyHostToDevice(DeviceOrdinal(0), mapping.base, bytes.data(), mapping.size)
        .IgnoreError();
    Grant(mapping, access);
  }
}

}  // namespace twinmmu::conformance
