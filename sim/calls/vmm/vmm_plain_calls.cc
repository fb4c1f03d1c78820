// Map, SetAccess and Unmap beside one another: under the stripes of their pages only, for what
// right programs do most. Where a call is not plain, so where anything is wrong with it too,
// nothing has happened, and it is made from the start with the whole mutex.

#include "sim/base/striped_mutex.h"
#include "sim/calls/vmm/simulated_vmm.h"
#include "sim/diagnostics/call_record.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {
namespace {

// Those that a plain call of `range` takes; none: there can be no plain one.
StripedMutex::Stripes PlainStripesOf(const SimulatorState& state, const AddressRange& range) {
  const bool is_granular = state.mmu.IsGranular(range.base.value() | range.size.value());
  return is_granular && state.HasPlainMemory() ? state.mmu.StripesOf(range) : 0;
}

}  // namespace

// Memory of a device for which nothing special holds, and that a handle keeps.
bool SimulatedVmm::IsPlain(const AllocationRecord& allocation) const {
  return allocation.references != 0 && allocation.pages->location.type == LocationType::kDevice &&
         !allocation.is_multicast() && allocation.properties.gpu_direct_rdma == 0 &&
         allocation.properties.usage == 0;
}

// With stripes held: whether the pages are one or more whole mappings of plain memory, all in one
// reservation.
bool SimulatedVmm::AreWholeMappings(const PageTable::OwnEntries& entries, uint64_t first,
                                    uint64_t end) const {
  const MappingRecord* one = nullptr;
  for (uint64_t page = first; page < end; page = one->end()) {
    const PageEntry entry = entries[page];
    if (!entry.mapped()) return false;
    const MappingRecord& mapping = mmu_.mappings[entry.index()];
    const bool same = one == nullptr || one->reservation == mapping.reservation;
    one = &mapping;
    if (mapping.first_page != page || mapping.end() > end || mapping.overhangs || !same ||
        !IsPlain(mmu_.AllocationOf(mapping))) {
      return false;
    }
  }
  return true;
}

bool SimulatedVmm::MapPlainly(CallRecord& call, const AddressRange& range,
                              AllocationHandle handle) {
  const StripedMutex::Stripes stripes = PlainStripesOf(state_, range);
  if (stripes == 0) return false;
  const StripesLock lock(mmu_.mutex, stripes);
  const AllocationRecord* const allocation = mmu_.memory.Find(handle);
  if (allocation == nullptr || !IsPlain(*allocation)) return false;
  if (range.size != allocation->pages->size) return false;
  const uint64_t first = mmu_.PageOf(range.base);
  const uint64_t pages = mmu_.PagesIn(range.size);
  PageTable::OwnEntries entries = mmu_.table.EntriesOf(first, pages);
  if (!entries || entries[first].hole() || entries[first].mapped()) return false;
  const PageEntry reserved = entries[first];
  for (uint64_t page = first; page < first + pages; ++page) {
    if (entries[page].bits() != reserved.bits()) return false;
  }
  const int stripe = __builtin_ctz(stripes);
  MappingRecord mapping;
  mapping.allocation = PhysicalMemory::IndexOf(handle);
  if (!mmu_.PrepareRecord(stripe) || !mmu_.memory.AddOnlyMapping(mapping.allocation)) return false;
  mapping.first_page = static_cast<uint32_t>(first);
  mapping.pages = static_cast<uint32_t>(pages);
  mapping.reservation = reserved.index();
  mapping.call = call.IdBeside(stripes);
  const PageEntry mapped = PageEntry::Mapped(mmu_.AddPreparedRecord(stripe, mapping));
  for (uint64_t page = first; page < first + pages; ++page) entries.Set(page, mapped);
  call.DoneBeside(stripes, range, handle.value());
  return true;
}

bool SimulatedVmm::SetAccessPlainly(CallRecord& call, const AddressRange& range,
                                    absl::Span<const AccessGrant> grants) {
  const StripedMutex::Stripes stripes = PlainStripesOf(state_, range);
  if (stripes == 0) return false;
  const PageEdit edit = EditOf(grants);
  for (const AccessGrant& grant : grants) {
    if (mmu_.IndexOf(grant.location) == mmu_.host) return false;
  }
  const uint64_t first = mmu_.PageOf(range.base);
  const uint64_t end = first + mmu_.PagesIn(range.size);
  const StripesLock lock(mmu_.mutex, stripes);
  PageTable::OwnEntries entries = mmu_.table.EntriesOf(first, end - first);
  if (!state_.scheduler.IsIdle() || !entries) return false;
  if (!AreWholeMappings(entries, first, end)) return false;
  for (uint64_t page = first; page < end;) {
    const MappingRecord& mapping = mmu_.mappings[entries[page].index()];
    for (const AccessGrant& grant : grants) {
      if (!CheckReach(mapping, grant).ok()) return false;
    }
    page = mapping.end();
  }
  for (uint64_t page = first; page < end; ++page) {
    entries.Set(page, PageEntry((entries[page].bits() & edit.keep) | edit.set));
  }
  call.DoneBeside(stripes, range, GrantsOf(edit));
  return true;
}

bool SimulatedVmm::UnmapPlainly(CallRecord& call, const AddressRange& range) {
  const StripedMutex::Stripes stripes = PlainStripesOf(state_, range);
  if (stripes == 0) return false;
  const uint64_t first = mmu_.PageOf(range.base);
  const uint64_t end = first + mmu_.PagesIn(range.size);
  const StripesLock lock(mmu_.mutex, stripes);
  PageTable::OwnEntries entries = mmu_.table.EntriesOf(first, end - first);
  if (!state_.scheduler.IsIdle() || !entries) return false;
  if (!AreWholeMappings(entries, first, end)) return false;
  uint64_t count = 0;
  for (uint64_t page = first; page < end; ++count) {
    const MappingRecord& mapping = mmu_.mappings[entries[page].index()];
    if (!mmu_.memory.HasOnlyMapping(mapping.allocation)) return false;
    page = mapping.end();
  }
  const int stripe = __builtin_ctz(stripes);
  for (uint64_t page = first; page < end;) {
    const uint32_t id = entries[page].index();
    const MappingRecord& mapping = mmu_.mappings[id];
    const PageEntry reserved = PageEntry::Reserved(mapping.reservation);
    for (const uint64_t stop = mapping.end(); page < stop; ++page) entries.Set(page, reserved);
    mmu_.memory.RemoveOnlyMapping(mapping.allocation);
    mmu_.ReturnRecord(stripe, id);
  }
  call.DoneBeside(stripes, range, count);
  return true;
}

}  // namespace twinmmu
