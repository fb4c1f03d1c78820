// Mappings: making them and ending them.

#include <algorithm>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "sim/base/errors.h"
#include "sim/calls/multicast/multicast_wait.h"
#include "sim/calls/vmm/simulated_vmm.h"
#include "sim/diagnostics/call_record.h"

namespace twinmmu {
namespace {

constexpr DeviceAddress kLastAddress(~uint64_t{0});

// One past the last page that begins below `end` and is in the window.
uint64_t StopOf(const Mmu& mmu, DeviceAddress end) {
  return std::min(mmu.PageOf(end - Bytes(1)) + 1, mmu.PagesIn(mmu.window.range().size));
}

// What a page is when it is no longer mapped; found by search, for mappings that overhang.
void RestorePages(Mmu& mmu, const MappingRecord& mapping) {
  for (uint64_t page = mapping.first_page; page < mapping.end(); ++page) {
    const std::optional<uint32_t> id = mmu.space.Find(mmu.AddressOf(page));
    const PageEntry entry = id.has_value() ? PageEntry::Reserved(*id) : PageEntry();
    mmu.table.Apply(page, 1, PageEdit::Replace(entry));
  }
}

}  // namespace

// `range` begins in a reservation, whose index is given back, nothing in it is mapped, and its end
// is where it may be.
absl::StatusOr<uint32_t> SimulatedVmm::CheckMapTarget(CallRecord& call,
                                                      const AddressRange& range) const {
  if (!mmu_.IsGranular(range.base.value() | range.size.value())) {
    return call.Refuse({DiagnosticKind::kMapMisaligned, range.base},
                       words::NoMultipleOf(mmu_.profile.minimum_granularity, range));
  }
  const uint64_t first = mmu_.PageOf(range.base);
  PageSpan run = mmu_.table.Find(first);
  if (!mmu_.window.range().contains(range) || run.entry.hole() ||
      (run.entry.mapped() && !mmu_.IsReserved(range.base))) {
    return call.Refuse({DiagnosticKind::kMapOfUnreserved, range.base},
                       words::BeginsInNoReservation(range));
  }
  const uint32_t id = run.entry.index();  // of a reservation, unless the loop finds a mapping there
  const uint64_t end = first + mmu_.PagesIn(range.size);
  for (uint64_t page = first; page < end;) {
    if (run.entry.mapped()) {
      const MappingRecord& old = mmu_.mappings[run.entry.index()];
      const DeviceAddress at = mmu_.AddressOf(page);
      return call.Refuse({DiagnosticKind::kMapOverMapped, at, std::nullopt, std::nullopt, old.call},
                         words::AlreadyMapped(at, mmu_.RangeOf(old)));
    }
    page = run.end;
    if (page < end) run = mmu_.table.Find(page);
  }
  const AddressRange& reservation = mmu_.space[id];
  if (!mmu_.profile.quirks.map_reaches_beyond_reservation && !reservation.contains(range)) {
    return call.Refuse({DiagnosticKind::kMapBeyondReservation, range.base},
                       words::LeavesReservation(range, reservation));
  }
  return id;
}

absl::Status SimulatedVmm::DoMap(const AddressRange& range, AllocationHandle handle, Bytes offset,
                                 uint64_t flags) {
  static constexpr char kCall[] = "cuMemMap";
  CallRecord call(state_, Call::kMap, range, handle.value());
  if (range.base == DeviceAddress(0)) return InvalidValue(kCall, "address is 0");
  if (range.size == Bytes(0)) return InvalidValue(kCall, "size is 0");
  if (flags != 0) return InvalidValue(kCall, "flags ", flags, " are not 0");
  if (offset == Bytes(0) && MapPlainly(call, range, handle)) return absl::OkStatus();
  std::unique_lock lock(mmu_.mutex);
  const AllocationRecord* allocation = FindUsable(handle);
  if (allocation != nullptr && allocation->is_multicast()) {
    const absl::Status joined = AwaitTeam(state_, call, lock, handle);
    if (!joined.ok()) return joined;
    allocation = FindUsable(handle);  // it may be gone by now
  }
  if (allocation == nullptr) return RefuseHandle(call, handle);
  if ((allocation->properties.usage & kUsageTilePool) != 0) {
    return InvalidValue(kCall, "handle ", ToString(handle), " is of a tile pool");
  }
  const Bytes whole = allocation->pages->size;
  const bool fits = offset <= whole && range.size <= whole - offset;
  if (!fits) {
    return call.RefuseWith(DriverCode::kNotSupported,
                           {DiagnosticKind::kMapBeyondAllocation, std::nullopt, handle},
                           words::MoreThanAllocation(offset, range.size, whole));
  }
  const bool part = range.size != whole && !allocation->is_multicast() &&
                    mmu_.profile.quirks.map_takes_whole_allocations_only;
  if (part || (offset != Bytes(0) && !mmu_.profile.map_takes_offsets)) {
    return Fail(DriverCode::kNotSupported, kCall, "offset ", ToString(offset), " and size ",
                ToString(range.size), " are not ", part ? "the whole" : "the first granules",
                " of the allocation of ", ToString(whole));
  }
  if (!mmu_.IsGranular(offset.value())) {
    return InvalidValue(kCall, "offset ", ToString(offset), " is misaligned");
  }
  const bool aligned =
      !allocation->is_multicast() ||
      mmu_.IsMulticastGranular(range.base.value() | range.size.value() | offset.value());
  if (!aligned) {
    return call.Refuse({DiagnosticKind::kMapMisaligned, range.base},
                       words::NoMultipleOf(mmu_.profile.multicast_minimum_granularity, range));
  }
  const absl::StatusOr<uint32_t> reservation = CheckMapTarget(call, range);
  if (!reservation.ok()) return reservation.status();
  const RdmaMappings rdma = allocation->rdma;
  if (rdma.first == 0 && rdma.holder != 0) {
    return Fail(DriverCode::kUnknown, kCall, "handle ", ToString(handle),
                " is for GPUDirect RDMA, ", "and its first mapping is gone");
  }

  MappingRecord mapping;
  mapping.first_page = static_cast<uint32_t>(mmu_.PageOf(range.base));
  mapping.pages = static_cast<uint32_t>(mmu_.PagesIn(range.size));
  mapping.offset = static_cast<uint32_t>(mmu_.PagesIn(offset));
  mapping.allocation = PhysicalMemory::IndexOf(handle);
  mapping.reservation = *reservation;
  mapping.id = mmu_.NextBuffer();
  mapping.overhangs = !mmu_.space[mapping.reservation].contains(range);
  mapping.call = call.id();
  mapping.multicast = allocation->is_multicast();
  const absl::Status hidden = mmu_.HideFromDevices(mapping);  // what can fail comes first
  if (!hidden.ok()) return Fail(DriverCode::kOutOfMemory, kCall, hidden.message());
  absl::Cleanup see = [&] { mmu_.unseen.erase(mapping.id); };
  mmu_.table.Prepare();
  const uint32_t id = mmu_.AddRecord(mapping);
  std::move(see).Cancel();
  mmu_.buffers_made = mapping.id;
  mmu_.table.Apply(mapping.first_page, mapping.pages, PageEdit::Replace(PageEntry::Mapped(id)));
  mmu_.AddMapping(mapping.allocation);
  const bool hangs = mmu_.profile.quirks.rdma_memory_hangs_on_first_mapping &&
                     allocation->properties.gpu_direct_rdma != 0;
  if (hangs && rdma.first == 0) mmu_.memory.SetRdma(mapping.allocation, {mapping.id, 0});
  if (allocation->references == 0) WarnOfReleasedHandle(call, handle);
  if (mapping.overhangs) {
    call.Warn({DiagnosticKind::kMapBeyondReservation, range.base},
              words::LeavesReservation(range, mmu_.space[mapping.reservation]));
  }
  call.Done(range, handle.value());
  return absl::OkStatus();
}

// Does what can fail of unmapping all that is mapped in the pages [first, stop): memory for the
// table, and the window, where one call to the host hides them all.
absl::Status SimulatedVmm::PrepareUnmap(uint64_t first, uint64_t stop) {
  uint64_t overhanging = 0;
  std::optional<AddressRange> shown;
  mmu_.ForEachMapping(first, stop, [&](const MappingRecord& mapping) {
    if (mapping.overhangs) overhanging += mapping.pages;
    if (!mapping.shown) return;
    const AddressRange range = mmu_.RangeOf(mapping);
    if (!shown.has_value()) shown = range;
    shown->size = range.end() - shown->base;
  });
  mmu_.table.Prepare(overhanging);
  if (!shown.has_value()) return absl::OkStatus();
  const absl::Status hidden = mmu_.window.Hide(*shown);
  if (hidden.ok()) return hidden;
  return Fail(DriverCode::kOutOfMemory, "cuMemUnmap", hidden.message());
}

// After PrepareUnmap; cannot fail.
void SimulatedVmm::RemoveMapping(uint32_t id) {
  const MappingRecord mapping = mmu_.mappings[id];
  if (mapping.overhangs) {
    RestorePages(mmu_, mapping);
  } else {
    mmu_.table.Apply(mapping.first_page, mapping.pages,
                     PageEdit::Replace(PageEntry::Reserved(mapping.reservation)));
  }
  RdmaMappings rdma = mmu_.memory[mapping.allocation].rdma;
  for (uint32_t* number : {&rdma.first, &rdma.holder}) {
    if (*number == mapping.id) *number = 0;
  }
  mmu_.memory.SetRdma(mapping.allocation, rdma);
  mmu_.RemoveMapping(mapping.allocation);
  mmu_.RemoveRecord(id);
}

// What unmapping `range` would leave a part of: a mapping that does not begin at `border`, but
// contains it.
absl::Status SimulatedVmm::CheckBorder(CallRecord& call, const AddressRange& range,
                                       DeviceAddress border) const {
  const MappingRecord* mapping = mmu_.MappingAt(border);
  if (mapping == nullptr || mmu_.RangeOf(*mapping).base == border) return absl::OkStatus();
  const AddressRange whole = mmu_.RangeOf(*mapping);
  return call.Refuse({DiagnosticKind::kUnmapOfPart, whole.base}, words::CutsMapping(range, whole));
}

// Every page of `range` may be unmapped, or passed over. `regular`: none need be passed over, and
// all are of one reservation.
absl::Status SimulatedVmm::CheckUnmapTarget(CallRecord& call, const AddressRange& range,
                                            bool* regular) const {
  const Quirks& quirks = mmu_.profile.quirks;
  const AddressRange* const reservation = mmu_.ReservationAt(range.base);
  if (reservation == nullptr) {
    return call.Refuse({DiagnosticKind::kUnmapOfUnreserved, range.base},
                       words::NotReserved(range.base));
  }
  const DeviceAddress end = range.base + range.size;
  const bool wraps = end <= range.base;
  if (wraps && !(quirks.unmap_passes_over_holes && quirks.unmap_reaches_beyond_reservation)) {
    return call.Refuse({DiagnosticKind::kUnmapOfWrappedRange, range.base}, words::Wraps(range));
  }
  // What every driver refuses is told first, whatever this one minds besides.
  for (const DeviceAddress border : {range.base, end}) {
    const absl::Status whole = CheckBorder(call, range, border);
    if (!whole.ok()) return whole;
  }
  *regular = !wraps && reservation->contains(range);
  if (wraps) return absl::OkStatus();
  const bool refused = !quirks.unmap_reaches_beyond_reservation ||
                       (!quirks.unmap_passes_over_holes && end > mmu_.window.range().end());
  if (refused && !*regular) {
    return call.Refuse({DiagnosticKind::kUnmapBeyondReservation, range.base},
                       words::LeavesReservation(range, *reservation));
  }
  const uint64_t stop = StopOf(mmu_, end);
  for (uint64_t page = mmu_.PageOf(range.base); page < stop;) {
    const PageSpan run = mmu_.table.Find(page);
    if (!run.entry.mapped()) {
      if (!quirks.unmap_passes_over_holes) {
        const DeviceAddress hole = std::max(range.base, mmu_.AddressOf(page));
        return call.Refuse(WhyNotUnmapped(state_, range, hole), words::NothingMapped(hole));
      }
      *regular = false;
      page = run.end;
      continue;
    }
    page = mmu_.mappings[run.entry.index()].end();
  }
  return absl::OkStatus();
}

// What the driver lets pass of an unmap that is not `regular`. Before anything changes.
void SimulatedVmm::WarnOfUnmap(CallRecord& call, const AddressRange& range) const {
  const DeviceAddress end = range.base + range.size;
  if (end <= range.base) {
    call.Warn({DiagnosticKind::kUnmapOfWrappedRange, range.base}, words::WrapsInVain(range));
    return;
  }
  const AddressRange reservation = *mmu_.ReservationAt(range.base);
  if (!reservation.contains(range)) {
    call.Warn({DiagnosticKind::kUnmapBeyondReservation, range.base},
              words::LeavesReservation(range, reservation));
  }
  const uint64_t stop = StopOf(mmu_, std::min(end, reservation.end()));
  for (uint64_t page = mmu_.PageOf(range.base); page < stop;) {
    const PageSpan run = mmu_.table.Find(page);
    if (!run.entry.mapped()) {
      const DeviceAddress hole = std::max(range.base, mmu_.AddressOf(page));
      call.Warn(WhyNotUnmapped(state_, range, hole), words::NothingMapped(hole));
      return;
    }
    page = mmu_.mappings[run.entry.index()].end();
  }
}

// Reports if what happens to `range` makes queued work fail. Throws nothing.
void SimulatedVmm::CheckPendingWork(CallRecord& call, DiagnosticKind kind,
                                    const AddressRange& range) const {
  if (!state_.scheduler.Uses(range)) return;
  try {
    const std::optional<Misuse> misuse = WhyPendingWorkFails(state_, kind, range);
    if (misuse.has_value()) call.Report(Severity::kError, *misuse);
  } catch (const std::bad_alloc&) {
    state_.log.Count(kind);
    state_.log.Drop(kind);
  }
}

// Reports if a kernel that runs has used what is about to be unmapped in the pages [first, stop).
void SimulatedVmm::CheckRunningKernels(CallRecord& call, uint64_t first, uint64_t stop) const {
  if (state_.scheduler.IsIdle()) return;
  std::optional<PendingUse> use;  // of the first of them
  mmu_.ForEachMapping(first, stop, [&](const MappingRecord& mapping) {
    if (use.has_value()) return;
    use = state_.scheduler.KernelThatUsed(mapping.id);
    if (!use.has_value()) return;
    call.Warn({DiagnosticKind::kUnmapUnderRunningKernel, mmu_.RangeOf(mapping).base, std::nullopt,
               use->stream.device(), use->call_id},
              "stream ", use->stream.value(), " of ", use->stream.device(), " is not done");
  });
}

// Unmaps all that is mapped in the pages [first, stop); each mapping there is whole.
absl::Status SimulatedVmm::UnmapPages(CallRecord& call, const AddressRange& range, uint64_t first,
                                      uint64_t stop) {
  if (stop != 0) CheckPendingWork(call, DiagnosticKind::kUnmapUnderPendingWork, range);
  CheckRunningKernels(call, first, stop);
  uint64_t removed = 0;
  for (uint64_t page = first; page < stop;) {
    const PageSpan run = mmu_.table.Find(page);
    page = run.end;
    if (!run.entry.mapped()) continue;
    page = mmu_.mappings[run.entry.index()].end();
    RemoveMapping(run.entry.index());
    ++removed;
  }
  call.Done(range, removed);
  return absl::OkStatus();
}

// The driver takes a range that begins at the last address for one that begins at 0.
absl::Status SimulatedVmm::UnmapBelow(CallRecord& call, DeviceAddress end) {
  const AddressRange below{DeviceAddress(0), end - DeviceAddress(0), Bytes(0)};
  const absl::Status border = CheckBorder(call, below, end);
  if (!border.ok()) return border;
  const uint64_t stop = end <= mmu_.window.range().base ? 0 : StopOf(mmu_, end);
  const absl::Status prepared = PrepareUnmap(0, stop);
  if (!prepared.ok()) return prepared;
  call.Warn({DiagnosticKind::kUnmapOfLastAddress, kLastAddress}, words::AllBelowUnmapped(end));
  return UnmapPages(call, below, 0, stop);
}

absl::Status SimulatedVmm::DoUnmap(const AddressRange& range) {
  CallRecord call(state_, Call::kUnmap, range);
  if (range.size == Bytes(0)) return InvalidValue(call.name(), "size is 0");
  if (UnmapPlainly(call, range)) return absl::OkStatus();
  const std::unique_lock lock(mmu_.mutex);
  const DeviceAddress end = range.base + range.size;
  if (range.base == kLastAddress && mmu_.profile.quirks.unmap_at_last_address_begins_at_zero) {
    return UnmapBelow(call, end);
  }
  bool regular = true;
  const absl::Status target = CheckUnmapTarget(call, range, &regular);
  if (!target.ok()) return target;
  // An end that wraps below the base leaves nothing to unmap.
  const uint64_t stop = end <= range.base ? 0 : StopOf(mmu_, end);
  const absl::Status prepared = PrepareUnmap(mmu_.PageOf(range.base), stop);
  if (!prepared.ok()) return prepared;
  if (!regular) WarnOfUnmap(call, range);
  return UnmapPages(call, range, mmu_.PageOf(range.base), stop);
}

}  // namespace twinmmu
