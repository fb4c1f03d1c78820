#include "sim/ptx/textures/texels.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sim/ptx/operations/half.h"
#include "sim/ptx/operations/lane_types.h"

namespace twinmmu::ptx {
namespace {

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

// As the sRGB standard has it.
float Linearized(float value) {
  return value <= 0.04045f ? value / 12.92f
                           : static_cast<float>(std::pow((value + 0.055) / 1.055, 2.4));
}

float FloatOf(ArrayFormat format, uint32_t stored, bool srgb) {
  const auto fraction = [&](float largest) {
    return std::max(static_cast<float>(static_cast<int32_t>(stored)) / largest, -1.0f);
  };
  switch (format) {
    case ArrayFormat::kUint8:
      return srgb ? Linearized(fraction(255)) : fraction(255);
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

}  // namespace

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

TexelFloats FloatsOf(const Texture& texture, const char* element) {
  TexelFloats floats = {0, 0, 0, 1};
  for (size_t i = 0; i < texture.image.channels; ++i) {
    // The fourth channel is no colour.
    const bool srgb = texture.sampling.srgb && i < 3;
    floats[i] = FloatOf(texture.image.format, StoredAt(texture.image.format, element, i), srgb);
  }
  return floats;
}

TexelWords WordsOf(const Texture& texture, const char* element) {
  TexelWords words = {0, 0, 0, 1};
  if (GivesFloats(texture)) {
    const TexelFloats floats = FloatsOf(texture, element);
    for (size_t i = 0; i < 4; ++i) words[i] = BitsOf(floats[i]);
    return words;
  }
  for (size_t i = 0; i < texture.image.channels; ++i) {
    words[i] = StoredAt(texture.image.format, element, i);
  }
  return words;
}

}  // namespace twinmmu::ptx
