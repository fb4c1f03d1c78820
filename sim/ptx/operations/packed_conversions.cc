// cvt to and from pairs of the formats of 8 bits.

#include <string>

#include "sim/ptx/operations/float_math.h"
#include "sim/ptx/operations/operation_table.h"

namespace twinmmu::ptx {
namespace {

constexpr const FloatFormat& FormatOf8(E4m3x2) { return kE4m3Format; }
constexpr const FloatFormat& FormatOf8(E5m2x2) { return kE5m2Format; }

template <typename Pair, bool kRelu>
uint32_t Round8(double x) {
  if (kRelu && SignBit(x) && !IsNan(x)) x = 0;
  return RoundTo(FormatOf8(Pair()), x, Round::kNearest, true);
}
// The first operand is the upper half.
template <typename Pair, bool kRelu>
Pair FromFloats(float a, float b) {
  return {static_cast<uint16_t>(Round8<Pair, kRelu>(a) << 8 | Round8<Pair, kRelu>(b))};
}
template <typename Pair, bool kRelu>
Pair FromHalves(F16x2 a) {
  const auto half = [&](int shift) {
    return Round8<Pair, kRelu>(ToDouble(F16{static_cast<uint16_t>(a.bits >> shift)}));
  };
  return {static_cast<uint16_t>(half(16) << 8 | half(0))};
}

double Value8(E4m3x2, uint32_t bits) {
  // The largest exponent is one of numbers too, but for the NaN.
  if ((bits & 0x7f) == kE4m3Format.nan) return std::numeric_limits<double>::quiet_NaN();
  FloatFormat format = kE4m3Format;
  format.infinity = 0x80;
  return ValueOf(format, bits);
}
double Value8(E5m2x2, uint32_t bits) { return ValueOf(kE5m2Format, bits); }

template <typename Pair, bool kRelu>
F16x2 ToHalves(Pair a) {
  const auto half = [&](int shift) -> uint32_t {
    double x = Value8(a, a.bits >> shift & 0xff);
    if (kRelu && SignBit(x) && !IsNan(x)) x = 0;
    return RoundToHalf<F16>(x).bits;
  };
  return {half(8) << 16 | half(0)};
}

template <typename Pair, bool kRelu>
void AddForms(OperationTable& table) {
  const std::string relu = kRelu ? ".relu" : "";
  const std::string pair = std::string(".") + NameOf(TypeOf<Pair>::value);
  table.Map<FromFloats<Pair, kRelu>>("cvt.rn.satfinite" + relu + pair + ".f32");
  table.Map<FromHalves<Pair, kRelu>>("cvt.rn.satfinite" + relu + pair + ".f16x2");
  table.Map<ToHalves<Pair, kRelu>>("cvt.rn" + relu + ".f16x2" + pair);
}

}  // namespace

void AddPackedConversions(OperationTable& table) {
  AddForms<E4m3x2, false>(table);
  AddForms<E4m3x2, true>(table);
  AddForms<E5m2x2, false>(table);
  AddForms<E5m2x2, true>(table);
}

}  // namespace twinmmu::ptx
