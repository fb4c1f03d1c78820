// Halves on the host, where compilers may have no type for them.

#ifndef TWINMMU_TOOLS_EXAMPLES_KERNELS_HALF_NUMBERS_H_
#define TWINMMU_TOOLS_EXAMPLES_KERNELS_HALF_NUMBERS_H_

#include <cmath>
#include <cstdint>
#include <vector>

// Of a value that a half holds exactly, and that is no denormal one.
inline uint16_t HalfOf(float value) {
  if (value == 0) return 0;
  int exponent = 0;
  const float fraction = std::frexp(std::fabs(value), &exponent);  // from 0.5
  const auto bits = static_cast<unsigned int>(std::ldexp(fraction, 11)) & 0x3ff;
  return static_cast<uint16_t>((value < 0 ? 0x8000u : 0u) |
                               static_cast<unsigned int>(exponent + 14) << 10 | bits);
}

inline float FloatOf(uint16_t half) {
  const int exponent = half >> 10 & 0x1f;
  const auto fraction = static_cast<float>(half & 0x3ff);
  const float magnitude = exponent == 0    ? std::ldexp(fraction, -24)
                          : exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                                           : std::ldexp(fraction + 1024, exponent - 25);
  return half >> 15 != 0 ? -magnitude : magnitude;
}

inline std::vector<uint16_t> HalvesOf(const std::vector<float>& values) {
  std::vector<uint16_t> halves;
  for (const float value : values) halves.push_back(HalfOf(value));
  return halves;
}

inline std::vector<float> FloatsOf(const std::vector<uint16_t>& halves) {
  std::vector<float> values;
  for (const uint16_t half : halves) values.push_back(FloatOf(half));
  return values;
}

#endif  // TWINMMU_TOOLS_EXAMPLES_KERNELS_HALF_NUMBERS_H_
