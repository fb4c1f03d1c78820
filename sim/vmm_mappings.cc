// Mappings: making them and ending them.

#include <algorithm>
#include <limits>
#include <mutex>
#include <optional>

#include "sim/errors.h"
#include "sim/simulated_vmm.h"

namespace twinmmu {
namespace {

// What a page is when it is no longer mapped; found by search, for mappings that overhang.
void RestorePages(Mmu& mmu, const MappingRecord& mapping) {
  for (uint64_t page = mapping.first_page; page < mapping.end(); ++page) {
    const std::optional<uint32_t> id = mmu.space.Find(mmu.AddressOf(page));
    const PageEntry entry = id.has_value() ? PageEntry::Reserved(*id) : PageEntry();
    mmu.table.Apply(page, 1, PageEdit::Replace(entry));
  }
}

}  // namespace

// `range` begins in a reservation, nothing in it is mapped, and its end is where it may be.
absl::Status SimulatedVmm::CheckMapTarget(const AddressRange& range) const {
  constexpr char kCall[] = "cuMemMap";
  const Bytes granularity = mmu_.profile.minimum_granularity;
  if (!range.base.IsAligned(granularity) || range.size % granularity != Bytes(0)) {
    return InvalidValue(kCall, "range ", ToString(range), " is no multiple of the granularity ",
                        ToString(granularity));
  }
  if (!mmu_.window.range().contains(range) || !mmu_.IsReserved(range.base)) {
    return InvalidValue(kCall, "range ", ToString(range), " does not begin in a reservation");
  }
  const uint64_t end = mmu_.PageOf(range.base) + mmu_.PagesIn(range.size);
  for (uint64_t page = mmu_.PageOf(range.base); page < end;) {
    const PageRun run = mmu_.table.Find(page);
    if (run.entry.mapped()) {
      return InvalidValue(kCall, "address ", ToString(mmu_.AddressOf(page)), " is already mapped: ",
                          ToString(mmu_.RangeOf(mmu_.mappings[run.entry.index()])));
    }
    page = run.end;
  }
  const AddressRange reservation = mmu_.space[mmu_.At(range.base).index()];
  if (!mmu_.profile.quirks.map_reaches_beyond_reservation && !reservation.contains(range)) {
    return InvalidValue(kCall, "range ", ToString(range), " leaves its reservation ",
                        ToString(reservation));
  }
  return absl::OkStatus();
}

absl::Status SimulatedVmm::Map(const AddressRange& range, AllocationHandle handle, Bytes offset,
                               uint64_t flags) {
  constexpr char kCall[] = "cuMemMap";
  if (range.base == DeviceAddress(0)) return InvalidValue(kCall, "address is 0");
  if (range.size == Bytes(0)) return InvalidValue(kCall, "size is 0");
  if (flags != 0) return InvalidValue(kCall, "flags ", flags, " are not 0");
  const std::unique_lock lock(mmu_.mutex);
  const Allocation* allocation = FindUsable(handle);
  if (allocation == nullptr) {
    return InvalidValue(kCall, "handle ", ToString(handle), " names no allocation");
  }
  const Bytes whole = allocation->pages->size;
  const bool fits = offset <= whole && range.size <= whole - offset;
  const bool part = range.size != whole && mmu_.profile.quirks.map_takes_whole_allocations_only;
  if (!fits || part || (offset != Bytes(0) && !mmu_.profile.map_takes_offsets)) {
    return Fail(DriverCode::kNotSupported, kCall, "offset ", ToString(offset), " and size ",
                ToString(range.size), " are not ", part ? "the whole" : "the first granules",
                " of the allocation of ", ToString(whole));
  }
  if (offset % mmu_.profile.minimum_granularity != Bytes(0)) {
    return InvalidValue(kCall, "offset ", ToString(offset), " is misaligned");
  }
  const absl::Status target = CheckMapTarget(range);
  if (!target.ok()) return target;

  MappingRecord mapping;
  mapping.first_page = static_cast<uint32_t>(mmu_.PageOf(range.base));
  mapping.pages = static_cast<uint32_t>(mmu_.PagesIn(range.size));
  mapping.offset = static_cast<uint32_t>(mmu_.PagesIn(offset));
  mapping.allocation = PhysicalMemory::NumberOf(handle);
  mapping.reservation = mmu_.At(range.base).index();
  mapping.number = std::max(mmu_.mappings_made + 1, 1u);
  mapping.overhangs = !mmu_.space[mapping.reservation].contains(range);
  mmu_.table.Prepare();  // what can fail comes first
  const uint32_t id = mmu_.mappings.Add(mapping);
  mmu_.mappings_made = mapping.number;
  mmu_.table.Apply(mapping.first_page, mapping.pages, PageEdit::Replace(PageEntry::Mapped(id)));
  mmu_.memory.AddMapping(mapping.allocation);
  return absl::OkStatus();
}

// Does what can fail of unmapping all that is mapped in the pages [first, stop): memory for the
// table, and the window, where one call to the host hides them all.
absl::Status SimulatedVmm::PrepareUnmap(uint64_t first, uint64_t stop) {
  uint64_t overhanging = 0;
  std::optional<AddressRange> shown;
  for (uint64_t page = first; page < stop;) {
    const PageRun run = mmu_.table.Find(page);
    page = run.end;
    if (!run.entry.mapped()) continue;
    const MappingRecord& mapping = mmu_.mappings[run.entry.index()];
    page = mapping.end();
    if (mapping.overhangs) overhanging += mapping.pages;
    if (!mapping.shown) continue;
    const AddressRange range = mmu_.RangeOf(mapping);
    if (!shown.has_value()) shown = range;
    shown->size = range.end() - shown->base;
  }
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
  mmu_.memory.RemoveMapping(mapping.allocation);
  mmu_.mappings.Remove(id);
}

absl::Status SimulatedVmm::Unmap(const AddressRange& range) {
  constexpr char kCall[] = "cuMemUnmap";
  if (range.size == Bytes(0)) return InvalidValue(kCall, "size is 0");
  const std::unique_lock lock(mmu_.mutex);
  if (!mmu_.IsReserved(range.base)) {
    return InvalidValue(kCall, "address ", ToString(range.base), " is not reserved");
  }
  // An end that wraps below the base leaves nothing to unmap.
  const DeviceAddress end = range.base + range.size;
  const uint64_t limit = mmu_.PagesIn(mmu_.window.range().size);
  const uint64_t stop = end <= range.base ? 0 : std::min(mmu_.PageOf(end - Bytes(1)) + 1, limit);
  const bool leaves = stop == 0 || end > mmu_.window.range().end();
  if (leaves && !mmu_.profile.quirks.unmap_passes_over_holes) {
    return InvalidValue(kCall, "range ", ToString(range), " wraps, or leaves the device addresses");
  }
  if (!mmu_.profile.quirks.unmap_reaches_beyond_reservation &&
      !mmu_.space[*mmu_.space.Find(range.base)].contains(range)) {
    return InvalidValue(kCall, "range ", ToString(range), " leaves its reservation");
  }
  for (uint64_t page = mmu_.PageOf(range.base); page < stop;) {
    const PageRun run = mmu_.table.Find(page);
    if (!run.entry.mapped()) {
      if (!mmu_.profile.quirks.unmap_passes_over_holes) {
        return InvalidValue(kCall, "nothing is mapped at ", ToString(mmu_.AddressOf(page)));
      }
      page = run.end;
      continue;
    }
    const AddressRange whole = mmu_.RangeOf(mmu_.mappings[run.entry.index()]);
    if (whole.base < range.base || whole.end() > end) {
      return InvalidValue(kCall, "range ", ToString(range), " cuts the mapping ", ToString(whole));
    }
    page = mmu_.mappings[run.entry.index()].end();
  }
  const absl::Status prepared = PrepareUnmap(mmu_.PageOf(range.base), stop);
  if (!prepared.ok()) return prepared;
  for (uint64_t page = mmu_.PageOf(range.base); page < stop;) {
    const PageRun run = mmu_.table.Find(page);
    page = run.end;
    if (!run.entry.mapped()) continue;
    page = mmu_.mappings[run.entry.index()].end();
    RemoveMapping(run.entry.index());
  }
  return absl::OkStatus();
}

}  // namespace twinmmu
