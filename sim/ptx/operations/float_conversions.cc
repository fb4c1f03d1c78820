// cvt between floating-point types.

#include <cmath>
#include <string>
#include <type_traits>

#include "sim/ptx/operations/converted_types.h"
#include "sim/ptx/operations/float_math.h"
#include "sim/ptx/operations/operation_table.h"

namespace twinmmu::ptx {
namespace {

// x, which is what is wanted but for the precision, as a value of type To.
template <typename To, Round kRound>
To RoundAs(double x) {
  if constexpr (std::is_same_v<To, double>) {
    return x;
  } else if constexpr (std::is_same_v<To, float>) {
    return IsNan(x) ? CanonicalNan() : RoundToFloat<kRound>(x);
  } else {
    return RoundToHalf<To>(x, kRound);
  }
}
// A NaN of f64 keeps its sign and the upper bits of its payload, and becomes quiet.
template <typename To>
To NarrowNan(double x) {
  const uint64_t payload = BitsOf(x) & ((uint64_t{1} << 52) - 1);
  const bool negative = BitsOf(x) >> 63 != 0;
  if constexpr (std::is_same_v<To, float>) {
    const uint32_t bits = 0x7fc00000 | static_cast<uint32_t>(payload >> (52 - 23));
    return BitCast<float>(negative ? bits | 0x80000000 : bits);
  } else {
    const FloatFormat& format = FormatOf(To());
    const uint64_t bits = format.infinity | uint64_t{1} << (format.mantissa_bits - 1) |
                          payload >> (52 - format.mantissa_bits);
    return {static_cast<uint16_t>(negative ? bits | 0x8000 : bits)};
  }
}

enum class Clamp { kNone, kSat, kRelu };

// NaN stays NaN with .relu.
template <Clamp kClamp>
double Clamped(double x) {
  if (kClamp == Clamp::kSat) return Saturate(x);
  if (kClamp == Clamp::kRelu && SignBit(x) && !IsNan(x)) return 0;
  return x;
}

template <typename To, typename From, Round kRound, bool kFtz, Clamp kClamp>
To FloatToFloat(From a) {
  // Without anything to do these are moves, of NaN too.
  constexpr bool kMoves = !kFtz && kClamp == Clamp::kNone && std::is_same_v<To, float>;
  if constexpr (kMoves && std::is_same_v<From, float>) return a;
  if constexpr (kMoves && std::is_same_v<From, Bf16>) {
    return BitCast<float>(static_cast<uint32_t>(a.bits) << 16);
  }
  // To f16, hardware does not flush.
  if constexpr (std::is_same_v<From, float> && !std::is_same_v<To, F16>) a = Flush<kFtz>(a);
  double x = AsDouble(a);
  if constexpr (kFtz && std::is_same_v<From, float> && std::is_same_v<To, double>) {
    if (IsNan(x)) x = CanonicalNan();
  }
  if constexpr (std::is_same_v<From, double> && !std::is_same_v<To, double>) {
    if (IsNan(x) && kClamp != Clamp::kSat) return NarrowNan<To>(x);
  }
  if constexpr (std::is_same_v<To, float>) {
    if (kFtz && IsTiny<kRound>(x)) x = std::copysign(0, x);
  }
  return RoundAs<To, kRound>(Clamped<kClamp>(x));
}
// .rni and the like: an integral number of the same type.
template <typename T, Round kRound, bool kFtz, bool kSat>
T FloatToIntegral(T a) {
  if constexpr (std::is_same_v<T, float>) a = Flush<kFtz>(a);
  const double x = AsDouble(a);
  const double integral = IsNan(x) ? QuietNan(x) : RoundToIntegral<kRound>(x);
  constexpr Clamp kClamp = kSat ? Clamp::kSat : Clamp::kNone;
  return RoundAs<T, Round::kNearest>(Clamped<kClamp>(integral));
}

// f32 as half, with .satfinite.
template <typename Half, Round kRound, bool kRelu, bool kFinite>
Half FloatToHalf(float a) {
  constexpr Clamp kClamp = kRelu ? Clamp::kRelu : Clamp::kNone;
  const double x = Clamped<kClamp>(a);
  return {static_cast<uint16_t>(RoundTo(FormatOf(Half()), x, kRound, kFinite))};
}
template <typename Pair, typename Half, Round kRound, bool kRelu, bool kFinite>
Pair FloatsToHalves(float a, float b) {
  const uint32_t high = FloatToHalf<Half, kRound, kRelu, kFinite>(a).bits;
  return {high << 16 | FloatToHalf<Half, kRound, kRelu, kFinite>(b).bits};
}
template <Round kRound, bool kRelu, bool kFinite>
Tf32 FloatToTf32(float a) {
  constexpr Clamp kClamp = kRelu ? Clamp::kRelu : Clamp::kNone;
  const double x = Clamped<kClamp>(a);
  constexpr uint32_t kKept = 0xffffe000;
  if (IsNan(x)) {
    // With .rna hardware cuts it, and .satfinite takes one off all that is not finite.
    if (kRound != Round::kAway) return {0x7fffffff & kKept};
    return {(BitsOf(a) & kKept) - (kFinite ? ~kKept + 1 : 0)};
  }
  return {RoundTo(kTf32Format, x, kRound, kFinite) << 13};
}

// --- The forms -----------------------------------------------------------------------------------

template <typename To, typename From, Round kRound>
void AddPair(OperationTable& table, const std::string& rounding) {
  constexpr bool kFtz = std::is_same_v<To, float> || std::is_same_v<From, float>;
  constexpr bool kSat = !std::is_same_v<To, Bf16> && !std::is_same_v<From, Bf16>;
  // Few programs convert but to or from f32.
  constexpr bool kRare = kRound != Round::kNearest || !kFtz;
  const std::string cvt = "cvt" + rounding;
  const std::string types = Name<To>() + Name<From>();
  table.Map<FloatToFloat<To, From, kRound, false, Clamp::kNone>, kRare>(cvt + types);
  if constexpr (kSat) {
    table.Map<FloatToFloat<To, From, kRound, false, Clamp::kSat>, true>(cvt + ".sat" + types);
  }
  if constexpr (kFtz) {
    table.Map<FloatToFloat<To, From, kRound, true, Clamp::kNone>, kRare>(cvt + ".ftz" + types);
  }
  if constexpr (kFtz && kSat) {
    table.Map<FloatToFloat<To, From, kRound, true, Clamp::kSat>, true>(cvt + ".ftz.sat" + types);
  }
}
template <typename To, typename From>
void AddNarrowing(OperationTable& table) {
  AddPair<To, From, Round::kNearest>(table, ".rn");
  AddPair<To, From, Round::kZero>(table, ".rz");
  AddPair<To, From, Round::kDown>(table, ".rm");
  AddPair<To, From, Round::kUp>(table, ".rp");
}
template <typename To, typename From>
void AddExact(OperationTable& table) {
  AddPair<To, From, Round::kNearest>(table, "");
}

template <typename T, Round kRound>
void AddIntegral(OperationTable& table, const std::string& rounding) {
  constexpr bool kHalf = std::is_same_v<T, F16> || std::is_same_v<T, Bf16>;
  const std::string types = Name<T>() + Name<T>();
  table.Map<FloatToIntegral<T, kRound, false, false>, kHalf>("cvt" + rounding + types);
  if constexpr (!std::is_same_v<T, Bf16>) {
    table.Map<FloatToIntegral<T, kRound, false, true>, true>("cvt" + rounding + ".sat" + types);
  }
  if constexpr (std::is_same_v<T, float>) {
    table.Map<FloatToIntegral<T, kRound, true, false>>("cvt" + rounding + ".ftz" + types);
    table.Map<FloatToIntegral<T, kRound, true, true>, true>("cvt" + rounding + ".ftz.sat" + types);
  }
}
template <typename T>
void AddSame(OperationTable& table) {
  AddExact<T, T>(table);
  AddIntegral<T, Round::kNearest>(table, ".rni");
  AddIntegral<T, Round::kZero>(table, ".rzi");
  AddIntegral<T, Round::kDown>(table, ".rmi");
  AddIntegral<T, Round::kUp>(table, ".rpi");
}

// .relu and .satfinite.
template <Round kRound, bool kRelu, bool kFinite>
void AddClamped(OperationTable& table) {
  const std::string cvt = std::string("cvt") + SuffixOf(kRound) + (kRelu ? ".relu" : "") +
                          (kFinite ? ".satfinite" : "");
  constexpr bool kRare = kRound != Round::kNearest || kRelu || kFinite;
  table.Map<FloatsToHalves<F16x2, F16, kRound, kRelu, kFinite>, kRare>(cvt + ".f16x2.f32");
  table.Map<FloatsToHalves<Bf16x2, Bf16, kRound, kRelu, kFinite>, kRare>(cvt + ".bf16x2.f32");
  if constexpr (!kFinite) table.Map<FloatToTf32<kRound, kRelu, false>, kRare>(cvt + ".tf32.f32");
  if constexpr (kRelu || kFinite) {
    table.Map<FloatToHalf<F16, kRound, kRelu, kFinite>, true>(cvt + ".f16.f32");
    table.Map<FloatToHalf<Bf16, kRound, kRelu, kFinite>, true>(cvt + ".bf16.f32");
  }
}

}  // namespace

void AddFloatConversions(OperationTable& table) {
  AddSame<F16>(table);
  AddSame<Bf16>(table);
  AddSame<float>(table);
  AddSame<double>(table);
  AddExact<float, F16>(table);
  AddExact<float, Bf16>(table);
  AddExact<double, F16>(table);
  AddExact<double, Bf16>(table);
  AddExact<double, float>(table);
  AddNarrowing<float, double>(table);
  AddNarrowing<F16, double>(table);
  AddNarrowing<Bf16, double>(table);
  AddNarrowing<F16, float>(table);
  AddNarrowing<Bf16, float>(table);
  AddNarrowing<F16, Bf16>(table);
  AddNarrowing<Bf16, F16>(table);

  AddClamped<Round::kNearest, false, false>(table);
  AddClamped<Round::kNearest, false, true>(table);
  AddClamped<Round::kNearest, true, false>(table);
  AddClamped<Round::kNearest, true, true>(table);
  AddClamped<Round::kZero, false, false>(table);
  AddClamped<Round::kZero, false, true>(table);
  AddClamped<Round::kZero, true, false>(table);
  AddClamped<Round::kZero, true, true>(table);
  table.Map<FloatToTf32<Round::kAway, false, false>>("cvt.rna.tf32.f32");
  table.Map<FloatToTf32<Round::kAway, false, true>>("cvt.rna.satfinite.tf32.f32");
}

}  // namespace twinmmu::ptx
