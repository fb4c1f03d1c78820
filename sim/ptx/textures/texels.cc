#include "sim/ptx/textures/texels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "sim/ptx/operations/half.h"
#include "sim/ptx/operations/lane_types.h"
#include "sim/ptx/textures/channels.h"

namespace twinmmu::ptx {

bool GivesFloats(const Texture& texture) {
  const Channel channel = ChannelOf(texture.image.format, 0);
  if (!channel.is_integer() || channel.normalised) return true;
  return channel.bits < 32 && !texture.sampling.as_integers;
}

namespace {

constexpr float kSrgbScale = 65536;
constexpr uint32_t kSrgbOne = 65536;
constexpr uint16_t kSrgbValues[] = {
#include "sim/ptx/textures/srgb_values.inc"
};
static_assert(sizeof kSrgbValues == 2 * 255);

// How texels are summed up: bit for bit as an H200 (driver 580.159) does it.
enum class Arithmetic { kFloat, kHalf, kSrgb, kInteger, kFraction, kSignedByte };

// The last of two or four channels is no colour.
bool IsSrgb(const Texture& texture, size_t channel) {
  if (!texture.sampling.srgb) return false;
  const Channel type = ChannelOf(texture.image.format, channel);
  const size_t colours = texture.image.channels == 4 ? 3 : 1;
  return GivesFloats(texture) && type.kind == Channel::kUnsigned && type.bits == 8 &&
         channel < colours;
}

uint32_t SrgbOf(uint32_t stored) { return stored == 255 ? kSrgbOne : kSrgbValues[stored]; }

Arithmetic ArithmeticOf(const Texture& texture, size_t channel) {
  if (IsSrgb(texture, channel)) return Arithmetic::kSrgb;
  const Channel type = ChannelOf(texture.image.format, channel);
  if (type.kind == Channel::kHalf) return Arithmetic::kHalf;
  if (type.kind == Channel::kFloat) return Arithmetic::kFloat;
  if (!GivesFloats(texture)) return Arithmetic::kInteger;
  const bool is_signed_byte = type.kind == Channel::kSigned && type.bits == 8;
  return is_signed_byte ? Arithmetic::kSignedByte : Arithmetic::kFraction;
}

float FloatOf(const Texture& texture, uint32_t stored, size_t channel) {
  if (IsSrgb(texture, channel)) return static_cast<float>(SrgbOf(stored)) / kSrgbScale;
  const Channel type = ChannelOf(texture.image.format, channel);
  if (type.kind == Channel::kHalf) return FloatOfHalf(static_cast<uint16_t>(stored));
  if (type.kind == Channel::kFloat) return BitCast<float>(stored);
  const float value = static_cast<float>(static_cast<int32_t>(stored));
  return std::max(value / static_cast<float>(type.largest()), -1.0f);
}

// The nearest that stands for the value.
uint32_t SrgbStored(float value) {
  const double inside = std::isnan(value) ? 0 : std::clamp(static_cast<double>(value), 0.0, 1.0);
  const double curved =
      inside <= 0.0031308 ? 12.92 * inside : 1.055 * std::pow(inside, 1 / 2.4) - 0.055;
  return static_cast<uint32_t>(std::lround(curved * 255));
}

// A border as the format stores it; integers take its bits.
uint32_t BorderOf(const Texture& texture, size_t channel) {
  const float border = texture.sampling.border[channel];
  const Channel type = ChannelOf(texture.image.format, channel);
  if (type.kind == Channel::kHalf) return StoredRegister(type, BitsOf(border));
  if (!type.is_integer() || type.bits == 32) return BitsOf(border);
  if (IsSrgb(texture, channel)) return SrgbStored(border);
  if (GivesFloats(texture)) return StoredFraction(type, border);
  const uint32_t bits = BitsOf(border);
  char element[sizeof(bits)];
  std::memcpy(element, &bits, sizeof(bits));
  return StoredAt(texture.image.format, element, 0);
}

// Of a texel, for sums: what it stores, but fractions of unsigned integers have 16 bits.
double UnitOf(const Texture& texture, uint32_t stored, size_t channel) {
  const Channel type = ChannelOf(texture.image.format, channel);
  if (!type.is_integer()) return static_cast<double>(FloatOf(texture, stored, channel));
  if (type.kind == Channel::kSigned) return static_cast<int32_t>(stored);
  if (ArithmeticOf(texture, channel) != Arithmetic::kFraction) return stored;
  int bits = type.bits;
  uint32_t wide = stored;
  for (; bits < 16; bits *= 2) wide = wide << bits | wide;
  return wide >> (bits - 16);
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
    const float value = static_cast<float>(sum.texels[i][channel]);
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
    const float value = static_cast<float>(sum.texels[i][channel]);
    if (sum.weights[i] == 0 || exponent_of(value) == -200) continue;
    total += static_cast<int64_t>(std::ldexp(static_cast<double>(value), -unit)) * sum.weights[i];
  }
  return Rounded(total, unit - 8, kMantissa, -149, kLeast);
}

// Slice by slice: values are cut off at the largest unit of the slice. The unit of a value is told
// as a power of two.
template <typename Value, typename Unit>
int64_t SumOfSlices(const TexelSum& sum, const Value& value, const Unit& unit_of) {
  std::array<int, std::tuple_size_v<decltype(sum.slices)>> units = {};
  for (size_t i = 0; i < sum.count; ++i) {
    int& unit = units[static_cast<size_t>(sum.slices[i])];
    if (sum.weights[i] != 0) unit = std::max(unit, unit_of(i));
  }
  int64_t total = 0;
  for (size_t i = 0; i < sum.count; ++i) {
    const int64_t unit = int64_t{1} << units[static_cast<size_t>(sum.slices[i])];
    total += value(i) / unit * unit * sum.weights[i];
  }
  return total;
}

// Mantissas of 11 bits: 4 bits behind those of the largest stay. Of 4,096 sums of two slices three
// differ from those of an H200, in the last bit.
float SumOfHalves(const TexelSum& sum, size_t channel) {
  constexpr int kUnit = -24;
  constexpr int kMantissa = 11;
  constexpr int kGuard = 4;
  float others = 0;
  for (size_t i = 0; i < sum.count; ++i) {
    const float value = static_cast<float>(sum.texels[i][channel]);
    if (sum.weights[i] != 0 && !std::isfinite(value)) others += value;
  }
  if (std::isnan(others)) return BitCast<float>(uint32_t{0x7fffffff});
  if (others != 0) return others;
  const auto value = [&](size_t i) {
    return static_cast<int64_t>(std::ldexp(sum.texels[i][channel], -kUnit));
  };
  const auto unit_of = [&](size_t i) {
    const double half = sum.texels[i][channel];
    return half == 0 ? 0 : std::ilogb(half) - (kMantissa - 1) - kGuard - kUnit;
  };
  return Rounded(SumOfSlices(sum, value, unit_of), kUnit - 8, kMantissa, kUnit, kUnit);
}

// 8 bits of a mantissa count. Values of the same eight share the exponent of the largest.
float SumOfSrgb(const TexelSum& sum, size_t channel) {
  constexpr int kUnit = -24;  // 16 bits of a value, and 8 of its weight
  constexpr int kMantissa = 11;
  const auto stored = [&](size_t i) { return static_cast<uint32_t>(sum.texels[i][channel]); };
  const auto value = [&](size_t i) { return int64_t{SrgbOf(stored(i))}; };
  const auto unit_of = [&](size_t i) { return 31 - __builtin_clz(SrgbOf(stored(i) | 7)) - 7; };
  return Rounded(SumOfSlices(sum, value, unit_of), kUnit, kMantissa, kUnit, kUnit);
}

int64_t SumOfUnits(const TexelSum& sum, size_t channel) {
  int64_t total = 0;
  for (size_t i = 0; i < sum.count; ++i) {
    total += static_cast<int64_t>(sum.texels[i][channel]) * sum.weights[i];
  }
  return total;
}

// Rounded, but integers of 32 bits down.
uint32_t SumOfIntegers(const TexelSum& sum, size_t channel, int bits) {
  const int64_t half = bits == 32 ? 0 : TexelSum::kWhole / 2;
  return static_cast<uint32_t>((SumOfUnits(sum, channel) + half) >> 8);
}

float SumOfFractions(const TexelSum& sum, size_t channel, bool is_signed) {
  const int64_t total = (SumOfUnits(sum, channel) + TexelSum::kWhole / 2) >> 8;
  return std::max(static_cast<float>(total) / (is_signed ? 32767.0f : 65535.0f), -1.0f);
}

// The sum of 127 has to become 32767: it is times 1 + 1/128 + 1/32768, whose small part is rounded.
float SumOfSignedBytes(const TexelSum& sum, size_t channel) {
  const int64_t total = SumOfUnits(sum, channel);
  const int64_t more = ((total >> 4) * 257 + 1024) >> 11;
  return std::max(static_cast<float>(total + more) / 32767, -1.0f);
}

uint32_t ValueOf(const Texture& texture, const TexelSum& sum, size_t channel) {
  const Channel type = ChannelOf(texture.image.format, channel);
  switch (ArithmeticOf(texture, channel)) {
    case Arithmetic::kInteger:
      return SumOfIntegers(sum, channel, type.bits);
    case Arithmetic::kHalf:
      return BitsOf(SumOfHalves(sum, channel));
    case Arithmetic::kSrgb:
      return BitsOf(SumOfSrgb(sum, channel));
    case Arithmetic::kFraction:
      return BitsOf(SumOfFractions(sum, channel, type.kind == Channel::kSigned));
    case Arithmetic::kSignedByte:
      return BitsOf(SumOfSignedBytes(sum, channel));
    case Arithmetic::kFloat:
      break;
  }
  return BitsOf(SumOfFloats(sum, channel));
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

TexelUnits UnitsOf(const Texture& texture, const char* element) {
  TexelUnits units = {};
  for (size_t i = 0; i < texture.image.channels; ++i) {
    units[i] = UnitOf(texture, StoredAt(texture.image.format, element, i), i);
  }
  return units;
}

TexelUnits BorderUnitsOf(const Texture& texture) {
  constexpr Channel kWide = {Channel::kUnsigned, 16, true};
  const bool is_packed = texture.image.format == ArrayFormat::kPacked;
  TexelUnits units = {};
  for (size_t i = 0; i < texture.image.channels; ++i) {
    units[i] = is_packed ? StoredFraction(kWide, texture.sampling.border[i])
                         : UnitOf(texture, BorderOf(texture, i), i);
  }
  return units;
}

TexelWords ValuesOf(const Texture& texture, const TexelSum& sum) {
  TexelWords words = {};
  for (size_t i = 0; i < texture.image.channels; ++i) words[i] = ValueOf(texture, sum, i);
  return words;
}

}  // namespace twinmmu::ptx
