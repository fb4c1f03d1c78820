#include "api/testing/recording/names.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace twinmmu {
namespace {

constexpr char kReservation = 'r';

std::string Hex(uint64_t value) { return absl::StrCat("0x", absl::Hex(value)); }

// "d1" is a name, though it could be a number too.
bool ParseHex(absl::string_view text, uint64_t& number) {
  return absl::ConsumePrefix(&text, "0x") && absl::SimpleHexAtoi(text, &number);
}

absl::Status Unknown(absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is neither a number nor the name of what a call gave before"));
}

}  // namespace

std::string Names::Add(Kind kind, uint64_t value) {
  const uint64_t number = ++counts_[kind];
  numbers_[{kind, value}] = number;
  values_[{kind, number}] = value;
  return absl::StrCat(std::string(1, kind), number);
}

std::string Names::Of(Kind kind, uint64_t value) const {
  const auto found = numbers_.find({kind, value});
  return found == numbers_.end() ? Hex(value) : absl::StrCat(std::string(1, kind), found->second);
}

absl::StatusOr<uint64_t> Names::Value(Kind kind, absl::string_view text) const {
  uint64_t number = 0;
  if (ParseHex(text, number)) return number;
  if (text.empty() || text[0] != kind || !absl::SimpleAtoi(text.substr(1), &number)) {
    return Unknown(text);
  }
  const auto found = values_.find({kind, number});
  if (found == values_.end()) return Unknown(text);
  return found->second;
}

std::string Names::AddReservation(const AddressRange& range) {
  const uint64_t number = ++counts_[kReservation];
  reservations_.push_back({range, true, number});
  return absl::StrCat(std::string(1, kReservation), number);
}

void Names::EndReservation(DeviceAddress base) {
  for (Reservation& reservation : reservations_) {
    if (reservation.range.base == base) reservation.live = false;
  }
}

std::string Names::Of(DeviceAddress address) const {
  // Live before dead, inside before at the end, late before early.
  const Reservation* best = nullptr;
  int best_rank = 0;
  for (const Reservation& reservation : reservations_) {
    const bool inside = reservation.range.contains(address);
    if (!inside && reservation.range.end() != address) continue;
    const int rank = 1 + (inside ? 1 : 0) + (reservation.live ? 2 : 0);
    if (rank < best_rank) continue;
    best = &reservation;
    best_rank = rank;
  }
  if (best == nullptr) return Hex(address.value());
  const uint64_t offset = (address - best->range.base).value();
  const std::string name = absl::StrCat(std::string(1, kReservation), best->number);
  return offset == 0 ? name : absl::StrCat(name, "+", Hex(offset));
}

absl::StatusOr<DeviceAddress> Names::Address(absl::string_view text) const {
  uint64_t number = 0;
  if (ParseHex(text, number)) return DeviceAddress(number);
  const size_t plus = std::min(text.find('+'), text.size());
  uint64_t offset = 0;
  if (plus != text.size() && !ParseHex(text.substr(plus + 1), offset)) {
    return Unknown(text);
  }
  if (plus < 2 || text[0] != kReservation || !absl::SimpleAtoi(text.substr(1, plus - 1), &number)) {
    return Unknown(text);
  }
  for (const Reservation& reservation : reservations_) {
    if (reservation.number == number) return reservation.range.base + Bytes(offset);
  }
  return Unknown(text);
}

void Names::SkipPast(absl::string_view name) {
  uint64_t number = 0;
  if (name.empty() || !absl::SimpleAtoi(name.substr(1), &number)) return;
  counts_[name[0]] = std::max(counts_[name[0]], number);
}

}  // namespace twinmmu
