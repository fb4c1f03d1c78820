#include "sim/ptx/textures/texels.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "sim/ptx/operations/half.h"
#include "sim/ptx/operations/lane_types.h"

namespace twinmmu::ptx {

bool GivesFloats(const Texture& texture) {
  switch (texture.image.format) {
    case ArrayFormat::kHalf:
    case ArrayFormat::kFloat:
      return true;
    case ArrayFormat::kUint32:
    case ArrayFormat::kInt32:
      return false;
    default:
      return !texture.sampling.as_integers;
  }
}

namespace {

constexpr float kSrgbScale = 65536;
constexpr uint16_t kSrgbValues[] = {
#include "sim/ptx/textures/srgb_values.inc"
};
static_assert(sizeof kSrgbValues == 2 * 255);

// How texels are summed up: bit for bit as an H100 (driver 580.159) does it, but for sRGB, which is
// off by up to 1 %, and signed bytes, which are off by up to 1 / 32767.
enum class Arithmetic { kFloat, kHalf, kUnsigned, kSigned };

template <typename T>
T ChannelAt(const char* element, size_t channel) {
  T value = 0;
  if (element != nullptr) std::memcpy(&value, element + channel * sizeof value, sizeof value);
  return value;
}

// What is stored, with its sign.
uint32_t StoredAt(ArrayFormat format, const char* element, size_t channel) {
  switch (format) {
    case ArrayFormat::kUint8:
      return ChannelAt<uint8_t>(element, channel);
    case ArrayFormat::kInt8:
      return static_cast<uint32_t>(ChannelAt<int8_t>(element, channel));
    case ArrayFormat::kUint16:
    case ArrayFormat::kHalf:
      return ChannelAt<uint16_t>(element, channel);
    case ArrayFormat::kInt16:
      return static_cast<uint32_t>(ChannelAt<int16_t>(element, channel));
    case ArrayFormat::kUint32:
    case ArrayFormat::kInt32:
    case ArrayFormat::kFloat:
      break;
  }
  return ChannelAt<uint32_t>(element, channel);
}

// The fourth channel is no colour.
bool IsSrgb(const Texture& texture, size_t channel) {
  return texture.sampling.srgb && texture.image.format == ArrayFormat::kUint8 && channel < 3;
}

float SrgbOf(uint32_t stored) {
  return stored == 255 ? 1.0f : static_cast<float>(kSrgbValues[stored]) / kSrgbScale;
}

Arithmetic ArithmeticOf(const Texture& texture, size_t channel) {
  if (IsSrgb(texture, channel)) return Arithmetic::kHalf;
  switch (texture.image.format) {
    case ArrayFormat::kUint8:
    case ArrayFormat::kUint16:
      return Arithmetic::kUnsigned;
    case ArrayFormat::kInt8:
    case ArrayFormat::kInt16:
      return Arithmetic::kSigned;
    case ArrayFormat::kHalf:
      return Arithmetic::kHalf;
    default:
      return Arithmetic::kFloat;
  }
}

float FloatOf(const Texture& texture, uint32_t stored, size_t channel) {
  if (IsSrgb(texture, channel)) return SrgbOf(stored);
  const auto fraction = [&](float largest) {
    return std::max(static_cast<float>(static_cast<int32_t>(stored)) / largest, -1.0f);
  };
  switch (texture.image.format) {
    case ArrayFormat::kUint8:
      return fraction(255);
    case ArrayFormat::kInt8:
      return fraction(127);
    case ArrayFormat::kUint16:
      return fraction(65535);
    case ArrayFormat::kInt16:
      return fraction(32767);
    case ArrayFormat::kHalf:
      return FloatOfHalf(static_cast<uint16_t>(stored));
    case ArrayFormat::kUint32:
    case ArrayFormat::kInt32:
    case ArrayFormat::kFloat:
      break;
  }
  return BitCast<float>(stored);
}

// A border as the format stores it; integers take its bits.
uint32_t BorderOf(const Texture& texture, size_t channel) {
  const float border = texture.sampling.border[channel];
  const auto fraction = [&](float least, float largest) {
    const float clamped = std::isnan(border) ? 0 : std::clamp(border, least, 1.0f);
    return static_cast<uint32_t>(static_cast<int32_t>(clamped * largest));
  };
  const bool floats = GivesFloats(texture);
  const uint32_t bits = BitsOf(border);
  switch (texture.image.format) {
    case ArrayFormat::kUint8:
      return floats ? fraction(0, 255) : static_cast<uint8_t>(bits);
    case ArrayFormat::kInt8:
      return floats ? fraction(-1, 127) : static_cast<uint32_t>(static_cast<int8_t>(bits));
    case ArrayFormat::kUint16:
      return floats ? fraction(0, 65535) : static_cast<uint16_t>(bits);
    case ArrayFormat::kInt16:
      return floats ? fraction(-1, 32767) : static_cast<uint32_t>(static_cast<int16_t>(bits));
    case ArrayFormat::kHalf:
      return HalfOf(border);
    case ArrayFormat::kUint32:
    case ArrayFormat::kInt32:
    case ArrayFormat::kFloat:
      break;
  }
  return bits;
}

float UnitsOf(const Texture& texture, uint32_t stored, size_t channel) {
  const float value = static_cast<float>(static_cast<int32_t>(stored));
  switch (texture.image.format) {
    case ArrayFormat::kUint8:
      return IsSrgb(texture, channel) ? SrgbOf(stored) : value * 257;
    case ArrayFormat::kInt8:
      return std::nearbyint(value * 32767 / 127);
    case ArrayFormat::kUint16:
    case ArrayFormat::kInt16:
      return value;
    default:
      return FloatOf(texture, stored, channel);
  }
}

// sum * 2^exponent, rounded to `bits` of mantissa and a multiple of 2^unit, halves away from zero.
// What is below 2^least is zero.
float Rounded(int64_t sum, int exponent, int bits, int unit, int least) {
  uint64_t magnitude = static_cast<uint64_t>(std::llabs(sum));
  const int length = magnitude == 0 ? 0 : 64 - __builtin_clzll(magnitude);
  const int extra = std::max(length - bits, unit - exponent);
  if (extra > 0) {
    magnitude = (magnitude + (uint64_t{1} << (extra - 1))) >> extra;
    exponent += extra;
  }
  const double value = std::ldexp(static_cast<double>(magnitude), exponent);
  if (value < std::ldexp(1.0, least)) return sum < 0 ? -0.0f : 0.0f;
  const float rounded = value > 3.4028234663852886e38 ? HUGE_VALF : static_cast<float>(value);
  return sum < 0 ? -rounded : rounded;
}

// Mantissas of 24 bits are aligned to the largest exponent: 4 bits behind theirs stay.
float SumOfFloats(const TexelSum& sum, size_t channel) {
  constexpr int kMantissa = 24;
  constexpr int kGuard = 4;
  constexpr uint32_t kNan = 0x7fffffff;
  constexpr int kLeast = -126;
  int largest = -200;
  float infinite = 0;
  bool negative = true;
  const auto exponent_of = [](float value) {
    return std::fabs(value) < std::ldexp(1.0f, kLeast) ? -200 : std::ilogb(value);
  };
  for (size_t i = 0; i < sum.count; ++i) {
    if (sum.weights[i] == 0) continue;
    const float value = sum.texels[i][channel];
    if (!std::isfinite(value)) {
      infinite += value;
    } else {
      largest = std::max(largest, exponent_of(value));
    }
    negative = negative && std::signbit(value);
  }
  if (std::isnan(infinite)) return BitCast<float>(kNan);
  if (infinite != 0) return infinite;
  if (largest == -200) return negative ? -0.0f : 0.0f;
  const int unit = largest - (kMantissa - 1) - kGuard;
  int64_t total = 0;
  for (size_t i = 0; i < sum.count; ++i) {
    const float value = sum.texels[i][channel];
    if (sum.weights[i] == 0 || exponent_of(value) == -200) continue;
    total += static_cast<int64_t>(std::ldexp(static_cast<double>(value), -unit)) * sum.weights[i];
  }
  return Rounded(total, unit - 8, kMantissa, -149, kLeast);
}

// Half-precision numbers are multiples of 2^-24: their sum is exact, and then one of them again.
float SumOfHalves(const TexelSum& sum, size_t channel) {
  constexpr int kUnit = -24;
  constexpr int kMantissa = 11;
  int64_t total = 0;
  float others = 0;
  for (size_t i = 0; i < sum.count; ++i) {
    const float value = sum.texels[i][channel];
    if (sum.weights[i] == 0) continue;
    if (std::isfinite(value)) {
      total += static_cast<int64_t>(std::ldexp(value, -kUnit)) * sum.weights[i];
    } else {
      others += value;
    }
  }
  if (std::isnan(others)) return BitCast<float>(uint32_t{0x7fffffff});
  return others != 0 ? others : Rounded(total, kUnit - 8, kMantissa, kUnit, kUnit);
}

float SumOfIntegers(const TexelSum& sum, size_t channel, float largest) {
  int64_t total = TexelSum::kWhole / 2;
  for (size_t i = 0; i < sum.count; ++i) {
    total += static_cast<int64_t>(sum.texels[i][channel]) * sum.weights[i];
  }
  return std::max(static_cast<float>(total >> 8) / largest, -1.0f);
}

float ValueOf(Arithmetic arithmetic, const TexelSum& sum, size_t channel) {
  switch (arithmetic) {
    case Arithmetic::kHalf:
      return SumOfHalves(sum, channel);
    case Arithmetic::kUnsigned:
      return SumOfIntegers(sum, channel, 65535);
    case Arithmetic::kSigned:
      return SumOfIntegers(sum, channel, 32767);
    case Arithmetic::kFloat:
      break;
  }
  return SumOfFloats(sum, channel);
}

}  // namespace

TexelWords WordsOf(const Texture& texture, const char* element) {
  TexelWords words = {};
  const bool floats = GivesFloats(texture);
  for (size_t i = 0; i < texture.image.channels; ++i) {
    words[i] = StoredAt(texture.image.format, element, i);
    if (floats) words[i] = BitsOf(FloatOf(texture, words[i], i));
  }
  return words;
}

TexelWords BorderWordsOf(const Texture& texture) {
  TexelWords words = {};
  const bool floats = GivesFloats(texture);
  for (size_t i = 0; i < texture.image.channels; ++i) {
    words[i] = BorderOf(texture, i);
    if (floats) words[i] = BitsOf(FloatOf(texture, words[i], i));
  }
  return words;
}

TexelFloats UnitsOf(const Texture& texture, const char* element) {
  TexelFloats units = {};
  for (size_t i = 0; i < texture.image.channels; ++i) {
    units[i] = UnitsOf(texture, StoredAt(texture.image.format, element, i), i);
  }
  return units;
}

TexelFloats BorderUnitsOf(const Texture& texture) {
  TexelFloats units = {};
  for (size_t i = 0; i < texture.image.channels; ++i) {
    units[i] = UnitsOf(texture, BorderOf(texture, i), i);
  }
  return units;
}

TexelWords ValuesOf(const Texture& texture, const TexelSum& sum) {
  TexelWords words = {};
  for (size_t i = 0; i < texture.image.channels; ++i) {
    words[i] = BitsOf(ValueOf(ArithmeticOf(texture, i), sum, i));
  }
  return words;
}

}  // namespace twinmmu::ptx
