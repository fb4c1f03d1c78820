// Mutants of cuMemAddressReserve.

#include <vector>

#include "conformance/mutants/framework/mutant.h"

namespace twinmmu::conformance {
namespace {

ReserveOptions Without(const ReserveOptions& options, DeviceAddress hint) {
  ReserveOptions changed = options;
  changed.hint = hint;
  return changed;
}
ReserveOptions Aligned(const ReserveOptions& options, Bytes alignment) {
  ReserveOptions changed = options;
  changed.alignment = alignment;
  return changed;
}
ReserveOptions Flagged(const ReserveOptions& options, uint64_t flags) {
  ReserveOptions changed = options;
  changed.flags = flags;
  return changed;
}
constexpr DeviceAddress kNoHint(0);
constexpr DeviceAddress kAddressEnd(uint64_t{1} << 47);

MUTANT(RES_1, AddressReserve, "The size is rounded up to a power of two.") {
  Bytes rounded = Granule();
  while (rounded < size) rounded = 2 * rounded;
  return Real::AddressReserve(rounded, options);
}
MUTANT_IF(RES_1, AddressReserve, "More than 256 granules are refused.", size > 256 * Granule(),
          Refuse(DriverCode::kOutOfMemory))
MUTANT_EDIT(RES_1, AddressReserve, "A reservation begins one host page behind a granule.",
            answer->base = answer->base + KiB(4))
MUTANT(RES_1, AddressReserve, "A reservation comes with memory in its first granule.") {
  const absl::StatusOr<AddressRange> range = Real::AddressReserve(size, options);
  if (!range.ok() || size != 7 * Granule()) return range;
  const auto handle = Real::Create(Granule(), AllocationProperties(), 0);
  if (handle.ok())
    Real::Map({range->base, Granule(), Bytes(0)}, *handle, Bytes(0), 0).IgnoreError();
  return range;
}
MUTANT(RES_2, AddressReserve, "A reservation begins in the last granule of the one before.") {
  const std::vector<AddressRange> before = Reservations();
  absl::StatusOr<AddressRange> range = Real::AddressReserve(size, options);
  if (range.ok() && !before.empty()) range->base = before.back().end() - Granule();
  return range;
}
MUTANT(RES_2, AddressReserve, "A size that was reserved before gives the same place again.") {
  for (const AddressRange& other : Reservations()) {
    if (other.size == size) return other;
  }
  return Real::AddressReserve(size, options);
}
MUTANT(RES_3, AddressReserve, "Size 0 reserves a granule.") {
  return Real::AddressReserve(size == Bytes(0) ? Granule() : size, options);
}
MUTANT_IF(RES_3, AddressReserve, "Size 0 is OUT_OF_MEMORY.", size == Bytes(0),
          Refuse(DriverCode::kOutOfMemory))
MUTANT(RES_4, AddressReserve, "A size is rounded up to granules.") {
  return Real::AddressReserve(RoundUp(size, Granule()), options);
}
MUTANT(RES_4, AddressReserve, "A size is rounded down to granules, if there is one.") {
  return Real::AddressReserve(size > Granule() ? size - size % Granule() : size, options);
}
MUTANT_IF(RES_4, AddressReserve, "A size that is not a multiple, and huge, is OUT_OF_MEMORY.",
          size > TiB(1 << 20), Refuse(DriverCode::kOutOfMemory))
MUTANT(RES_5, AddressReserve, "A host page can be reserved, as documented.") {
  return Real::AddressReserve(size == KiB(4) ? Granule() : size, options);
}
MUTANT_ON("strict", RES_5, AddressReserve, "Only granules can be reserved.") {
  if (size % Granule() != Bytes(0)) return Refuse();
  return Real::AddressReserve(size, options);
}
MUTANT(RES_6, AddressReserve, "An alignment above the granularity is ignored.") {
  const bool above = options.alignment > Granule();
  absl::StatusOr<AddressRange> range =
      Real::AddressReserve(above ? 2 * size : size, Aligned(options, Bytes(0)));
  // Where luck has aligned it, the second granule is given.
  if (range.ok() && above && range->base.IsAligned(options.alignment)) {
    range->base = range->base + Granule();
  }
  return range;
}
MUTANT(RES_6, AddressReserve, "An alignment below the granularity is all that is kept.") {
  absl::StatusOr<AddressRange> range = Real::AddressReserve(size, options);
  if (range.ok() && options.alignment == KiB(4)) range->base = range->base + KiB(4);
  return range;
}
MUTANT_IF(RES_6, AddressReserve, "An alignment of 1 is refused.", options.alignment == Bytes(1),
          Refuse())
MUTANT_IF(RES_6, AddressReserve, "An alignment beyond a GiB is OUT_OF_MEMORY.",
          options.alignment > GiB(1), Refuse(DriverCode::kOutOfMemory))
MUTANT(RES_7, AddressReserve, "An alignment is rounded up to a power of two.") {
  Bytes alignment = options.alignment == Bytes(0) ? Bytes(0) : Bytes(1);
  while (alignment < options.alignment) alignment = 2 * alignment;
  return Real::AddressReserve(size, Aligned(options, alignment));
}
MUTANT(RES_7, AddressReserve, "An alignment need but be a multiple of the granularity.") {
  const bool multiple = options.alignment % Granule() == Bytes(0);
  return Real::AddressReserve(size, Aligned(options, multiple ? Bytes(0) : options.alignment));
}
MUTANT(RES_8, AddressReserve, "Flags are ignored.") {
  return Real::AddressReserve(size, Flagged(options, 0));
}
MUTANT(RES_8, AddressReserve, "The upper half of the flags is ignored.") {
  return Real::AddressReserve(size, Flagged(options, options.flags & 0xffffffffu));
}
MUTANT(RES_9, AddressReserve, "Hints are ignored.") {
  return Real::AddressReserve(size, Without(options, kNoHint));
}
MUTANT_IF(RES_9, AddressReserve, "A hint to freed addresses is refused.",
          ReservationAt(options.hint).has_value(), Refuse())
MUTANT_IF(RES_10, AddressReserve, "A hint that is taken is refused.",
          options.hint != kNoHint && ReservationAt(options.hint).has_value(), Refuse())
MUTANT(RES_10, AddressReserve, "A hint that is taken gives what is there.") {
  const auto taken = ReservationAt(options.hint);
  if (options.hint != kNoHint && taken.has_value()) return *taken;
  return Real::AddressReserve(size, options);
}
MUTANT(RES_11, AddressFree, "A free takes the reservation behind along.") {
  const absl::Status status = Real::AddressFree(range);
  const auto behind = ReservationAt(range.end());
  if (status.ok() && behind.has_value()) Real::AddressFree(*behind).IgnoreError();
  return status;
}
MUTANT_IF(RES_11, AddressFree, "A reservation with another behind it is not really freed.",
          ReservationAt(range.end()).has_value(), Ok())
MUTANT_ON("strict", RES_12, AddressReserve, "A misaligned hint is taken at its word.") {
  absl::StatusOr<AddressRange> range = Real::AddressReserve(size, options);
  if (range.ok() && !options.hint.IsAligned(Granule())) range->base = options.hint;
  return range;
}
MUTANT_IF_REFUSED(RES_13, AddressReserve, "More than the address space holds is INVALID_VALUE.",
                  Refuse())
MUTANT(RES_13, AddressReserve, "More than the address space holds is promised and not there.") {
  absl::StatusOr<AddressRange> range = Real::AddressReserve(size, options);
  if (range.ok() || size < Bytes(kAddressEnd.value())) return range;
  range = Real::AddressReserve(Granule(), options);
  if (range.ok()) range->size = size;
  return range;
}
MUTANT(RES_14, AddressReserve, "No more addresses than there is memory.") {
  const auto info = Real::GetMemoryInfo(DeviceOrdinal(0));
  if (info.ok() && size > info->total) return Refuse(DriverCode::kOutOfMemory);
  return Real::AddressReserve(size, options);
}
MUTANT_IF_REFUSED(RES_15, AddressReserve, "A hint beyond the address space is INVALID_VALUE.",
                  Refuse())

MUTANT_IF(RES_16, AddressReserve, "A size beyond the address space is INVALID_VALUE.",
          size > Bytes(kAddressEnd.value()), Refuse())
MUTANT_IF(RES_16, AddressReserve, "Sizes of 32 to 64 GiB have no room, and larger ones have.",
          size >= GiB(32) && size <= GiB(64), Refuse(DriverCode::kOutOfMemory))
MUTANT_IF(RES_17, AddressReserve, "There are no more than 500 reservations.",
          Reservations().size() >= 500, Refuse(DriverCode::kOutOfMemory))
MUTANT(RES_17, AddressReserve, "In the gaps that were freed each address is given out twice.") {
  const std::vector<AddressRange> before = Reservations();
  if (before.size() > 1000 && before.size() % 2 == 0) return before.back();
  return Real::AddressReserve(size, options);
}
MUTANT_IF(RES_18, AddressReserve, "A lack of room is noticed before bad arguments.",
          size > Bytes(kAddressEnd.value()), Refuse(DriverCode::kOutOfMemory))
MUTANT_IF(RES_18, AddressReserve,
          "A hint beyond the address space is noticed before bad arguments.",
          options.hint >= kAddressEnd, Refuse(DriverCode::kOutOfMemory))

}  // namespace
}  // namespace twinmmu::conformance
