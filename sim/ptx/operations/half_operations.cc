// Arithmetic of f16 and bf16, and of pairs of them.

#include <cmath>
#include <string>
#include <type_traits>

#include "sim/ptx/operations/float_math.h"
#include "sim/ptx/operations/operation_table.h"

namespace twinmmu::ptx {
namespace {

constexpr uint16_t kSign = 0x8000;

template <typename Half>
bool IsNanHalf(Half x) {
  return (x.bits & 0x7fff) > FormatOf(x).infinity;
}
// Only f16 has .ftz.
template <bool kFtz, typename Half>
Half FlushHalf(Half x) {
  const bool subnormal = (x.bits & 0x7fff) >> FormatOf(x).mantissa_bits == 0;
  return {static_cast<uint16_t>(kFtz && subnormal ? x.bits & kSign : x.bits)};
}

enum class Clamp { kNone, kSat, kRelu };

template <typename Half, bool kFtz, Clamp kClamp>
struct Halves {
  static Half Finish(double odd) {
    // As of f32, what would be tiny were it rounded to 11 bits.
    const bool tiny = std::fabs(odd) < 0x1p-14 - 0x1p-26;
    const Half result = RoundToHalf<Half>(kFtz && tiny ? std::copysign(0, odd) : odd);
    if (kClamp == Clamp::kSat) return RoundToHalf<Half>(Saturate(ToDouble(result)));
    if (kClamp == Clamp::kRelu && !IsNanHalf(result) && (result.bits & kSign) != 0) return {0};
    return result;
  }
  static double In(Half x) { return ToDouble(FlushHalf<kFtz>(x)); }
  static Half Add(Half a, Half b) { return Finish(AddToOdd(In(a), In(b))); }
  static Half Sub(Half a, Half b) { return Finish(AddToOdd(In(a), -In(b))); }
  static Half Mul(Half a, Half b) { return Finish(In(a) * In(b)); }
  static Half Fma(Half a, Half b, Half c) { return Finish(AddToOdd(In(a) * In(b), In(c))); }
};

// What lies outside of a tensor is such a NaN, if its map says so: see TensorMap::fills_with_nan. A
// product with it is 0, and so is the whole. Source: an H200 with driver 580.159.
template <typename Half>
bool IsOutOfBounds(Half x) {
  constexpr uint16_t kOutOfBounds = 0x7ff7;
  return (x.bits & ~kSign) == kOutOfBounds;
}
template <Clamp kClamp, typename Half>
Half FmaInBounds(Half a, Half b, Half c) {
  if (IsOutOfBounds(a) || IsOutOfBounds(b)) return {0};
  return Halves<Half, /*kFtz=*/false, kClamp>::Fma(a, b, c);
}

template <bool kFtz, typename Half>
Half Abs(Half a) {
  if (IsNanHalf(a)) return {kHalfNan};
  return {static_cast<uint16_t>(FlushHalf<kFtz>(a).bits & ~kSign)};
}
template <bool kFtz, typename Half>
Half Neg(Half a) {
  if (IsNanHalf(a)) return {kHalfNan};
  return {static_cast<uint16_t>(FlushHalf<kFtz>(a).bits ^ kSign)};
}

// As for f32: a NaN loses, or with .NaN wins; -0 is less than +0.
template <bool kMax, bool kFtz, bool kNan, bool kXorSign, typename Half>
Half Extreme(Half a, Half b) {
  a = FlushHalf<kFtz>(a);
  b = FlushHalf<kFtz>(b);
  const uint16_t sign = kXorSign ? (a.bits ^ b.bits) & kSign : 0;
  if (kXorSign) {
    a = Abs<false>(a);
    b = Abs<false>(b);
  }
  if (IsNanHalf(a) && IsNanHalf(b)) return {kHalfNan};
  if (IsNanHalf(a) || IsNanHalf(b)) {
    if (kNan) return {kHalfNan};
    return {static_cast<uint16_t>((IsNanHalf(a) ? b.bits : a.bits) | sign)};
  }
  // In the order of sign and magnitude.
  const auto rank = [](Half x) { return (x.bits & kSign) != 0 ? -(x.bits & 0x7fff) - 1 : x.bits; };
  const Half result = (rank(a) < rank(b)) == kMax ? b : a;
  return {static_cast<uint16_t>(result.bits | sign)};
}

// What kFunction does to each half.
template <typename Pair, auto kFunction, typename Signature = decltype(kFunction)>
struct OnPairs;
template <typename Pair, auto kFunction, typename Half, typename... Parameter>
struct OnPairs<Pair, kFunction, Half (*)(Parameter...)> {
  template <typename>
  using PairOf = Pair;
  static Pair Compute(PairOf<Parameter>... pairs) {
    const Half low = kFunction(Parameter{static_cast<uint16_t>(pairs.bits)}...);
    const Half high = kFunction(Parameter{static_cast<uint16_t>(pairs.bits >> 16)}...);
    return {static_cast<uint32_t>(high.bits) << 16 | low.bits};
  }
};

// Both for one value and for pairs of them. `first_target`: see OperationTable::MapLater; 0: any.
template <auto kFunction, typename Half, bool kRare>
void AddBoth(OperationTable& table, const std::string& form, int first_target = 0) {
  constexpr bool kF16 = std::is_same_v<Half, F16>;
  using Pair = std::conditional_t<kF16, F16x2, Bf16x2>;
  table.MapLater<kFunction, kRare>(form + (kF16 ? ".f16" : ".bf16"), first_target);
  table.MapLater<OnPairs<Pair, kFunction>::Compute, kRare>(form + (kF16 ? ".f16x2" : ".bf16x2"),
                                                           first_target);
}

template <typename Half, bool kFtz, Clamp kClamp>
void AddArithmetic(OperationTable& table) {
  using Ops = Halves<Half, kFtz, kClamp>;
  constexpr bool kRare = kFtz || kClamp != Clamp::kNone;
  const std::string suffix = std::string(kFtz ? ".ftz" : "") + (kClamp == Clamp::kSat    ? ".sat"
                                                                : kClamp == Clamp::kRelu ? ".relu"
                                                                                         : "");
  AddBoth<Ops::Fma, Half, kRare>(table, "fma.rn" + suffix);
  if constexpr (kClamp != Clamp::kRelu) {
    for (const char* rounding : {"", ".rn"}) {
      AddBoth<Ops::Add, Half, kRare>(table, "add" + (rounding + suffix));
      AddBoth<Ops::Sub, Half, kRare>(table, "sub" + (rounding + suffix));
      AddBoth<Ops::Mul, Half, kRare>(table, "mul" + (rounding + suffix));
    }
  }
}
template <typename Half, bool kFtz, bool kNan, bool kXorSign>
void AddExtremes(OperationTable& table) {
  const std::string suffix =
      std::string(kFtz ? ".ftz" : "") + (kNan ? ".NaN" : "") + (kXorSign ? ".xorsign.abs" : "");
  constexpr bool kRare = kFtz || kXorSign;
  AddBoth<Extreme<false, kFtz, kNan, kXorSign, Half>, Half, kRare>(table, "min" + suffix);
  AddBoth<Extreme<true, kFtz, kNan, kXorSign, Half>, Half, kRare>(table, "max" + suffix);
}
template <typename Half>
void AddOutOfBounds(OperationTable& table) {
  constexpr int kFirstTarget = 90;
  AddBoth<FmaInBounds<Clamp::kNone, Half>, Half, true>(table, "fma.rn.oob", kFirstTarget);
  AddBoth<FmaInBounds<Clamp::kRelu, Half>, Half, true>(table, "fma.rn.oob.relu", kFirstTarget);
}
template <typename Half, bool kFtz>
void AddFlushing(OperationTable& table) {
  AddArithmetic<Half, kFtz, Clamp::kNone>(table);
  AddArithmetic<Half, kFtz, Clamp::kRelu>(table);
  AddExtremes<Half, kFtz, false, false>(table);
  AddExtremes<Half, kFtz, false, true>(table);
  AddExtremes<Half, kFtz, true, false>(table);
  AddExtremes<Half, kFtz, true, true>(table);
  AddBoth<Abs<kFtz, Half>, Half, kFtz>(table, kFtz ? "abs.ftz" : "abs");
  AddBoth<Neg<kFtz, Half>, Half, kFtz>(table, kFtz ? "neg.ftz" : "neg");
}

}  // namespace

void AddHalfOperations(OperationTable& table) {
  AddOutOfBounds<F16>(table);
  AddOutOfBounds<Bf16>(table);
  AddFlushing<F16, false>(table);
  AddFlushing<F16, true>(table);
  AddFlushing<Bf16, false>(table);
  AddArithmetic<F16, false, Clamp::kSat>(table);
  AddArithmetic<F16, true, Clamp::kSat>(table);
}

}  // namespace twinmmu::ptx
