// Mutants of cuMemAddressFree.

#include "conformance/mutants/framework/mutant.h"

namespace twinmmu::conformance {
namespace {

MUTANT(FREE_1, AddressFree, "A free does nothing.") { return Ok(); }
MUTANT(FREE_1, Map, "Mapping where a reservation was freed is reported as done.") {
  const absl::Status status = Real::Map(range, handle, offset, flags);
  return ReservationAt(range.base).has_value() ? Ok() : status;
}
MUTANT(FREE_2, AddressFree, "The size is not looked at.") {
  const auto whole = ReservationAt(range.base);
  return Real::AddressFree(whole.has_value() && whole->base == range.base ? *whole : range);
}
MUTANT(FREE_2, AddressFree, "A size that is too large frees what there is.") {
  const auto whole = ReservationAt(range.base);
  return Real::AddressFree(whole.has_value() && whole->size < range.size ? *whole : range);
}
MUTANT(FREE_2, AddressFree, "Half the size is refused, and the whole is freed all the same.") {
  const absl::Status status = Real::AddressFree(range);
  const auto whole = ReservationAt(range.base);
  if (whole.has_value() && range.size < whole->size) Real::AddressFree(*whole).IgnoreError();
  return status;
}
MUTANT_IF_REFUSED(FREE_2, AddressFree, "Another size is NOT_FOUND.", Refuse(DriverCode::kNotFound))
MUTANT(FREE_3, AddressFree, "Any address inside frees the reservation.") {
  const auto whole = ReservationAt(range.base);
  return Real::AddressFree(whole.has_value() ? *whole : range);
}
MUTANT(FREE_3, AddressFree, "An address inside is refused, and the reservation freed.") {
  const absl::Status status = Real::AddressFree(range);
  const auto whole = ReservationAt(range.base);
  if (!status.ok() && whole.has_value()) Real::AddressFree(*whole).IgnoreError();
  return status;
}
MUTANT(FREE_3, AddressFree, "A tail of the reservation is reported as freed.") {
  const absl::Status status = Real::AddressFree(range);
  const auto whole = ReservationAt(range.base);
  return whole.has_value() && whole->end() == range.end() ? Ok() : status;
}
MUTANT(FREE_4, AddressFree, "A second free succeeds.") {
  const absl::Status status = Real::AddressFree(range);
  return ReservationAt(range.base) == range ? Ok() : status;
}
MUTANT_IF_REFUSED(FREE_4, AddressFree, "A second free is NOT_FOUND.", Refuse(DriverCode::kNotFound))
MUTANT_BEFORE(FREE_5, AddressFree, "What is mapped is unmapped, and the reservation freed.", true,
              Remove(range))
MUTANT_AFTER(FREE_5, AddressFree, "The free is refused, and what is mapped is unmapped.", true,
             Remove(range))
MUTANT_AFTER(FREE_5, AddressFree, "The free is refused, and the access is gone.", true,
             Grant(range, Access::kNone))
MUTANT_AFTER(FREE_5, AddressFree, "The free is refused, and the data is gone.", true,
             Scribble(range))
MUTANT_IF_REFUSED(FREE_5, AddressFree, "The free of a mapped reservation is ILLEGAL_STATE.",
                  Refuse(DriverCode::kIllegalState))

class NeverFreesWhatWasRefused : public Real {
 public:
  using Real::Real;
  CALL(AddressFree) override {
    const absl::Status status = refused_ ? Refuse() : Real::AddressFree(range);
    refused_ = !status.ok();
    return status;
  }

 private:
  bool refused_ = false;
};
MUTANT_CLASS(FREE_5, NeverFreesWhatWasRefused, "A free that was refused is refused for good.")

MUTANT(FREE_6, AddressFree, "Adjacent reservations are freed by one call.") {
  const auto first = ReservationAt(range.base);
  const auto second = ReservationAt(range.end() - Bytes(1));
  const bool both = first.has_value() && second.has_value() && *first != *second;
  return both ? Ok() : Real::AddressFree(range);
}
MUTANT(FREE_6, AddressFree, "Freeing two at once is refused, and the first one freed.") {
  const absl::Status status = Real::AddressFree(range);
  const auto first = ReservationAt(range.base);
  if (!status.ok() && first.has_value()) Real::AddressFree(*first).IgnoreError();
  return status;
}
MUTANT_IF(FREE_7, AddressFree, "Freeing null does nothing and succeeds.",
          range.base == DeviceAddress(0), Ok())
MUTANT_IF(FREE_7, AddressFree, "Freeing what was never reserved succeeds.",
          range.base != DeviceAddress(0) && !ReservationAt(range.base).has_value(), Ok())
MUTANT_IF_REFUSED(FREE_7, AddressFree, "Freeing what was never reserved is NOT_FOUND.",
                  Refuse(DriverCode::kNotFound))

MUTANT(FREE_8, AddressFree, "Only a mapping that begins in a reservation keeps it.") {
  const absl::Status status = Real::AddressFree(range);
  const auto mappings = MappingsIn(range);
  return !mappings.empty() && !range.contains(mappings.front()) ? Ok() : status;
}
MUTANT_DAMAGE(FREE_8, AddressFree,
              "The free is refused, and the mapping that reaches into it unmapped.", Remove(range))

}  // namespace
}  // namespace twinmmu::conformance
