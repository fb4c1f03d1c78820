// Reservations.

#include <algorithm>
#include <mutex>
#include <optional>

#include "sim/base/errors.h"
#include "sim/calls/vmm/simulated_vmm.h"
#include "sim/diagnostics/call_record.h"

namespace twinmmu {
namespace {

// An alignment of that much is no longer a wish that cannot be met, but an invalid value.
constexpr Bytes kImpossibleAlignment = Bytes(uint64_t{1} << 58);

// Gives the pages of `range` that are not mapped the entry `entry`. Where the table is prepared it
// cannot fail.
void MarkUnmapped(Mmu& mmu, const AddressRange& range, PageEntry entry) {
  const uint64_t end = mmu.PageOf(range.base) + mmu.PagesIn(range.size);
  for (uint64_t page = mmu.PageOf(range.base); page < end;) {
    const PageSpan run = mmu.table.Find(page);
    const uint64_t stop = std::min(run.end, end);
    if (!run.entry.mapped()) mmu.table.Apply(page, stop - page, PageEdit::Replace(entry));
    page = stop;
  }
}

// The first mapping that is in `range`, wholly or in part (one may reach in from another
// reservation), or null.
const MappingRecord* FirstMapping(const Mmu& mmu, const AddressRange& range) {
  const uint64_t end = mmu.PageOf(range.base) + mmu.PagesIn(range.size);
  for (uint64_t page = mmu.PageOf(range.base); page < end;) {
    const PageSpan run = mmu.table.Find(page);
    if (run.entry.mapped()) return &mmu.mappings[run.entry.index()];
    page = run.end;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<AddressRange> SimulatedVmm::DoAddressReserve(Bytes size,
                                                            const ReserveOptions& options) {
  static constexpr char kCall[] = "cuMemAddressReserve";
  CallRecord call(state_, Call::kAddressReserve,
                  AddressRange{options.hint, size, options.alignment});
  const Bytes granularity = mmu_.profile.reservation_granularity;
  const Bytes alignment = std::max(options.alignment, mmu_.profile.default_alignment());
  if (size == Bytes(0)) return InvalidValue(kCall, "size is 0");
  if (size % granularity != Bytes(0)) {
    return InvalidValue(kCall, "size ", ToString(size), " is not a multiple of the granularity ",
                        ToString(granularity));
  }
  const bool impossible = options.alignment != Bytes(0) && !IsPowerOfTwo(options.alignment);
  if (impossible || alignment >= kImpossibleAlignment) {
    return InvalidValue(kCall, "alignment ", ToString(options.alignment),
                        " is not a power of two, or out of range");
  }
  if (options.flags != 0) return InvalidValue(kCall, "flags ", options.flags, " are not 0");
  if (!options.hint.IsAligned(alignment) && mmu_.profile.quirks.reserve_refuses_misaligned_hint) {
    return InvalidValue(kCall, "hint ", ToString(options.hint), " is not a multiple of ",
                        ToString(alignment));
  }
  // The last granule of the address space is never given out.
  const DeviceAddress limit = mmu_.profile.address_end() - granularity;
  if (options.hint >= limit && mmu_.profile.quirks.reserve_refuses_hint_beyond_addresses) {
    return Fail(DriverCode::kOutOfMemory, kCall, "hint ", ToString(options.hint),
                " is beyond the last address");
  }

  const std::unique_lock lock(mmu_.mutex);
  mmu_.table.Prepare();
  const std::optional<uint32_t> id =
      mmu_.space.Reserve(size, options.alignment, options.hint, call.id());
  if (!id.has_value()) {
    return Fail(DriverCode::kOutOfMemory, kCall, "no free span of ", ToString(size),
                " with alignment ", ToString(alignment), " is left of the ",
                ToString(mmu_.window.range().size), " of device addresses");
  }
  const AddressRange range = mmu_.space[*id];
  MarkUnmapped(mmu_, range, PageEntry::Reserved(*id));
  call.Done(range, 0);
  return range;
}

absl::Status SimulatedVmm::DoAddressFree(const AddressRange& range) {
  CallRecord call(state_, Call::kAddressFree, range);
  const std::unique_lock lock(mmu_.mutex);
  const std::optional<uint32_t> id = mmu_.space.Find(range.base);
  if (!id.has_value()) {
    return call.Refuse(WhyNotFreed(state_, range.base), words::NotReserved(range.base));
  }
  const AddressRange reservation = mmu_.space[*id];
  if (range != reservation) {
    return call.Refuse({DiagnosticKind::kFreeOfPart, range.base},
                       words::NotWholeReservation(range, reservation));
  }
  const MappingRecord* mapping = FirstMapping(mmu_, range);
  if (mapping != nullptr) {
    const AddressRange mapped = mmu_.RangeOf(*mapping);
    return call.Refuse(
        {DiagnosticKind::kFreeWhileMapped, mapped.base, std::nullopt, std::nullopt, mapping->call},
        words::StillMapped(range, mapped));
  }
  MarkUnmapped(mmu_, reservation, PageEntry());
  mmu_.space.Free(*id);
  call.Done(range, 0);
  return absl::OkStatus();
}

}  // namespace twinmmu
