#include "conformance/ptx/arithmetic_bounds.h"

#include <cmath>

#include "absl/strings/match.h"
#include "sim/ptx/operations/float_math.h"

namespace twinmmu::conformance {
namespace {

using ptx::Type;

struct Bound {
  absl::string_view opcode;
  double relative;
  double absolute;
};
// Twice what PTX gives for f32, as both results may be off.
constexpr Bound kF32Bounds[] = {
    {"div", 0x1p-21, 0},       {"rcp", 0x1p-22, 0}, {"sqrt", 0x1p-21, 0},
    {"rsqrt", 0x1p-21, 0},     {"sin", 0, 0x1p-19}, {"cos", 0, 0x1p-19},
    {"lg2", 0x1p-21, 0x1p-21}, {"ex2", 0x1p-21, 0}, {"tanh", 0x1p-10, 0},
};

double Value(Type type, uint64_t bits) {
  switch (type) {
    case Type::kF64:
      return ptx::BitCast<double>(bits);
    case Type::kF32:
      return ptx::BitCast<float>(static_cast<uint32_t>(bits));
    case Type::kF16:
      return ptx::ToDouble(ptx::F16{static_cast<uint16_t>(bits)});
    default:
      return ptx::ToDouble(ptx::Bf16{static_cast<uint16_t>(bits)});
  }
}
double RelativeError(Type type, double of_f32) {
  switch (type) {
    case Type::kF64:
      return 0x1p-19;  // of the upper half
    case Type::kF32:
      return of_f32;
    case Type::kF16:
      return 0x1p-8;
    default:
      return 0x1p-6;
  }
}
double SmallestStep(Type type) {
  switch (type) {
    case Type::kF64:
      return 0;
    case Type::kF32:
      return 0x1p-149;
    case Type::kF16:
      return 0x1p-24;
    default:
      return 0x1p-133;
  }
}

}  // namespace

bool AreNear(absl::string_view form, Type type, uint64_t input, uint64_t a, uint64_t b) {
  if (type == Type::kF16x2 || type == Type::kBf16x2) {
    const Type half = type == Type::kF16x2 ? Type::kF16 : Type::kBf16;
    return AreNear(form, half, input & 0xffff, a & 0xffff, b & 0xffff) &&
           AreNear(form, half, input >> 16, a >> 16, b >> 16);
  }
  if (a == b) return true;
  const double x = Value(type, a), y = Value(type, b);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  const bool turns = absl::StartsWith(form, "sin") || absl::StartsWith(form, "cos");
  // PTX bounds the error of an angle of one turn only.
  if (turns && std::fabs(Value(type, input)) > 6.3) return std::fabs(x) <= 1 && std::fabs(y) <= 1;
  if (std::isinf(x) || std::isinf(y)) return false;
  const absl::string_view opcode = form.substr(0, form.find('.'));
  for (const Bound& bound : kF32Bounds) {
    if (bound.opcode != opcode) continue;
    const double difference = std::fabs(x - y);
    return difference <= bound.absolute ||
           difference <= RelativeError(type, bound.relative) * std::fabs(y) + SmallestStep(type);
  }
  return false;
}

}  // namespace twinmmu::conformance
