// Mappings and access.

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/diagnostic_words.h"
#include "api/driver_error.h"
#include "api/testing/checked/parts.h"
#include "api/testing/checked/set_access.h"

namespace twinmmu {

using checked::Book;
using checked::CheckedCall;
using checked::Finding;
using checked::Findings;

namespace {

// What an unsuccessful Map may have been refused for. `granularity`: 0 if nobody knows.
Findings MeantByMap(const absl::Status& refused, const Book& book, const AddressRange& range,
                    AllocationHandle handle, Bytes offset, Bytes granularity, Findings findings) {
  const auto is_beyond = [](const Finding& finding) {
    return finding.misuse.kind == DiagnosticKind::kMapBeyondAllocation;
  };
  if (GetDriverCode(refused) == DriverCode::kNotSupported) {
    const auto beyond = std::find_if(findings.begin(), findings.end(), is_beyond);
    return beyond == findings.end() ? Findings() : Findings{*beyond};
  }
  if (!checked::IsInvalidValue(refused)) return {};
  const auto allocation = book.state.Find(handle);
  if (allocation == nullptr || granularity == Bytes(0)) return findings;
  const bool tiles =
      allocation->properties.has_value() && (allocation->properties->usage & kUsageTilePool) != 0;
  if (tiles || offset % granularity != Bytes(0)) return {};
  const Bytes bits(range.base.value() | range.size.value());
  if (bits % granularity == Bytes(0)) return findings;
  return {FindingOf(book, {DiagnosticKind::kMapMisaligned, range.base},
                    words::InWords(words::NoMultipleOf(granularity, range)))};
}

// What a SetAccess of `range` that passed has set: all up to the first hole.
AddressRange SetBy(const AddressRange& range, const Findings& findings) {
  const Misuse& misuse = findings.front().misuse;
  if (misuse.kind != DiagnosticKind::kAccessStopsAtHole) return range;
  return AddressRange{range.base, *misuse.address - range.base, Bytes(0)};
}

// Whether one of the grants is to a device that does not exist, which is what a driver says first.
bool NameNoDevice(Vmm& vmm, absl::Span<const AccessGrant> grants) {
  const absl::StatusOr<int> count = vmm.GetDeviceCount();
  return count.ok() && std::any_of(grants.begin(), grants.end(), [&](const AccessGrant& grant) {
           return grant.location.type == LocationType::kDevice && grant.location.id >= *count;
         });
}

// A grant was refused as if its device did not exist.
Findings FindingsOfNoPeer(const Book& book, const AddressRange& range,
                          const absl::Status& refused) {
  const checked::TrackedMapping* const mapping = book.state.MappingAt(range.base);
  if (mapping == nullptr) return {};
  const checked::TrackedAllocation& allocation = *mapping->allocation;
  if (!allocation.properties.has_value() && !allocation.imported) return {};
  return {FindingOf(book, {DiagnosticKind::kGrantToNoPeer, range.base},
                    std::string(refused.message()))};
}

}  // namespace

absl::Status CheckedVmm::Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                             uint64_t flags) {
  Book& book = parts_->book;
  CheckedCall call(&book, DriverCall::kMap, range, handle);
  std::unique_lock lock(book.mutex);
  Findings findings = FindingsOfMap(book, range, handle, offset, flags);
  if (parts_->options.refuse_undefined && AreUndefined(findings)) {
    return checked::RefuseUndefined(call, findings);
  }
  auto allocation = book.state.Find(handle);
  lock.unlock();
  const absl::Status status = ForwardingVmm::Map(range, handle, offset, flags);
  const bool by_arguments = range.base == DeviceAddress(0) || range.size == Bytes(0) || flags != 0;
  Bytes granularity;
  if (checked::IsInvalidValue(status) && !by_arguments && allocation != nullptr) {
    granularity =
        ForwardingVmm::GetAllocationGranularity(
            allocation->properties.value_or(AllocationProperties()), Granularity::kMinimum)
            .value_or(Bytes(0));
  }
  lock.lock();
  if (!status.ok()) {
    call.Refused(MeantByMap(status, book, range, handle, offset, granularity, std::move(findings)));
    return status;
  }
  if (allocation == nullptr) {
    allocation = std::make_shared<checked::TrackedAllocation>();
    allocation->handle = handle;
    allocation->made_by = call.id();
  }
  book.state.AddMapping({range, allocation, offset, call.id(), {}});
  call.Warn(findings);
  call.Done();
  return status;
}

absl::Status CheckedVmm::Unmap(const AddressRange& range) {
  Book& book = parts_->book;
  CheckedCall call(&book, DriverCall::kUnmap, range);
  const AddressRange gone = checked::TakenByUnmap(range);
  std::unique_lock lock(book.mutex);
  const Findings findings = FindingsOfUnmap(book, range);
  // One that will be refused must not even for a moment take away what others have.
  const bool will_pass = !HaveError(findings);
  std::vector<checked::TrackedMapping> taken;
  if (will_pass) taken = book.state.TakeMappings(gone);
  lock.unlock();
  const absl::Status status = ForwardingVmm::Unmap(range);
  lock.lock();
  if (status.ok()) {
    if (!will_pass) taken = book.state.TakeMappings(gone);
    call.Warn(findings);
    call.Done(gone.empty() ? range : gone, !taken.empty());
  } else {
    for (checked::TrackedMapping& mapping : taken) book.state.AddMapping(std::move(mapping));
    call.Refused(checked::MeantBy(status, findings));
  }
  return status;
}

absl::Status CheckedVmm::SetAccess(const AddressRange& range,
                                   absl::Span<const AccessGrant> grants) {
  Book& book = parts_->book;
  CheckedCall call(&book, DriverCall::kSetAccess, range);
  std::unique_lock lock(book.mutex);
  Findings findings = FindingsOfSetAccess(book, range, grants);
  lock.unlock();
  const absl::Status status = ForwardingVmm::SetAccess(range, grants);
  lock.lock();
  if (status.ok() && findings.empty()) {
    const checked::Grants granted = checked::GrantsOf(grants);
    book.state.ForEachGrants(range, [&](checked::Grants& of_mapping) {
      for (const AccessGrant& grant : granted) checked::SetGrant(of_mapping, grant);
    });
    call.Done(range, granted);
    return status;
  }
  std::vector<checked::AskedMapping> mappings;
  if (status.ok() || !HaveError(findings)) mappings = MappingsOf(book, range);
  lock.unlock();
  checked::AskAccess(parts_->target, grants, mappings);
  const bool by_device = GetDriverCode(status) == DriverCode::kInvalidDevice && findings.empty();
  const bool by_value = checked::IsInvalidValue(status) && !findings.empty();
  const bool names_none = (by_device || by_value) && NameNoDevice(parts_->target, grants);
  lock.lock();
  if (by_device) findings = FindingsOfNoPeer(book, range, status);
  if (names_none || !(status.ok() || by_device || by_value)) findings = {};
  Follow(book, mappings);
  const std::optional<checked::AppliedPart> applied = AppliedOf(grants, mappings);
  if (status.ok()) {
    call.Warn(findings);
    call.Done(SetBy(range, findings), checked::GrantsOf(grants));
  } else if (applied.has_value()) {
    call.Warn({FindingOf(book, {DiagnosticKind::kAccessAppliedInPart, range.base},
                         std::string(status.message()))});
    call.Done(applied->range, applied->grants);
  } else {
    call.Refused(findings);
  }
  return status;
}

absl::StatusOr<Access> CheckedVmm::GetAccess(const Location& location, DeviceAddress address) {
  const absl::StatusOr<Access> access = ForwardingVmm::GetAccess(location, address);
  if (!access.ok() || location.type != LocationType::kHost) return access;
  Book& book = parts_->book;
  CheckedCall call(&book, DriverCall::kGetAccess, AddressRange{address, Bytes(1), Bytes(0)});
  const std::lock_guard lock(book.mutex);
  const Findings findings = FindingsOfHostAccess(book, address, *access);
  if (findings.empty()) return access;
  call.Warn(findings);
  call.Done();
  return access;
}

absl::StatusOr<AddressRange> CheckedVmm::GetAddressRange(DeviceOrdinal device,
                                                         DeviceAddress address) {
  const absl::StatusOr<AddressRange> range = ForwardingVmm::GetAddressRange(device, address);
  if (!range.ok() || range->base != DeviceAddress(0)) return range;
  Book& book = parts_->book;
  CheckedCall call(&book, DriverCall::kGetAddressRange, AddressRange{address, Bytes(1), Bytes(0)});
  const std::lock_guard lock(book.mutex);
  const Findings findings = FindingsOfAddressRange(book, address, *range);
  if (findings.empty()) return range;
  call.Warn(findings);
  call.Done();
  return range;
}

}  // namespace twinmmu
