// Arithmetic of f32 and f64 that is rounded as IEEE 754 says, and min, max, abs, neg, copysign.

#include <cmath>
#include <string>

#include "sim/ptx/operations/float_math.h"
#include "sim/ptx/operations/operation_table.h"

namespace twinmmu::ptx {
namespace {

// --- f32 -----------------------------------------------------------------------------------------

template <bool kSat>
float Finish(float x) {
  if (IsNan(x)) x = CanonicalNan();
  return kSat ? Saturate(x) : x;
}
// `exact` rounded, where that is the exact result, or it to odd.
template <Round kRound, bool kFtz, bool kSat>
float FinishExact(double exact) {
  if (kFtz && IsTiny<kRound>(exact)) exact = std::copysign(0, exact);
  return Finish<kSat>(RoundToFloat<kRound>(exact));
}
// The sum of what is exact in f64, rounded to odd. In .rm, what cancels is -0.
template <Round kRound>
double Sum(double a, double b) {
  const double sum = AddToOdd(a, b);
  if (kRound == Round::kDown && sum == 0 && SignBit(a) != SignBit(b)) return -0.0;
  return sum;
}

template <Round kRound, bool kFtz, bool kSat>
struct F32 {
  static float Add(float a, float b) {
    a = Flush<kFtz>(a);
    b = Flush<kFtz>(b);
    if constexpr (kRound == Round::kNearest) return Finish<kSat>(Flush<kFtz>(a + b));
    return FinishExact<kRound, kFtz, kSat>(Sum<kRound>(a, b));
  }
  static float Sub(float a, float b) { return Add(a, -b); }
  static float Mul(float a, float b) {
    a = Flush<kFtz>(a);
    b = Flush<kFtz>(b);
    if constexpr (kRound == Round::kNearest && !kFtz) return Finish<kSat>(a * b);
    return FinishExact<kRound, kFtz, kSat>(static_cast<double>(a) * b);
  }
  static float Fma(float a, float b, float c) {
    const double product = static_cast<double>(Flush<kFtz>(a)) * Flush<kFtz>(b);
    return FinishExact<kRound, kFtz, kSat>(Sum<kRound>(product, Flush<kFtz>(c)));
  }
  static float Div(float a, float b) {
    a = Flush<kFtz>(a);
    b = Flush<kFtz>(b);
    const float quotient = WithRounding<kRound>([](float x, float y) { return x / y; }, a, b);
    // What is tiny is normal when it is scaled, and is rounded to as many bits as that.
    const bool tiny = std::fabs(quotient) <= 0x1p-126F &&
                      std::fabs(WithRounding<kRound>([](float x, float y) { return x / y; },
                                                     a * 0x1p64F, b)) < 0x1p-62F;
    return Finish<false>(kFtz && tiny ? std::copysign(0.0F, quotient) : quotient);
  }
  static float Rcp(float a) { return Div(1, a); }
  static float Sqrt(float a) {
    return Finish<false>(
        WithRounding<kRound>([](float x) { return std::sqrt(x); }, Flush<kFtz>(a)));
  }
};

// --- f64 -----------------------------------------------------------------------------------------

// A NaN that comes in goes out, quiet. Of several, it is the last one, but for division.
inline double LastNan(double result, double a, double b) {
  return IsNan(b) ? QuietNan(b) : IsNan(a) ? QuietNan(a) : result;
}

template <Round kRound>
struct F64 {
  static double Add(double a, double b) {
    return LastNan(WithRounding<kRound>([](double x, double y) { return x + y; }, a, b), a, b);
  }
  static double Sub(double a, double b) {
    return LastNan(WithRounding<kRound>([](double x, double y) { return x - y; }, a, b), a, b);
  }
  static double Mul(double a, double b) {
    return LastNan(WithRounding<kRound>([](double x, double y) { return x * y; }, a, b), a, b);
  }
  static double Fma(double a, double b, double c) {
    const double result = WithRounding<kRound>(
        [](double x, double y, double z) { return std::fma(x, y, z); }, a, b, c);
    return IsNan(c) ? QuietNan(c) : LastNan(result, a, b);
  }
  static double Div(double a, double b) {
    return LastNan(WithRounding<kRound>([](double x, double y) { return x / y; }, a, b), b, a);
  }
  static double Rcp(double a) { return Div(1, a); }
  static double Sqrt(double a) {
    return WithRounding<kRound>([](double x) { return std::sqrt(x); }, a);
  }
};

// --- fma by the host
// ------------------------------------------------------------------------------

template <bool kFtz, bool kSat>
float HostFma(float a, float b, float c) {
  const float result = std::fma(Flush<kFtz>(a), Flush<kFtz>(b), Flush<kFtz>(c));
  // It may have been tiny before it was rounded.
  if (kFtz && std::fabs(result) == 0x1p-126F) return F32<Round::kNearest, true, kSat>::Fma(a, b, c);
  return Finish<kSat>(Flush<kFtz>(result));
}
// What kPortable computes, by kHost where the host's processor has the instruction.
template <auto kPortable, auto kHost>
void MapFma(OperationTable& table, const std::string& form) {
  if (VectorsOfHost() == HostVectors::kBasic) return table.Map<kPortable>(form);
  table.Map<kHost>(form);
}

// --- min, max, abs, neg, copysign ----------------------------------------------------------------

// -0 is less than +0. A NaN loses, or with .NaN wins, against a number.
template <typename T, bool kMax, bool kNan>
T Extreme(T a, T b) {
  if (IsNan(a)) return kNan ? a : b;
  if (IsNan(b)) return kNan ? b : a;
  if (a == b) return SignBit(a) == kMax ? b : a;
  return (a < b) == kMax ? b : a;
}
template <bool kMax, bool kFtz, bool kNan, bool kXorSign>
float ExtremeF32(float a, float b) {
  a = Flush<kFtz>(a);
  b = Flush<kFtz>(b);
  const uint32_t sign = (BitsOf(a) ^ BitsOf(b)) & 0x80000000;
  if (kXorSign) {
    a = std::fabs(a);
    b = std::fabs(b);
  }
  const float result = Extreme<float, kMax, kNan>(a, b);
  if (IsNan(result)) return CanonicalNan();
  return kXorSign ? BitCast<float>(BitsOf(result) | sign) : result;
}
template <bool kMax>
double ExtremeF64(double a, double b) {
  const double result = Extreme<double, kMax, false>(a, b);
  return IsNan(result) ? QuietNan(result) : result;
}

template <bool kFtz>
float AbsF32(float a) {
  return IsNan(a) ? CanonicalNan() : BitCast<float>(BitsOf(Flush<kFtz>(a)) & 0x7fffffff);
}
template <bool kFtz>
float NegF32(float a) {
  return IsNan(a) ? CanonicalNan() : BitCast<float>(BitsOf(Flush<kFtz>(a)) ^ 0x80000000);
}
double AbsF64(double a) { return IsNan(a) ? QuietNan(a) : std::fabs(a); }
double NegF64(double a) { return IsNan(a) ? QuietNan(a) : -a; }
// The second operand with the sign of the first.
float CopysignF32(float a, float b) { return std::copysign(b, a); }
double CopysignF64(double a, double b) { return std::copysign(b, a); }

// --- f32x2 ---------------------------------------------------------------------------------------

// What kFunction does to the lower halves, and to the upper ones.
template <auto kFunction>
uint64_t BothOfTwo(uint64_t a, uint64_t b) {
  const auto part = [&](int shift) {
    return uint64_t{BitsOf(kFunction(BitCast<float>(static_cast<uint32_t>(a >> shift)),
                                     BitCast<float>(static_cast<uint32_t>(b >> shift))))}
           << shift;
  };
  return part(0) | part(32);
}
template <auto kFunction>
uint64_t BothOfThree(uint64_t a, uint64_t b, uint64_t c) {
  const auto part = [&](int shift) {
    return uint64_t{BitsOf(kFunction(BitCast<float>(static_cast<uint32_t>(a >> shift)),
                                     BitCast<float>(static_cast<uint32_t>(b >> shift)),
                                     BitCast<float>(static_cast<uint32_t>(c >> shift))))}
           << shift;
  };
  return part(0) | part(32);
}
// Of three: .abs is done before.
template <bool kMax, bool kFtz, bool kNan, bool kAbs>
float ExtremeOfThree(float a, float b, float c) {
  const auto as_compared = [](float x) { return kAbs ? std::fabs(x) : x; };
  constexpr auto kExtreme = ExtremeF32<kMax, kFtz, kNan, false>;
  return kExtreme(kExtreme(as_compared(a), as_compared(b)), as_compared(c));
}

// --- The forms -----------------------------------------------------------------------------------

template <Round kRound, bool kFtz, bool kSat>
void AddF32Arithmetic(OperationTable& table) {
  using Ops = F32<kRound, kFtz, kSat>;
  constexpr bool kRare = kRound != Round::kNearest || kSat;
  const std::string suffix = std::string(kFtz ? ".ftz" : "") + (kSat ? ".sat" : "") + ".f32";
  const std::string rounded = SuffixOf(kRound) + suffix;
  table.Map<Ops::Add, kRare>("add" + rounded);
  table.Map<Ops::Sub, kRare>("sub" + rounded);
  table.Map<Ops::Mul, kRare>("mul" + rounded);
  if constexpr (kRound == Round::kNearest) {
    MapFma<Ops::Fma, HostFma<kFtz, kSat>>(table, "fma" + rounded);
    MapFma<Ops::Fma, HostFma<kFtz, kSat>>(table, "mad" + rounded);
    table.Map<Ops::Add, kRare>("add" + suffix);
    table.Map<Ops::Sub, kRare>("sub" + suffix);
    table.Map<Ops::Mul, kRare>("mul" + suffix);
  } else {
    table.Map<Ops::Fma, kRare>("fma" + rounded);
    table.Map<Ops::Fma, kRare>("mad" + rounded);
  }
  if constexpr (!kSat) {
    const std::string pair = std::string(kFtz ? ".ftz" : "") + ".f32x2";
    table.MapLater<BothOfTwo<Ops::Add>, true>("add" + (SuffixOf(kRound) + pair), 100);
    table.MapLater<BothOfTwo<Ops::Sub>, true>("sub" + (SuffixOf(kRound) + pair), 100);
    table.MapLater<BothOfTwo<Ops::Mul>, true>("mul" + (SuffixOf(kRound) + pair), 100);
    table.MapLater<BothOfThree<Ops::Fma>, true>("fma" + (SuffixOf(kRound) + pair), 100);
    if constexpr (kRound == Round::kNearest) {
      table.MapLater<BothOfTwo<Ops::Add>, true>("add" + pair, 100);
      table.MapLater<BothOfTwo<Ops::Sub>, true>("sub" + pair, 100);
      table.MapLater<BothOfTwo<Ops::Mul>, true>("mul" + pair, 100);
    }
    table.Map<Ops::Div, kRare>("div" + rounded);
    table.Map<Ops::Rcp, kRare>("rcp" + rounded);
    table.Map<Ops::Sqrt, kRare>("sqrt" + rounded);
  }
}
template <Round kRound>
void AddRounding(OperationTable& table) {
  AddF32Arithmetic<kRound, false, false>(table);
  AddF32Arithmetic<kRound, false, true>(table);
  AddF32Arithmetic<kRound, true, false>(table);
  AddF32Arithmetic<kRound, true, true>(table);

  using Ops = F64<kRound>;
  constexpr bool kRare = kRound != Round::kNearest;
  const std::string rounded = std::string(SuffixOf(kRound)) + ".f64";
  table.Map<Ops::Add, kRare>("add" + rounded);
  table.Map<Ops::Sub, kRare>("sub" + rounded);
  table.Map<Ops::Mul, kRare>("mul" + rounded);
  MapFma<Ops::Fma, Ops::Fma>(table, "fma" + rounded);
  MapFma<Ops::Fma, Ops::Fma>(table, "mad" + rounded);
  table.Map<Ops::Div, kRare>("div" + rounded);
  table.Map<Ops::Rcp, kRare>("rcp" + rounded);
  table.Map<Ops::Sqrt, kRare>("sqrt" + rounded);
  if constexpr (kRound == Round::kNearest) {
    table.Map<Ops::Add>("add.f64");
    table.Map<Ops::Sub>("sub.f64");
    table.Map<Ops::Mul>("mul.f64");
  }
}

template <bool kFtz, bool kNan, bool kXorSign>
void AddExtremes(OperationTable& table) {
  const std::string suffix = std::string(kFtz ? ".ftz" : "") + (kNan ? ".NaN" : "") +
                             (kXorSign ? ".xorsign.abs" : "") + ".f32";
  table.Map<ExtremeF32<false, kFtz, kNan, kXorSign>, kXorSign>("min" + suffix);
  table.Map<ExtremeF32<true, kFtz, kNan, kXorSign>, kXorSign>("max" + suffix);
}
template <bool kFtz, bool kNan, bool kAbs>
void AddExtremesOfThree(OperationTable& table) {
  const std::string suffix =
      std::string(kFtz ? ".ftz" : "") + (kNan ? ".NaN" : "") + (kAbs ? ".abs" : "") + ".f32";
  table.MapLater<ExtremeOfThree<false, kFtz, kNan, kAbs>, true>("min" + suffix, 100);
  table.MapLater<ExtremeOfThree<true, kFtz, kNan, kAbs>, true>("max" + suffix, 100);
}
template <bool kFtz>
void AddFlushing(OperationTable& table) {
  AddExtremes<kFtz, false, false>(table);
  AddExtremes<kFtz, false, true>(table);
  AddExtremes<kFtz, true, false>(table);
  AddExtremes<kFtz, true, true>(table);
  AddExtremesOfThree<kFtz, false, false>(table);
  AddExtremesOfThree<kFtz, false, true>(table);
  AddExtremesOfThree<kFtz, true, false>(table);
  AddExtremesOfThree<kFtz, true, true>(table);
  table.Map<AbsF32<kFtz>>(kFtz ? "abs.ftz.f32" : "abs.f32");
  table.Map<NegF32<kFtz>>(kFtz ? "neg.ftz.f32" : "neg.f32");
}

}  // namespace

void AddFloatOperations(OperationTable& table) {
  AddRounding<Round::kNearest>(table);
  AddRounding<Round::kZero>(table);
  AddRounding<Round::kDown>(table);
  AddRounding<Round::kUp>(table);
  AddFlushing<false>(table);
  AddFlushing<true>(table);
  table.Map<ExtremeF64<false>>("min.f64");
  table.Map<ExtremeF64<true>>("max.f64");
  table.Map<AbsF64>("abs.f64");
  table.Map<NegF64>("neg.f64");
  table.Map<CopysignF32>("copysign.f32");
  table.Map<CopysignF64>("copysign.f64");
}

}  // namespace twinmmu::ptx
