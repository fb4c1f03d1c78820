#include "sim/ptx/operations/float_math.h"

#include <algorithm>

namespace twinmmu::ptx {

double ToOdd(uint64_t value) {
  constexpr int kExtra = 64 - 53;
  if (value >> 53 == 0) return static_cast<double>(value);
  const uint64_t lost = value & ((uint64_t{1} << kExtra) - 1);
  const uint64_t kept = value >> kExtra;
  return static_cast<double>(kept | (lost != 0 ? 1 : 0)) * (1 << kExtra);
}

uint64_t RoundBits(uint64_t value, int drop, bool negative, Round round) {
  if (drop == 0) return value;
  const uint64_t kept = value >> drop;
  const uint64_t lost = value & ((uint64_t{1} << drop) - 1);
  const uint64_t half = uint64_t{1} << (drop - 1);
  bool up = false;
  switch (round) {
    case Round::kNearest:
      up = lost > half || (lost == half && (kept & 1) != 0);
      break;
    case Round::kAway:
      up = lost >= half;
      break;
    case Round::kZero:
      break;
    case Round::kDown:
      up = negative && lost != 0;
      break;
    case Round::kUp:
      up = !negative && lost != 0;
      break;
  }
  return kept + (up ? 1 : 0);
}

uint32_t RoundTo(const FloatFormat& format, double x, Round round, bool finite) {
  if (IsNan(x)) return format.nan;
  const uint64_t bits = BitsOf(x);
  const bool negative = bits >> 63 != 0;
  const uint32_t sign = negative ? uint32_t{1} << format.sign_bit : 0;
  const uint32_t beyond = finite ? format.largest : format.infinity;
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  if (field == 0x7ff) return sign | beyond;
  uint64_t significand = bits & ((uint64_t{1} << 52) - 1);
  if (field != 0) significand |= uint64_t{1} << 52;
  const int exponent = std::max(field, 1) - 1023;  // x is significand * 2^(exponent - 52)
  const int quantum = std::max(exponent, format.minimum_exponent);
  // Below 2^-63 of the last place, it does not matter how much.
  const int drop = std::min(52 - format.mantissa_bits + quantum - exponent, 63);
  const uint64_t rounded = RoundBits(significand, drop, negative, round);
  // The leading 1 of a normal number counts as one of the exponent.
  const uint64_t magnitude =
      (static_cast<uint64_t>(quantum - format.minimum_exponent) << format.mantissa_bits) + rounded;
  if (magnitude <= format.largest) return sign | static_cast<uint32_t>(magnitude);
  const bool outwards = round == Round::kNearest || round == Round::kAway ||
                        (round == Round::kDown && negative) || (round == Round::kUp && !negative);
  return sign | (outwards ? beyond : format.largest);
}

double ValueOf(const FloatFormat& format, uint32_t bits) {
  const bool negative = (bits >> format.sign_bit & 1) != 0;
  const uint32_t magnitude = bits & ((uint32_t{1} << format.sign_bit) - 1);
  double value;
  if (magnitude > format.infinity) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (magnitude == format.infinity) {
    value = std::numeric_limits<double>::infinity();
  } else {
    const int field = static_cast<int>(magnitude >> format.mantissa_bits);
    const uint32_t mantissa = magnitude & ((uint32_t{1} << format.mantissa_bits) - 1);
    const uint32_t significand = field == 0 ? mantissa : mantissa | 1U << format.mantissa_bits;
    value = std::ldexp(significand,
                       std::max(field, 1) - 1 + format.minimum_exponent - format.mantissa_bits);
  }
  return negative ? -value : value;
}

double ToDouble(F16 x) {
  // The exponent and mantissa of f16 in those of f32 are the value times 2^-112.
  const uint32_t magnitude = x.bits & 0x7fff;
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000) << 16;
  if (magnitude >= 0x7c00) {
    return BitCast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  }
  return BitCast<float>(sign | magnitude << 13) * 0x1p112;
}

const char* SuffixOf(Round round) {
  switch (round) {
    case Round::kNearest:
      return ".rn";
    case Round::kZero:
      return ".rz";
    case Round::kDown:
      return ".rm";
    case Round::kUp:
      return ".rp";
    case Round::kAway:
      return ".rna";
  }
  return "";
}

}  // namespace twinmmu::ptx
