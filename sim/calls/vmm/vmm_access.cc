// Access: giving it and reading it.

#include <algorithm>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sim/base/errors.h"
#include "sim/calls/vmm/simulated_vmm.h"
#include "sim/diagnostics/call_record.h"

namespace twinmmu {
namespace {

bool IsKnown(Access access) {
  return access == Access::kNone || access == Access::kRead || access == Access::kReadWrite;
}

}  // namespace

// What can be said of a grant without looking at memory.
absl::Status SimulatedVmm::CheckGrant(const AccessGrant& grant) const {
  static constexpr char kCall[] = "cuMemSetAccess";
  if (!IsKnown(grant.access)) {
    return InvalidValue(kCall, "there is no access ", static_cast<uint32_t>(grant.access));
  }
  if (mmu_.IndexOf(grant.location) == Mmu::kNowhere) {
    return InvalidValue(kCall, "location ", ToString(grant.location), " does not exist");
  }
  return absl::OkStatus();
}

// The part of `range` that gets the access. `range` is one or more whole mappings.
absl::StatusOr<AddressRange> SimulatedVmm::CheckAccessRange(CallRecord& call,
                                                            const AddressRange& range) const {
  const MappingRecord* first = mmu_.MappingAt(range.base);
  const DeviceAddress end = range.base + range.size;
  if (range.size == Bytes(0) || end <= range.base) {
    return InvalidValue(call.name(), "size ", ToString(range.size), " is 0, or wraps");
  }
  if (first == nullptr || mmu_.RangeOf(*first).base != range.base) {
    return call.Refuse(
        {first == nullptr ? DiagnosticKind::kAccessOfUnmapped : DiagnosticKind::kAccessOfPart,
         range.base},
        words::NoMappingBegins(range.base));
  }
  const MappingRecord* last = mmu_.MappingAt(end - Bytes(1));
  if (last == nullptr || mmu_.RangeOf(*last).end() != end) {
    return call.Refuse(
        {last == nullptr ? DiagnosticKind::kAccessOfUnmapped : DiagnosticKind::kAccessOfPart,
         end - Bytes(1)},
        words::NoMappingEnds(end));
  }
  DeviceAddress hole = mmu_.RangeOf(*first).end();
  while (hole < end) {
    const MappingRecord* next = mmu_.MappingAt(hole);
    if (next == nullptr) break;
    hole = mmu_.RangeOf(*next).end();
  }
  if (hole < end && !mmu_.profile.quirks.set_access_stops_at_hole) {
    return call.Refuse({DiagnosticKind::kAccessStopsAtHole, hole}, words::HoleInRange(hole, range));
  }
  return AddressRange{range.base, hole - range.base, Bytes(0)};
}

// The location of the grant can reach the memory of the mapping.
absl::Status SimulatedVmm::CheckReach(const MappingRecord& mapping,
                                      const AccessGrant& grant) const {
  static constexpr char kCall[] = "cuMemSetAccess";
  const AllocationRecord& allocation = mmu_.AllocationOf(mapping);
  if (grant.access == Access::kNone || !allocation.on_device()) return absl::OkStatus();
  const int index = mmu_.IndexOf(grant.location);
  const Location& location = allocation.pages->location;
  const int owner = location.id;
  if (index == mmu_.host) {
    return Fail(DriverCode::kNotSupported, kCall, ToString(grant.location),
                " cannot access memory of ",
                allocation.is_multicast() ? "a multicast object" : ToString(location));
  }
  if (!mmu_.profile.Supports(DeviceAttribute::kVirtualMemoryManagementSupported, index)) {
    return Fail(DriverCode::kNotSupported, kCall, ToString(grant.location),
                " has no virtual memory management");
  }
  if (allocation.is_multicast()) {
    if (allocation.pages->team->Has(DeviceOrdinal(index))) return absl::OkStatus();
    return Fail(DriverCode::kInvalidDevice, kCall, ToString(grant.location),
                " is not in the team of the multicast object");
  }
  const bool visible = location.type != LocationType::kInvisible;
  if (visible && index != owner && !mmu_.profile.peers[index][owner]) {
    return Fail(DriverCode::kInvalidDevice, kCall, ToString(grant.location),
                " is not a peer of device ", owner, ", which has the memory");
  }
  if (allocation.properties.gpu_direct_rdma != 0 && !mmu_.profile.rdma_memory_granted) {
    return Fail(DriverCode::kUnknown, kCall, "memory for GPUDirect RDMA is not granted here");
  }
  return absl::OkStatus();
}

// Memory for GPUDirect RDMA whose first mapping is gone. `edit` is what is done at this mapping so
// far.
absl::Status SimulatedVmm::CheckRdma(const MappingRecord& mapping, const AccessGrant& grant,
                                     PageEdit& edit, uint32_t& holder) const {
  static constexpr char kCall[] = "cuMemSetAccess";
  const AllocationRecord& allocation = mmu_.AllocationOf(mapping);
  const int index = mmu_.IndexOf(grant.location);
  const bool of_owner = index == allocation.pages->location.id;
  if (grant.access == Access::kNone) {
    if (of_owner && holder == mapping.id) holder = 0;
    return absl::OkStatus();
  }
  const uint64_t bits = mmu_.At(mmu_.AddressOf(mapping.first_page)).bits();
  const Access present = PageEntry((bits & edit.keep) | edit.set).access(index);
  if (present == grant.access || allocation.rdma.first != 0) return absl::OkStatus();
  if (of_owner && holder == 0) holder = mapping.id;
  if (of_owner && holder == mapping.id) return absl::OkStatus();
  edit.Grant(index, Access::kNone);  // what there was is lost
  return Fail(of_owner ? DriverCode::kUnknown : DriverCode::kInvalidValue, kCall,
              "the memory is for GPUDirect RDMA, and its first mapping is gone");
}

// The driver goes from mapping to mapping, and at each of them through all grants.
SimulatedVmm::Reach SimulatedVmm::ReachOf(const AddressRange& range,
                                          absl::Span<const AccessGrant> grants) const {
  const bool rdma_hangs = mmu_.profile.quirks.rdma_memory_hangs_on_first_mapping;
  Reach reach;
  for (DeviceAddress address = range.base; address < range.end();) {
    const MappingRecord& mapping = *mmu_.MappingAt(address);
    const AllocationRecord& allocation = mmu_.AllocationOf(mapping);
    const bool hangs = rdma_hangs && allocation.properties.gpu_direct_rdma != 0;
    PageEdit edit = PageEdit::AccessBits();
    for (const AccessGrant& grant : grants) {
      reach.refused = CheckReach(mapping, grant);
      if (reach.refused.ok() && hangs) {
        const auto holder = reach.holders.emplace(mapping.allocation, allocation.rdma.holder).first;
        reach.refused = CheckRdma(mapping, grant, edit, holder->second);
      }
      if (!reach.refused.ok()) {
        reach.by_no_peer = GetDriverCode(reach.refused) == DriverCode::kInvalidDevice &&
                           !allocation.is_multicast();
        reach.whole = AddressRange{range.base, address - range.base, Bytes(0)};
        reach.part = mmu_.RangeOf(mapping);
        reach.edit = edit;
        return reach;
      }
      edit.Grant(mmu_.IndexOf(grant.location), grant.access);
    }
    address = mmu_.RangeOf(mapping).end();
  }
  reach.whole = range;
  return reach;
}

PageEdit SimulatedVmm::EditOf(absl::Span<const AccessGrant> grants) const {
  PageEdit edit = PageEdit::AccessBits();
  for (const AccessGrant& grant : grants) edit.Grant(mmu_.IndexOf(grant.location), grant.access);
  return edit;
}

// Before the access changes: notes for memory of the host in `range` which of two changes last.
void SimulatedVmm::NoteLastChange(const AddressRange& range, absl::Span<const AccessGrant> grants) {
  for (DeviceAddress address = range.base; address < range.end();) {
    const PageEntry entry = mmu_.At(address);
    MappingRecord& mapping = mmu_.mappings[entry.index()];
    address = mmu_.RangeOf(mapping).end();
    if (mmu_.AllocationOf(mapping).on_device()) continue;
    PageEntry now = entry;
    for (const AccessGrant& grant : grants) {
      const int index = mmu_.IndexOf(grant.location);
      const bool changes = now.access(index) != grant.access;
      if (changes && (index == 0 || index == mmu_.host)) mapping.device_last = index == 0;
      PageEdit edit = PageEdit::AccessBits();
      edit.Grant(index, grant.access);
      now = PageEntry((now.bits() & edit.keep) | edit.set);
    }
  }
}

// Whether `edit` makes any access in `range`, which is whole mappings, another one.
bool SimulatedVmm::Changes(const AddressRange& range, const PageEdit& edit) const {
  for (DeviceAddress address = range.base; address < range.end();) {
    const PageEntry entry = mmu_.At(address);
    if (((entry.bits() & edit.keep) | edit.set) != entry.bits()) return true;
    address = mmu_.RangeOf(mmu_.mappings[entry.index()]).end();
  }
  return false;
}

void SimulatedVmm::ApplyAccess(const AddressRange& range, const PageEdit& edit) {
  mmu_.table.Apply(mmu_.PageOf(range.base), mmu_.PagesIn(range.size), edit);
}

// No access was set.
absl::Status SimulatedVmm::RefuseAccess(CallRecord& call, const AddressRange& range,
                                        const Reach& reach) const {
  if (reach.by_no_peer) {
    call.Report(Severity::kError, {DiagnosticKind::kGrantToNoPeer, range.base},
                reach.refused.message());
  }
  return reach.refused;
}

// Access was set up to the refusal of a grant.
void SimulatedVmm::WarnOfRefusal(CallRecord& call, const AddressRange& range,
                                 const absl::Status& refused) const {
  call.Warn({DiagnosticKind::kAccessAppliedInPart, range.base}, refused.message());
}

// Access was set on `granted` only.
void SimulatedVmm::WarnOfHole(CallRecord& call, const AddressRange& range,
                              const AddressRange& granted) const {
  const AddressRange rest{granted.end(), range.end() - granted.end(), Bytes(0)};
  call.Warn({DiagnosticKind::kAccessStopsAtHole, rest.base}, words::SetInPart(granted, rest));
}

absl::Status SimulatedVmm::DoSetAccess(const AddressRange& range,
                                       absl::Span<const AccessGrant> grants) {
  static constexpr char kCall[] = "cuMemSetAccess";
  CallRecord call(state_, Call::kSetAccess, range);
  if (grants.empty()) return InvalidValue(kCall, "there is no grant");
  for (const AccessGrant& grant : grants) {
    const absl::Status valid = CheckGrant(grant);
    if (!valid.ok()) return valid;
  }
  if (SetAccessPlainly(call, range, grants)) return absl::OkStatus();
  const std::unique_lock lock(mmu_.mutex);
  const absl::StatusOr<AddressRange> granted = CheckAccessRange(call, range);
  if (!granted.ok()) return granted.status();
  const Reach reach = ReachOf(*granted, grants);
  const bool keeps = mmu_.profile.quirks.set_access_keeps_grants_before_refusal;
  if (!reach.refused.ok() && !keeps) return RefuseAccess(call, range, reach);
  const PageEdit edit = EditOf(grants);
  const bool in_part = reach.edit.keep != PageEdit::AccessBits().keep;
  const bool in_vain = !reach.refused.ok() && !Changes(reach.whole, edit) &&
                       !(in_part && Changes(reach.part, reach.edit));
  // What can fail comes first; then the access changes.
  mmu_.table.Prepare();
  const bool names_host = std::any_of(grants.begin(), grants.end(), [&](const AccessGrant& grant) {
    return mmu_.IndexOf(grant.location) == mmu_.host;
  });
  if (names_host && mmu_.window.claimed()) {
    const absl::Status shown = ShowToCpu(reach.whole, PageEntry(edit.set).access(mmu_.host));
    if (!shown.ok()) return Fail(DriverCode::kOutOfMemory, kCall, shown.message());
  }
  if (!reach.whole.empty()) {
    NoteLastChange(reach.whole, grants);
    ApplyAccess(reach.whole, edit);
  }
  if (in_part) ApplyAccess(reach.part, reach.edit);
  for (const auto& [index, holder] : reach.holders) {
    mmu_.memory.SetRdma(index, {mmu_.memory[index].rdma.first, holder});
  }
  if (reach.refused.ok() && granted->size != range.size) WarnOfHole(call, range, *granted);
  CheckPendingWork(call, DiagnosticKind::kAccessLoweredUnderPendingWork, *granted);
  if (in_vain) return RefuseAccess(call, range, reach);
  if (!reach.whole.empty()) {
    if (!reach.refused.ok()) WarnOfRefusal(call, range, reach.refused);
    call.Done(reach.whole, GrantsOf(edit));
  } else if (in_part) {
    WarnOfRefusal(call, range, reach.refused);
    call.Done(reach.part, GrantsOf(reach.edit));
  }
  return reach.refused;
}

// Lets the CPU see the mappings of `range` as the host's access `access` says. If the host refuses,
// as far as it allows that, they are as their present access says.
absl::Status SimulatedVmm::ShowToCpu(const AddressRange& range, Access access) {
  const auto show = [&](MappingRecord& mapping, Access wanted) -> absl::Status {
    const AddressRange whole = mmu_.RangeOf(mapping);
    absl::Status status;
    if (wanted == Access::kNone) {
      if (mapping.shown) status = mmu_.window.Hide(whole);
    } else if (mapping.shown) {
      status = mmu_.window.Protect(whole, wanted);
    } else {
      mapping.shown = true;
      status = mmu_.window.Show(whole, mmu_.MemoryOf(mapping), wanted);
      // Where this fails too, Unmap tries it again.
      if (!status.ok()) mapping.shown = !mmu_.window.Hide(whole).ok();
    }
    if (status.ok()) mapping.shown = wanted != Access::kNone;
    return status;
  };
  for (DeviceAddress address = range.base; address < range.end();) {
    MappingRecord& mapping = mmu_.mappings[mmu_.At(address).index()];
    const absl::Status status = show(mapping, access);
    if (status.ok()) {
      address = mmu_.RangeOf(mapping).end();
      continue;
    }
    for (DeviceAddress done = range.base; done < address;) {
      const PageEntry entry = mmu_.At(done);
      show(mmu_.mappings[entry.index()], entry.access(mmu_.host)).IgnoreError();
      done = mmu_.RangeOf(mmu_.mappings[entry.index()]).end();
    }
    return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<Access> SimulatedVmm::DoGetAccess(const Location& location, DeviceAddress address) {
  static constexpr char kCall[] = "cuMemGetAccess";
  if (address == DeviceAddress(0)) return InvalidValue(kCall, "address is 0");
  const int index = mmu_.IndexOf(location);
  if (index == Mmu::kNowhere) {
    return Fail(DriverCode::kInvalidDevice, kCall, "location ", ToString(location),
                " does not exist");
  }
  const bool confused = mmu_.profile.quirks.host_access_falls_back_to_device &&
                        location.type == LocationType::kHost && mmu_.profile.device_count() != 0;
  const AddressRange byte{address, Bytes(1), Bytes(0)};
  const SharedPagesLock lock(mmu_, confused ? AddressRange() : byte);  // one may be warned
  const PageEntry entry = mmu_.At(address);
  if (!entry.mapped()) {
    // Linear memory is there, but not by access.
    if (mmu_.linear.Find(address) != nullptr) return Access::kNone;
    return InvalidValue(kCall, "nothing is mapped at ", ToString(address));
  }
  const Access own = entry.access(index);
  if (!confused) return own;
  const Access of_device = entry.access(0);
  const bool device_last = mmu_.mappings[entry.index()].device_last;
  const Access answer =
      of_device != Access::kNone && (own == Access::kNone || device_last) ? of_device : own;
  if (answer != own) {
    WarnOfCall(state_, kCall, byte, {DiagnosticKind::kAccessOfHostMisreported, address},
               words::AnsweredForDevice0(answer));
  }
  return answer;
}

}  // namespace twinmmu
