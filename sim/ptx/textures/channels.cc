#include "sim/ptx/textures/channels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sim/ptx/operations/half.h"
#include "sim/ptx/operations/lane_types.h"

namespace twinmmu::ptx {
namespace {

constexpr int kPackedBits = 10;

template <typename T>
uint32_t Read(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return static_cast<uint32_t>(value);
}

// Towards zero; what is too large for a half is its largest.
uint16_t HalfTowardsZero(uint32_t word) {
  constexpr uint16_t kLargest = 0x7bff;
  const float value = BitCast<float>(word);
  const uint16_t sign = static_cast<uint16_t>(word >> 16 & 0x8000);
  if (std::isnan(value)) {
    return static_cast<uint16_t>(sign | 0x7c00 | std::max(word >> 13 & 0x3ff, 1u));
  }
  if (std::isinf(value)) return sign | 0x7c00;
  const uint16_t nearest = HalfOf(std::fabs(value));
  if (nearest > kLargest) return sign | kLargest;
  const bool above = FloatOfHalf(nearest) > std::fabs(value);
  return static_cast<uint16_t>(sign | (nearest - (above ? 1 : 0)));
}

}  // namespace

Channel ChannelOf(ArrayFormat format, size_t channel) {
  switch (format) {
    case ArrayFormat::kUint8:
      return {Channel::kUnsigned, 8, false};
    case ArrayFormat::kInt8:
      return {Channel::kSigned, 8, false};
    case ArrayFormat::kUint16:
      return {Channel::kUnsigned, 16, false};
    case ArrayFormat::kInt16:
      return {Channel::kSigned, 16, false};
    case ArrayFormat::kUint32:
      return {Channel::kUnsigned, 32, false};
    case ArrayFormat::kInt32:
      return {Channel::kSigned, 32, false};
    case ArrayFormat::kHalf:
      return {Channel::kHalf, 16, false};
    case ArrayFormat::kFloat:
      return {Channel::kFloat, 32, false};
    case ArrayFormat::kPacked:
      return {Channel::kUnsigned, channel < 3 ? kPackedBits : 2, true};
  }
  Channel normalised = ChannelOf(NormalisedElementOf(format).stored, channel);
  normalised.normalised = true;
  return normalised;
}

uint32_t StoredAt(ArrayFormat format, const char* element, size_t channel) {
  if (element == nullptr) return 0;
  const auto [kind, bits, normalised] = ChannelOf(format, channel);
  if (format == ArrayFormat::kPacked) {
    return Read<uint32_t>(element) >> (kPackedBits * channel) & ((uint32_t{1} << bits) - 1);
  }
  const char* const from = element + channel * static_cast<size_t>(bits / 8);
  const bool is_signed = kind == Channel::kSigned;
  if (bits == 8) return is_signed ? Read<int8_t>(from) : Read<uint8_t>(from);
  if (bits == 16) return is_signed ? Read<int16_t>(from) : Read<uint16_t>(from);
  return Read<uint32_t>(from);
}

void Store(ArrayFormat format, size_t channel, uint32_t stored, char* element) {
  const Channel type = ChannelOf(format, channel);
  if (format != ArrayFormat::kPacked) {
    const size_t bytes = static_cast<size_t>(type.bits / 8);
    std::memcpy(element + channel * bytes, &stored, bytes);
    return;
  }
  const size_t shift = kPackedBits * channel;
  const uint32_t others = Read<uint32_t>(element) & ~(type.largest() << shift);
  const uint32_t word = others | stored << shift;
  std::memcpy(element, &word, sizeof(word));
}

uint32_t StoredFraction(const Channel& channel, float value) {
  constexpr double kSteps = 16;
  if (std::isnan(value)) return 0;
  if (channel.bits == 2) return (value >= 0.1875f) + (value > 0.5f) + (value > 0.8125f);
  const double magnitude = std::min(std::fabs(static_cast<double>(value)), 1.0);
  const double largest = channel.largest();
  const double places = std::floor(magnitude * (largest + 1) * kSteps) / kSteps;
  const double rounded = std::ceil(places * largest / (largest + 1) - 0.5);
  const auto integer = static_cast<uint32_t>(std::max(rounded, 0.0));
  if (value >= 0) return integer;
  return channel.kind == Channel::kSigned ? ~integer + 1 : 0;
}

uint32_t StoredRegister(const Channel& channel, uint32_t word) {
  if (channel.normalised) return StoredFraction(channel, BitCast<float>(word));
  switch (channel.kind) {
    case Channel::kUnsigned:
      return std::min(word, channel.largest());
    case Channel::kSigned: {
      const int32_t largest = static_cast<int32_t>(channel.largest());
      return static_cast<uint32_t>(std::clamp(static_cast<int32_t>(word), ~largest, largest));
    }
    case Channel::kHalf:
      return HalfTowardsZero(word);
    case Channel::kFloat:
      break;
  }
  return word;
}

}  // namespace twinmmu::ptx
