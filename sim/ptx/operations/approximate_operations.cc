// The functions of which PTX bounds only the error: .approx and .full. They are computed in f64 and
// rounded, which is nearer than hardware comes; the special cases are those of PTX.

#include <cmath>
#include <string>

#include "sim/ptx/operations/float_math.h"
#include "sim/ptx/operations/operation_table.h"

namespace twinmmu::ptx {
namespace {

template <bool kFtz>
float Finish(double x) {
  const float result = static_cast<float>(x);
  return IsNan(result) ? CanonicalNan() : Flush<kFtz>(result);
}

template <double (*kFunction)(double), bool kFtz>
float OfF32(float a) {
  return Finish<kFtz>(kFunction(Flush<kFtz>(a)));
}
double Reciprocal(double a) { return 1 / a; }
double SquareRoot(double a) { return std::sqrt(a); }
double ReciprocalRoot(double a) { return 1 / std::sqrt(a); }
double Sine(double a) { return std::sin(a); }
double Cosine(double a) { return std::cos(a); }
double Logarithm(double a) { return std::log2(a); }
double Power(double a) { return std::exp2(a); }
double Tangent(double a) { return std::tanh(a); }

template <bool kFtz>
float DivFull(float a, float b) {
  return Finish<kFtz>(static_cast<double>(Flush<kFtz>(a)) / Flush<kFtz>(b));
}
// a times 1 / b, which is 0 for the largest of b.
template <bool kFtz>
float DivApprox(float a, float b) {
  if (std::fabs(b) > 0x1p126F && !std::isinf(b)) return Finish<kFtz>(a * std::copysign(0.0, b));
  return DivFull<kFtz>(a, b);
}

// Of f64, hardware looks at the upper half of the bits, and gives the upper half.
template <double (*kFunction)(double)>
double UpperHalf(double a) {
  const double upper = BitCast<double>(BitsOf(a) >> 32 << 32);
  const double result = kFunction(FlushSubnormal(upper));
  if (IsNan(result)) return BitCast<double>(uint64_t{0x7fffffff} << 32);
  return FlushSubnormal(BitCast<double>(BitsOf(result) >> 32 << 32));
}

template <typename Half, double (*kFunction)(double), bool kFtz>
Half OfHalf(Half a) {
  // Only bf16 has .ftz, and its subnormals are those of f32.
  const float x = static_cast<float>(ToDouble(a));
  const double result = kFunction(Flush<kFtz>(x));
  return RoundToHalf<Half>(kFtz ? Flush<kFtz>(static_cast<float>(result)) : result);
}
template <typename Pair, typename Half, Half (*kFunction)(Half)>
Pair OfPair(Pair a) {
  const Half low = kFunction({static_cast<uint16_t>(a.bits)});
  const Half high = kFunction({static_cast<uint16_t>(a.bits >> 16)});
  return {static_cast<uint32_t>(high.bits) << 16 | low.bits};
}

template <double (*kFunction)(double)>
void AddF32(OperationTable& table, const std::string& opcode) {
  table.MapApproximate<OfF32<kFunction, false>>(opcode + ".approx.f32");
  table.MapApproximate<OfF32<kFunction, true>>(opcode + ".approx.ftz.f32");
}
template <double (*kFunction)(double), bool kFtz>
void AddHalves(OperationTable& table, const std::string& opcode) {
  table.MapApproximate<OfHalf<F16, kFunction, false>>(opcode + ".approx.f16");
  table.MapApproximate<OfPair<F16x2, F16, OfHalf<F16, kFunction, false>>>(opcode + ".approx.f16x2");
  const std::string approx = opcode + (kFtz ? ".approx.ftz" : ".approx");
  table.MapApproximate<OfHalf<Bf16, kFunction, kFtz>>(approx + ".bf16");
  table.MapApproximate<OfPair<Bf16x2, Bf16, OfHalf<Bf16, kFunction, kFtz>>>(approx + ".bf16x2");
}

}  // namespace

void AddApproximateOperations(OperationTable& table) {
  AddF32<Reciprocal>(table, "rcp");
  AddF32<SquareRoot>(table, "sqrt");
  AddF32<ReciprocalRoot>(table, "rsqrt");
  AddF32<Sine>(table, "sin");
  AddF32<Cosine>(table, "cos");
  AddF32<Logarithm>(table, "lg2");
  AddF32<Power>(table, "ex2");
  table.MapApproximate<OfF32<Tangent, false>>("tanh.approx.f32");
  table.MapApproximate<DivFull<false>>("div.full.f32");
  table.MapApproximate<DivFull<true>>("div.full.ftz.f32");
  table.MapApproximate<DivApprox<false>>("div.approx.f32");
  table.MapApproximate<DivApprox<true>>("div.approx.ftz.f32");
  table.MapApproximate<UpperHalf<Reciprocal>>("rcp.approx.ftz.f64");
  table.MapApproximate<UpperHalf<ReciprocalRoot>>("rsqrt.approx.ftz.f64");
  table.MapApproximate<ReciprocalRoot>("rsqrt.approx.f64");
  AddHalves<Power, true>(table, "ex2");
  AddHalves<Tangent, false>(table, "tanh");
}

}  // namespace twinmmu::ptx
