// Reservations and physical memory.
//
// What takes something away does so before the driver does: once that has, another thread may be
// given the same address, or the same handle.

#include <sys/stat.h>

#include <memory>
#include <mutex>
#include <optional>

#include "api/diagnostic_words.h"
#include "api/driver_error.h"
#include "api/testing/checked/parts.h"

namespace twinmmu {

using checked::Book;
using checked::CheckedCall;
using checked::Findings;

namespace {

constexpr HandleType kKnownTypes = HandleType::kPosixFileDescriptor | HandleType::kWin32 |
                                   HandleType::kWin32Kmt | HandleType::kFabric;

HandleType UnknownTypes(HandleType types) {
  return static_cast<HandleType>(static_cast<uint32_t>(types) &
                                 ~static_cast<uint32_t>(kKnownTypes));
}

}  // namespace

absl::StatusOr<AddressRange> CheckedVmm::AddressReserve(Bytes size, const ReserveOptions& options) {
  Book& book = parts_->book;
  CheckedCall call(&book, DriverCall::kAddressReserve,
                   AddressRange{options.hint, size, options.alignment});
  const absl::StatusOr<AddressRange> range = ForwardingVmm::AddressReserve(size, options);
  const std::lock_guard lock(book.mutex);
  if (range.ok()) {
    book.state.AddReservation({*range, call.id()});
    call.Done(*range, true);
  } else {
    call.Refused({});
  }
  return range;
}

absl::Status CheckedVmm::AddressFree(const AddressRange& range) {
  Book& book = parts_->book;
  CheckedCall call(&book, DriverCall::kAddressFree, range);
  std::unique_lock lock(book.mutex);
  const Findings findings = FindingsOfFree(book, range);
  std::optional<checked::TrackedReservation> taken;
  if (findings.empty()) taken = book.state.TakeReservation(range.base);
  lock.unlock();
  const absl::Status status = ForwardingVmm::AddressFree(range);
  lock.lock();
  if (status.ok()) {
    if (!findings.empty()) book.state.TakeReservation(range.base);
    call.Warn(findings);
    call.Done();
  } else {
    if (taken.has_value()) book.state.AddReservation(*taken);
    call.Refused(checked::MeantBy(status, findings));
  }
  return status;
}

absl::StatusOr<AllocationHandle> CheckedVmm::Create(Bytes size,
                                                    const AllocationProperties& properties,
                                                    uint64_t flags) {
  Book& book = parts_->book;
  CheckedCall call(&book, DriverCall::kCreate);
  const absl::StatusOr<AllocationHandle> handle = ForwardingVmm::Create(size, properties, flags);
  const std::lock_guard lock(book.mutex);
  if (!handle.ok()) {
    call.Refused({});
    return handle;
  }
  checked::TrackedAllocation allocation;
  allocation.handle = *handle;
  allocation.size = size;
  allocation.properties = properties;
  allocation.properties->requested_handle_types = properties.requested_handle_types & kKnownTypes;
  allocation.made_by = call.id();
  book.state.AddAllocation(allocation);
  const HandleType unknown = UnknownTypes(properties.requested_handle_types);
  if (unknown != HandleType::kNone) {
    call.Warn({FindingOf(book, {DiagnosticKind::kUnknownHandleTypes, std::nullopt, *handle},
                         words::InWords(words::NoSuchTypes(unknown)))});
  }
  call.DoneWith(*handle, size);
  return handle;
}

absl::Status CheckedVmm::Release(AllocationHandle handle) {
  Book& book = parts_->book;
  CheckedCall call(&book, DriverCall::kRelease, AddressRange(), handle);
  std::unique_lock lock(book.mutex);
  const Findings findings = FindingsOfRelease(book, handle);
  if (parts_->options.refuse_undefined && AreUndefined(findings)) {
    return checked::RefuseUndefined(call, findings);
  }
  const auto taken = book.state.TakeReference(handle);
  lock.unlock();
  const absl::Status status = ForwardingVmm::Release(handle);
  lock.lock();
  if (status.ok()) {
    call.Warn(findings);
    call.Done();
  } else {
    if (taken != nullptr) book.state.PutBackReference(taken);
    call.Refused(checked::MeantBy(status, findings));
  }
  return status;
}

absl::StatusOr<AllocationHandle> CheckedVmm::RetainAllocationHandle(DeviceAddress address) {
  Book& book = parts_->book;
  CheckedCall call(&book, DriverCall::kRetainAllocationHandle);
  const absl::StatusOr<AllocationHandle> handle = ForwardingVmm::RetainAllocationHandle(address);
  if (!handle.ok()) return handle;
  const std::lock_guard lock(book.mutex);
  book.state.AddReference(*handle, call.id());
  call.DoneWith(*handle);
  return handle;
}

absl::StatusOr<AllocationProperties> CheckedVmm::GetAllocationProperties(AllocationHandle handle) {
  Book& book = parts_->book;
  CheckedCall call(&book, DriverCall::kGetAllocationProperties);
  std::unique_lock lock(book.mutex);
  const Findings findings = FindingsOfGetProperties(book, handle);
  if (parts_->options.refuse_undefined && AreUndefined(findings)) {
    return checked::RefuseUndefined(call, findings);
  }
  lock.unlock();
  const absl::StatusOr<AllocationProperties> properties =
      ForwardingVmm::GetAllocationProperties(handle);
  if (findings.empty()) return properties;
  lock.lock();
  if (properties.ok()) {
    call.Warn(findings);
    call.Done();
  } else {
    call.Refused(checked::MeantBy(properties.status(), findings));
  }
  return properties;
}

absl::StatusOr<ShareableHandle> CheckedVmm::ExportShareableHandle(AllocationHandle handle,
                                                                  HandleType type, uint64_t flags) {
  Book& book = parts_->book;
  CheckedCall call(&book, DriverCall::kExportShareableHandle, AddressRange(), handle);
  std::unique_lock lock(book.mutex);
  const Findings findings = FindingsOfExport(book, handle, type, flags);
  if (parts_->options.refuse_undefined && AreUndefined(findings)) {
    return checked::RefuseUndefined(call, findings);
  }
  const auto allocation = book.state.Find(handle);
  lock.unlock();
  const absl::StatusOr<ShareableHandle> shareable =
      ForwardingVmm::ExportShareableHandle(handle, type, flags);
  lock.lock();
  if (!shareable.ok()) {
    call.Refused(checked::MeantBy(shareable.status(), findings));
    return shareable;
  }
  struct stat file;
  if (allocation != nullptr && shareable->type == HandleType::kPosixFileDescriptor &&
      fstat(shareable->file_descriptor, &file) == 0) {
    book.state.AddDescriptor(
        {shareable->file_descriptor, file.st_dev, file.st_ino, allocation, call.id()});
  }
  call.Warn(findings);
  call.Done();
  return shareable;
}

absl::StatusOr<AllocationHandle> CheckedVmm::ImportShareableHandle(
    const ShareableHandle& shareable) {
  Book& book = parts_->book;
  CheckedCall call(&book, DriverCall::kImportShareableHandle);
  const absl::StatusOr<AllocationHandle> handle = ForwardingVmm::ImportShareableHandle(shareable);
  const std::lock_guard lock(book.mutex);
  if (handle.ok()) {
    checked::TrackedAllocation allocation;
    allocation.handle = *handle;
    allocation.made_by = call.id();
    allocation.imported = true;
    book.state.AddAllocation(allocation);
    call.DoneWith(*handle);
    return handle;
  }
  // The driver takes descriptor 0 for a null pointer, which is wrong whatever it is.
  const bool is_descriptor =
      shareable.type == HandleType::kPosixFileDescriptor && shareable.file_descriptor != 0;
  const bool unknown = checked::IsInvalidValue(handle.status()) ||
                       GetDriverCode(handle.status()) == DriverCode::kUnknown;
  if (is_descriptor && unknown) {
    call.Refused({FindingOf(book, {DiagnosticKind::kImportOfForeignDescriptor},
                            words::InWords(words::ForeignDescriptor(shareable.file_descriptor)))});
  } else {
    call.Refused({});
  }
  return handle;
}

}  // namespace twinmmu
