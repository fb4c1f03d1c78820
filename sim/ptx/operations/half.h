// Half: the 16-bit floating-point types, as float and back.

#ifndef TWINMMU_SIM_PTX_OPERATIONS_HALF_H_
#define TWINMMU_SIM_PTX_OPERATIONS_HALF_H_

#include <cmath>
#include <cstdint>

#include "sim/ptx/operations/lane_types.h"

namespace twinmmu::ptx {

inline float FloatOfHalf(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  const uint32_t exponent = half >> 10 & 0x1f;
  const uint32_t fraction = half & 0x3ffu;
  if (exponent == 0x1f) return BitCast<float>(sign | 0x7f800000u | fraction << 13);
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                        : BitCast<float>((exponent + 112) << 23 | fraction << 13);
  return sign != 0 ? -magnitude : magnitude;
}

// To the nearest, ties to even.
inline uint16_t HalfOf(float value) {
  const uint32_t bits = BitsOf(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000u) {
    const float scaled = std::ldexp(BitCast<float>(magnitude), 24);
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::nearbyint(scaled)));
  }
  const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112u << 10)));
}

inline float FloatOfBfloat(uint16_t value) { return BitCast<float>(uint32_t{value} << 16); }

// To the nearest, ties to even.
inline uint16_t BfloatOf(float value) {
  const uint32_t bits = BitsOf(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_OPERATIONS_HALF_H_
