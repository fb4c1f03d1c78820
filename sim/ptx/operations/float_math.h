// Rounding and the formats of floating-point numbers, exactly, whatever the host's are.
//
// What is narrower than f64 is computed in f64 "to odd": an inexact result becomes the one of its
// two neighbours whose last bit is 1. Rounding that again to a format of at most 51 bits gives what
// rounding the exact result would.

#ifndef TWINMMU_SIM_PTX_OPERATIONS_FLOAT_MATH_H_
#define TWINMMU_SIM_PTX_OPERATIONS_FLOAT_MATH_H_

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sim/ptx/operations/lane_types.h"

namespace twinmmu::ptx {

enum class Round : uint8_t {
  kNearest,  // .rn, ties to even
  kZero,     // .rz
  kDown,     // .rm
  kUp,       // .rp
  kAway,     // .rna: nearest, ties away from zero
};

// --- NaN, zero, subnormal ------------------------------------------------------------------------

// What arithmetic of the format makes where the result is no number.
inline float CanonicalNan() { return BitCast<float>(uint32_t{0x7fffffff}); }
constexpr uint16_t kHalfNan = 0x7fff;  // of f16 and bf16

inline bool IsNan(float x) { return x != x; }
inline bool IsNan(double x) { return x != x; }
// With the payload that it has.
inline double QuietNan(double nan) { return BitCast<double>(BitsOf(nan) | uint64_t{1} << 51); }
inline bool SignBit(float x) { return (BitsOf(x) >> 31) != 0; }
inline bool SignBit(double x) { return (BitsOf(x) >> 63) != 0; }

// A subnormal becomes a zero of its sign.
inline float FlushSubnormal(float x) {
  const uint32_t bits = BitsOf(x);
  return BitCast<float>((bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits);
}
inline double FlushSubnormal(double x) {
  const uint64_t bits = BitsOf(x);
  return BitCast<double>((bits >> 52 & 0x7ff) == 0 ? bits >> 63 << 63 : bits);
}
template <bool kFtz>
float Flush(float x) {
  return kFtz ? FlushSubnormal(x) : x;
}

// Whether .ftz flushes a result of f32, of which `exact` is the exact value, or that to odd: if it
// would be below the smallest normal number were it rounded to as many bits as a normal one has.
template <Round kRound>
bool IsTiny(double exact) {
  constexpr double kNormal = 0x1p-126;
  const double magnitude = std::fabs(exact);
  if (kRound == Round::kNearest) return magnitude < kNormal - 0x1p-151;
  const bool outwards = exact > 0 ? kRound == Round::kUp : kRound == Round::kDown;
  return outwards ? magnitude <= kNormal - 0x1p-150 : magnitude < kNormal;
}

// .sat: into [0, 1]; NaN becomes 0.
template <typename T>
T Saturate(T x) {
  return x > 0 ? (x < 1 ? x : T{1}) : T{0};
}

// --- Rounding to odd -----------------------------------------------------------------------------

// `rounded`, which is exact + error, for an error below half of its last bit.
inline double ToOdd(double rounded, double error) {
  const uint64_t bits = BitsOf(rounded);
  const bool inexact = error > 0 || error < 0;
  const bool away = (error > 0) == (rounded > 0);  // from zero lies the exact value
  const uint64_t other = away ? bits + 1 : bits - 1;
  return BitCast<double>(inexact && (bits & 1) == 0 ? other : bits);
}
// a + b, for what does not overflow.
inline double AddToOdd(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  return ToOdd(sum, error);
}
double ToOdd(uint64_t value);
inline double ToOdd(int64_t value) {
  return value < 0 ? -ToOdd(0 - static_cast<uint64_t>(value)) : ToOdd(static_cast<uint64_t>(value));
}

// --- Rounding ------------------------------------------------------------------------------------

// A format of at most 16 bits, or of the upper ones of 32.
struct FloatFormat {
  int mantissa_bits;
  int minimum_exponent;  // of a normal number 1.x * 2^e
  uint32_t largest;      // the bits of the largest finite number
  uint32_t infinity;     // what is beyond; where there is none, NaN
  uint32_t nan;
  int sign_bit;
};
constexpr FloatFormat kF16Format{10, -14, 0x7bff, 0x7c00, 0x7fff, 15};
constexpr FloatFormat kBf16Format{7, -126, 0x7f7f, 0x7f80, 0x7fff, 15};
// Without the 13 bits that are 0.
constexpr FloatFormat kTf32Format{10, -126, 0x3fbff, 0x3fc00, 0x3ffff, 18};
constexpr FloatFormat kE4m3Format{3, -6, 0x7e, 0x7f, 0x7f, 7};
constexpr FloatFormat kE5m2Format{2, -14, 0x7b, 0x7c, 0x7f, 7};

// value / 2^drop, rounded to an integer; drop in [0, 63].
uint64_t RoundBits(uint64_t value, int drop, bool negative, Round round);

// x in the format. `finite`: what is too large becomes the largest finite number, infinity too.
uint32_t RoundTo(const FloatFormat& format, double x, Round round, bool finite = false);
// The value of bits of the format, which must be none of kE4m3Format, whose largest exponent is one
// of numbers.
double ValueOf(const FloatFormat& format, uint32_t bits);

// x as f32; for what is inexact in f64, x is to odd.
template <Round kRound>
float RoundToFloat(double x) {
  const float nearest = static_cast<float>(x);
  if constexpr (kRound == Round::kNearest) return nearest;
  const bool above = static_cast<double>(nearest) > x;
  const bool below = static_cast<double>(nearest) < x;
  const bool down = kRound == Round::kDown || (kRound == Round::kZero && x > 0);
  const uint32_t bits = BitsOf(nearest);
  const uint32_t sign = x < 0 ? 0x80000000 : 0;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (down ? above : below) {
    // One step back over what lies between: towards zero if that is where x lies.
    const bool inwards = down == (x > 0);
    return BitCast<float>(sign | (inwards ? magnitude - 1 : magnitude + 1));
  }
  return nearest;
}

// The integral number that x rounds to.
template <Round kRound>
double RoundToIntegral(double x) {
  switch (kRound) {
    case Round::kZero:
      return std::trunc(x);
    case Round::kDown:
      return std::floor(x);
    case Round::kUp:
      return std::ceil(x);
    default:
      return std::nearbyint(x);
  }
}

// What `compute(values...)` gives under a rounding mode of the host. Volatile, as the compiler does
// not know that arithmetic depends on the mode.
template <Round kRound, typename Compute, typename T, typename... More>
T WithRounding(const Compute& compute, T first, More... more) {
  if constexpr (kRound == Round::kNearest) return compute(first, more...);
  constexpr int kMode = kRound == Round::kZero   ? FE_TOWARDZERO
                        : kRound == Round::kDown ? FE_DOWNWARD
                                                 : FE_UPWARD;
  const int before = std::fegetround();
  std::fesetround(kMode);
  volatile T inputs[] = {first, more...};
  volatile T result = 0;
  if constexpr (sizeof...(More) == 0) result = compute(T{inputs[0]});
  if constexpr (sizeof...(More) == 1) result = compute(T{inputs[0]}, T{inputs[1]});
  if constexpr (sizeof...(More) == 2) result = compute(T{inputs[0]}, T{inputs[1]}, T{inputs[2]});
  std::fesetround(before);
  return result;
}

// --- The halves ----------------------------------------------------------------------------------

double ToDouble(F16 x);
inline double ToDouble(Bf16 x) { return BitCast<float>(static_cast<uint32_t>(x.bits) << 16); }
// The format of a type of C++.
constexpr const FloatFormat& FormatOf(F16) { return kF16Format; }
constexpr const FloatFormat& FormatOf(Bf16) { return kBf16Format; }
template <typename Half>
Half RoundToHalf(double x, Round round = Round::kNearest) {
  return {static_cast<uint16_t>(RoundTo(FormatOf(Half()), x, round))};
}

// .rn, .rz, .rm, .rp; "" for kNearest where a form may leave it out.
const char* SuffixOf(Round round);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_OPERATIONS_FLOAT_MATH_H_
