#include "api/testing/event_vmm.h"

#include <sys/stat.h>

#include <string>

namespace twinmmu {
namespace {

using record::EventKind;

record::Event OfRange(EventKind kind, const AddressRange& range) {
  record::Event event;
  event.kind = kind;
  event.address = range.base.value();
  event.bytes = range.size.value();
  return event;
}

record::Event OfHandle(EventKind kind, AllocationHandle handle) {
  record::Event event;
  event.kind = kind;
  event.allocation = handle.value();
  return event;
}

int32_t DeviceOf(const Location& location) {
  return location.type == LocationType::kDevice ? location.id : record::kHost;
}

// The same for all descriptors of one memory; 0: not known.
uint64_t SharedOf(const ShareableHandle& shareable) {
  struct stat info = {};
  const bool is_file = shareable.type == HandleType::kPosixFileDescriptor;
  return is_file && fstat(shareable.file_descriptor, &info) == 0 ? info.st_ino : 0;
}

}  // namespace

EventVmm::EventVmm(Vmm* target, record::EventWriter* events)
    : ForwardingVmm(target), events_(*events) {}

void EventVmm::Tell(record::Event event, const absl::Status& status) {
  const std::string message(status.message());
  if (!status.ok()) {
    event.severity = record::Severity::kError;
    event.text = message;
  }
  events_.Add(event);
}

void EventVmm::AddReference(AllocationHandle handle) {
  const std::lock_guard lock(mutex_);
  ++references_[handle];
}

// It is gone, as far as was told here: then it is that of others.
bool EventVmm::IsLastReference(AllocationHandle handle) {
  const std::lock_guard lock(mutex_);
  const auto found = references_.find(handle);
  if (found == references_.end()) return true;
  if (--found->second != 0) return false;
  references_.erase(found);
  return true;
}

absl::StatusOr<AddressRange> EventVmm::AddressReserve(Bytes size, const ReserveOptions& options) {
  absl::StatusOr<AddressRange> made = ForwardingVmm::AddressReserve(size, options);
  const AddressRange asked{options.hint, size, options.alignment};
  Tell(OfRange(EventKind::kReserve, made.ok() ? *made : asked), made.status());
  return made;
}

absl::Status EventVmm::AddressFree(const AddressRange& range) {
  absl::Status status = ForwardingVmm::AddressFree(range);
  Tell(OfRange(EventKind::kAddressFree, range), status);
  return status;
}

absl::StatusOr<AllocationHandle> EventVmm::Create(Bytes size,
                                                  const AllocationProperties& properties,
                                                  uint64_t flags) {
  absl::StatusOr<AllocationHandle> made = ForwardingVmm::Create(size, properties, flags);
  record::Event event = OfHandle(EventKind::kCreate, made.value_or(AllocationHandle()));
  event.bytes = size.value();
  event.device = DeviceOf(properties.location);
  if (made.ok()) AddReference(*made);
  Tell(event, made.status());
  return made;
}

absl::Status EventVmm::Release(AllocationHandle handle) {
  absl::Status status = ForwardingVmm::Release(handle);
  if (!status.ok() || IsLastReference(handle)) Tell(OfHandle(EventKind::kRelease, handle), status);
  return status;
}

absl::StatusOr<AllocationHandle> EventVmm::RetainAllocationHandle(DeviceAddress address) {
  absl::StatusOr<AllocationHandle> retained = ForwardingVmm::RetainAllocationHandle(address);
  if (retained.ok()) AddReference(*retained);
  return retained;
}

absl::Status EventVmm::Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                           uint64_t flags) {
  absl::Status status = ForwardingVmm::Map(range, handle, offset, flags);
  record::Event event = OfRange(EventKind::kMap, range);
  event.allocation = handle.value();
  event.offset = offset.value();
  Tell(event, status);
  return status;
}

absl::Status EventVmm::Unmap(const AddressRange& range) {
  absl::Status status = ForwardingVmm::Unmap(range);
  Tell(OfRange(EventKind::kUnmap, range), status);
  return status;
}

absl::Status EventVmm::SetAccess(const AddressRange& range, absl::Span<const AccessGrant> grants) {
  absl::Status status = ForwardingVmm::SetAccess(range, grants);
  for (const AccessGrant& grant : grants) {
    record::Event event = OfRange(EventKind::kSetAccess, range);
    event.device = DeviceOf(grant.location);
    event.access = static_cast<uint8_t>(grant.access);
    Tell(event, status);
  }
  return status;
}

absl::StatusOr<ShareableHandle> EventVmm::ExportShareableHandle(AllocationHandle handle,
                                                                HandleType type, uint64_t flags) {
  absl::StatusOr<ShareableHandle> made = ForwardingVmm::ExportShareableHandle(handle, type, flags);
  record::Event event = OfHandle(EventKind::kExport, handle);
  if (made.ok()) event.shared = SharedOf(*made);
  Tell(event, made.status());
  return made;
}

absl::StatusOr<AllocationHandle> EventVmm::ImportShareableHandle(const ShareableHandle& shareable) {
  absl::StatusOr<AllocationHandle> made = ForwardingVmm::ImportShareableHandle(shareable);
  record::Event event = OfHandle(EventKind::kImport, made.value_or(AllocationHandle()));
  event.shared = SharedOf(shareable);
  if (made.ok()) {
    AddReference(*made);
    const absl::StatusOr<AllocationProperties> properties = GetAllocationProperties(*made);
    if (properties.ok()) event.device = DeviceOf(properties->location);
  }
  Tell(event, made.status());
  return made;
}

}  // namespace twinmmu
