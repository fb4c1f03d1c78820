#include "sim/ptx/textures/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/ptx/operations/lane_types.h"
#include "sim/ptx/textures/cube_faces.h"

namespace twinmmu::ptx {
namespace {

constexpr int kFractionBits = 8;
constexpr int64_t kOne = int64_t{1} << kFractionBits;
constexpr int64_t kOutside = -1;  // of the image, where it has a border

// One dimension of a read: the texels on both sides, and how much of the second there is.
struct Axis {
  int64_t first = 0;
  int64_t second = 0;
  int64_t fraction = 0;  // of kOne
};

// The texel that one beyond the edges stands for.
int64_t Inside(int64_t texel, int64_t size, AddressMode mode) {
  if (texel >= 0 && texel < size) return texel;
  switch (mode) {
    case AddressMode::kWrap:
      return ((texel % size) + size) % size;
    case AddressMode::kMirror: {
      const int64_t turn = ((texel % (2 * size)) + 2 * size) % (2 * size);
      return turn < size ? turn : 2 * size - 1 - turn;
    }
    case AddressMode::kClamp:
      return texel < 0 ? 0 : size - 1;
    case AddressMode::kBorder:
      break;
  }
  return kOutside;
}

// A coordinate in texels, in units of 1 / kOne, rounded; what is no number is 0.
int64_t FixedPoint(float coordinate) {
  constexpr float kMost = 1e9f;
  if (std::isnan(coordinate)) return 0;
  const float scaled = std::clamp(coordinate, -kMost, kMost) * static_cast<float>(kOne);
  return static_cast<int64_t>(std::floor(static_cast<double>(scaled) + 0.5));
}

// A normalised coordinate in texels, within the image where it repeats.
float Unnormalized(float coordinate, int64_t size, AddressMode mode) {
  const float extent = static_cast<float>(size);
  if (mode == AddressMode::kWrap) {
    return (coordinate - std::floor(coordinate)) * extent;
  }
  if (mode == AddressMode::kMirror) {
    const float turn = std::floor(coordinate);
    const float rest = coordinate - turn;
    return (std::fmod(turn, 2.0f) == 0 ? rest : 1 - rest) * extent;
  }
  return coordinate * extent;
}

class Reader {
 public:
  Reader(const Texture& texture, const TextureRead& read, FindTexel find)
      : texture_(texture), read_(read), find_(find) {}

  TexelWords Read();

 private:
  AddressMode ModeOf(size_t dimension) const;
  bool IsLinear() const { return texture_.sampling.linear && GivesFloats(texture_); }
  Axis AxisOf(size_t dimension, uint32_t level, bool linear) const;
  std::array<Axis, 3> AxesOf(uint32_t level, bool linear) const;
  const char* Find(uint32_t level, int64_t x, int64_t y, int64_t z) const;
  bool IsOutside(int64_t x, int64_t y, int64_t z) const {
    return x == kOutside || y == kOutside || z == kOutside;
  }
  TexelFloats FloatsAt(uint32_t level, int64_t x, int64_t y, int64_t z) const;
  TexelWords WordsAt(uint32_t level, int64_t x, int64_t y, int64_t z) const;
  TexelFloats Filtered(uint32_t level) const;
  TexelFloats LevelFloats(uint32_t level) const;
  TexelWords Gathered() const;
  int64_t LevelPlace() const;
  float LevelOfGradients() const;
  void ChooseFace();

  const Texture& texture_;
  TextureRead read_;
  FindTexel find_;
  uint64_t face_ = 0;
};

AddressMode Reader::ModeOf(size_t dimension) const {
  const AddressMode mode = texture_.sampling.modes[dimension];
  if (read_.cube) return AddressMode::kClamp;
  // Coordinates in texels do not repeat.
  const bool repeats = mode == AddressMode::kWrap || mode == AddressMode::kMirror;
  if (repeats && (!texture_.sampling.normalized_coordinates || read_.texels)) {
    return AddressMode::kClamp;
  }
  return mode;
}

Axis Reader::AxisOf(size_t dimension, uint32_t level, bool linear) const {
  const ArrayExtent extent = texture_.image.ExtentOf(level);
  const int64_t size = static_cast<int64_t>(dimension == 0   ? extent.x
                                            : dimension == 1 ? extent.y
                                                             : extent.z);
  const AddressMode mode = ModeOf(dimension);
  const int64_t offset = read_.offset[dimension];
  Axis axis;
  if (read_.texels) {
    axis.first = Inside(read_.texel[dimension] + offset, size, mode);
    return axis;
  }
  float coordinate = read_.at[dimension];
  if (read_.cube || texture_.sampling.normalized_coordinates) {
    coordinate = Unnormalized(coordinate, size, mode);
  }
  if (!linear) {
    const float whole = std::floor(std::clamp(coordinate, -1e9f, 1e9f));
    axis.first = std::isnan(whole) ? 0 : static_cast<int64_t>(whole);
    axis.first = Inside(axis.first + offset, size, mode);
    return axis;
  }
  const int64_t place = FixedPoint(coordinate) - kOne / 2;
  const int64_t texel = place >> kFractionBits;
  axis.fraction = place & (kOne - 1);
  axis.first = Inside(texel + offset, size, mode);
  axis.second = Inside(texel + 1 + offset, size, mode);
  return axis;
}

std::array<Axis, 3> Reader::AxesOf(uint32_t level, bool linear) const {
  std::array<Axis, 3> axes;
  for (int i = 0; i < read_.dimensions; ++i) {
    axes[static_cast<size_t>(i)] = AxisOf(static_cast<size_t>(i), level, linear);
  }
  return axes;
}

const char* Reader::Find(uint32_t level, int64_t x, int64_t y, int64_t z) const {
  const Image& image = texture_.image;
  TexelPlace place;
  place.level = level;
  place.at = {static_cast<uint64_t>(x), static_cast<uint64_t>(y), static_cast<uint64_t>(z)};
  const uint64_t faces = read_.cube ? 6 : 1;
  if (read_.layered) {
    const uint64_t last = image.layers / faces - 1;
    place.layer = static_cast<int32_t>(read_.layer) < 0 ? 0 : std::min<uint64_t>(read_.layer, last);
  }
  place.layer = place.layer * faces + face_;
  return find_(place);
}

TexelFloats Reader::FloatsAt(uint32_t level, int64_t x, int64_t y, int64_t z) const {
  if (IsOutside(x, y, z)) return texture_.sampling.border;
  return FloatsOf(texture_, Find(level, x, y, z));
}

TexelWords Reader::WordsAt(uint32_t level, int64_t x, int64_t y, int64_t z) const {
  if (!IsOutside(x, y, z)) return WordsOf(texture_, Find(level, x, y, z));
  TexelWords border = {};
  for (size_t i = 0; i < border.size(); ++i) border[i] = BitsOf(texture_.sampling.border[i]);
  return border;
}

// The sum of the texels around, each times its part.
TexelFloats Reader::Filtered(uint32_t level) const {
  const std::array<Axis, 3> axes = AxesOf(level, true);
  TexelFloats sum = {};
  for (int corner = 0; corner < 1 << read_.dimensions; ++corner) {
    int64_t part = 1;
    std::array<int64_t, 3> at = {};
    for (int i = 0; i < read_.dimensions; ++i) {
      const Axis& axis = axes[static_cast<size_t>(i)];
      const bool second = (corner >> i & 1) != 0;
      at[static_cast<size_t>(i)] = second ? axis.second : axis.first;
      part *= second ? axis.fraction : kOne - axis.fraction;
    }
    if (part == 0) continue;
    const float weight = std::ldexp(static_cast<float>(part), -kFractionBits * read_.dimensions);
    const TexelFloats texel = FloatsAt(level, at[0], at[1], at[2]);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += weight * texel[i];
  }
  return sum;
}

TexelFloats Reader::LevelFloats(uint32_t level) const {
  if (IsLinear() && !read_.texels) return Filtered(level);
  const std::array<Axis, 3> axes = AxesOf(level, false);
  return FloatsAt(level, axes[0].first, axes[1].first, axes[2].first);
}

float Reader::LevelOfGradients() const {
  double longest = 0;
  for (const auto* const gradient : {&read_.x_gradient, &read_.y_gradient}) {
    double length = 0;
    for (int i = 0; i < read_.dimensions; ++i) {
      const ArrayExtent& extent = texture_.image.extent;
      const uint64_t size = i == 0 ? extent.x : i == 1 ? extent.y : extent.z;
      const double scale =
          texture_.sampling.normalized_coordinates ? static_cast<double>(size) : 1.0;
      const double part = static_cast<double>((*gradient)[static_cast<size_t>(i)]) * scale;
      length += part * part;
    }
    longest = std::max(longest, length);
  }
  return static_cast<float>(std::log2(longest) / 2);
}

// The level to read, in units of 1 / kOne.
int64_t Reader::LevelPlace() const {
  const Sampling& sampling = texture_.sampling;
  float level = read_.level_from == TextureRead::kLevel       ? read_.level
                : read_.level_from == TextureRead::kGradients ? LevelOfGradients()
                                                              : 0;
  level += sampling.level_bias;
  // A NaN becomes the least.
  level = std::max(sampling.least_level, std::min(sampling.greatest_level, level));
  const float last = static_cast<float>(texture_.image.levels - 1);
  return FixedPoint(std::isnan(level) ? 0 : std::clamp(level, 0.0f, last));
}

TexelWords Reader::Gathered() const {
  const std::array<Axis, 3> axes = AxesOf(0, true);
  const size_t channel = static_cast<size_t>(read_.gathered);
  const Axis& x = axes[0];
  const Axis& y = axes[1];
  return {WordsAt(0, x.first, y.second, 0)[channel], WordsAt(0, x.second, y.second, 0)[channel],
          WordsAt(0, x.second, y.first, 0)[channel], WordsAt(0, x.first, y.first, 0)[channel]};
}

void Reader::ChooseFace() {
  const FacePlace place = FaceOf(read_.at);
  face_ = place.face;
  read_.at = {place.x, place.y, 0};
}

TexelWords Reader::Read() {
  if (read_.cube) ChooseFace();
  if (read_.gathered >= 0) return Gathered();
  const int64_t place = LevelPlace();
  const bool between = texture_.sampling.linear_levels && GivesFloats(texture_);
  const int64_t rounded = between ? place : place + kOne / 2 - 1;
  const uint32_t level = static_cast<uint32_t>(rounded >> kFractionBits);
  const int64_t fraction = between ? rounded & (kOne - 1) : 0;
  if (!GivesFloats(texture_)) {
    const std::array<Axis, 3> axes = AxesOf(level, false);
    return WordsAt(level, axes[0].first, axes[1].first, axes[2].first);
  }
  TexelFloats floats = LevelFloats(level);
  if (fraction != 0) {
    const TexelFloats next = LevelFloats(level + 1);
    const float part = static_cast<float>(fraction) / static_cast<float>(kOne);
    for (size_t i = 0; i < floats.size(); ++i) {
      floats[i] = (1 - part) * floats[i] + part * next[i];
    }
  }
  TexelWords words;
  for (size_t i = 0; i < words.size(); ++i) words[i] = BitsOf(floats[i]);
  return words;
}

}  // namespace

TexelWords ReadTexture(const Texture& texture, const TextureRead& read, FindTexel find) {
  return Reader(texture, read, find).Read();
}

}  // namespace twinmmu::ptx
