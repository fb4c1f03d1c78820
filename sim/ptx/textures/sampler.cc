#include "sim/ptx/textures/sampler.h"

#include <algorithm>
#include <cmath>

#include "sim/ptx/textures/cube_faces.h"

// All that is computed here is what an H100 and an H200 (driver 580.159) do, bit for bit, unless it
// says so.

namespace twinmmu::ptx {
namespace {

constexpr int kFractionBits = 8;  // of a place between texels or levels
constexpr int64_t kOne = int64_t{1} << kFractionBits;
constexpr int64_t kOutside = -1;  // of the image, where it has a border

// One dimension of a read: the texels on both sides, and how much of the second there is.
struct Axis {
  int64_t first = 0;
  int64_t second = 0;
  int64_t fraction = 0;  // of kOne
};
using Axes = std::array<Axis, 3>;

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

// A coordinate in texels. Normalised ones have 21 bits of fraction; what is no number is 0, and so
// is what is infinite where the image repeats. What lies far outside is brought near.
double InTexels(float coordinate, int64_t size, AddressMode mode, bool normalized) {
  constexpr double kFar = 1 << 24;
  constexpr double kSteps = 1 << 21;
  const double value = coordinate;
  if (std::isnan(value)) return 0;
  if (!normalized) return std::clamp(value, -kFar, kFar);
  if (mode == AddressMode::kWrap || mode == AddressMode::kMirror) {
    const double turn = std::fmod(value, 2.0);  // the image and its mirror
    return std::isnan(turn) ? 0 : std::floor(turn * kSteps) / kSteps * static_cast<double>(size);
  }
  return std::floor(std::clamp(value, -4.0, 4.0) * kSteps) / kSteps * static_cast<double>(size);
}

// Parts of 256, rounded: halves up, and down for what is left on the other side.
int64_t Part(int64_t whole, int64_t fraction) { return (whole * fraction + kOne / 2) >> 8; }
int64_t OtherPart(int64_t whole, int64_t fraction) {
  return (whole * fraction + kOne / 2 - 1) >> 8;
}

// Of a level or a difference of levels; downwards.
int64_t LevelPlace(float level) {
  constexpr float kMost = 64;
  return std::isnan(level) ? 0
                           : static_cast<int64_t>(std::floor(std::clamp(level, -kMost, kMost) *
                                                             static_cast<float>(kOne)));
}

class Reader {
 public:
  Reader(const Texture& texture, const TextureRead& read, FindTexel find)
      : texture_(texture), image_(texture.image), read_(read), find_(find) {}

  TexelWords Read();

 private:
  int64_t SizeOf(size_t dimension, uint32_t level) const {
    const ArrayExtent extent = image_.ExtentOf(level);
    return static_cast<int64_t>(dimension == 0 ? extent.x : dimension == 1 ? extent.y : extent.z);
  }
  AddressMode ModeOf(size_t dimension) const;
  Axis AxisOf(size_t dimension, uint32_t level, bool linear) const;
  Axes AxesOf(uint32_t level, bool linear) const;
  const char* Find(uint32_t level, int64_t x, int64_t y, int64_t z) const;
  TexelWords WordsAt(uint32_t level, int64_t x, int64_t y, int64_t z) const;
  void AddTexel(uint32_t level, int64_t x, int64_t y, int64_t z, int64_t weight,
                TexelSum* sum) const;
  void AddLevel(uint32_t level, int64_t whole, TexelSum* sum) const;
  void AddSlice(uint32_t level, const Axes& axes, int64_t z, int64_t whole, TexelSum* sum) const;
  TexelWords ReadTexel() const;
  TexelWords Gathered() const;
  int64_t LevelToRead() const;
  float LevelOfGradients() const;

  const Texture& texture_;
  const Image& image_;
  TextureRead read_;
  FindTexel find_;
  uint64_t face_ = 0;
};

AddressMode Reader::ModeOf(size_t dimension) const {
  const AddressMode mode = texture_.sampling.modes[dimension];
  if (read_.cube) return AddressMode::kClamp;
  // Coordinates in texels do not repeat.
  const bool repeats = mode == AddressMode::kWrap || mode == AddressMode::kMirror;
  return repeats && !texture_.sampling.normalized_coordinates ? AddressMode::kClamp : mode;
}

Axis Reader::AxisOf(size_t dimension, uint32_t level, bool linear) const {
  const int64_t size = SizeOf(dimension, level);
  const AddressMode mode = ModeOf(dimension);
  const bool normalized = read_.cube || texture_.sampling.normalized_coordinates;
  const double at = InTexels(read_.at[dimension], size, mode, normalized);
  const int64_t offset = read_.offset[dimension];
  Axis axis;
  if (!linear) {
    axis.first = Inside(static_cast<int64_t>(std::floor(at)) + offset, size, mode);
    return axis;
  }
  int64_t place = static_cast<int64_t>(std::floor(at * static_cast<double>(kOne) + 0.5));
  place += offset * kOne - kOne / 2;
  if (mode == AddressMode::kClamp && read_.gathered < 0)
    place = std::clamp<int64_t>(place, 0, (size - 1) * kOne);
  axis.fraction = place & (kOne - 1);
  axis.first = Inside(place >> kFractionBits, size, mode);
  axis.second = Inside((place >> kFractionBits) + 1, size, mode);
  return axis;
}

Axes Reader::AxesOf(uint32_t level, bool linear) const {
  Axes axes;
  for (size_t i = 0; i < static_cast<size_t>(read_.dimensions); ++i) {
    axes[i] = AxisOf(i, level, linear);
  }
  // A 1-D image has one row, at whose upper edge it is read.
  if (linear && read_.dimensions == 1 && !read_.layered && ModeOf(1) == AddressMode::kBorder) {
    axes[1] = {kOutside, 0, kOne / 2};
  }
  return axes;
}

const char* Reader::Find(uint32_t level, int64_t x, int64_t y, int64_t z) const {
  TexelPlace place;
  place.level = level;
  place.at = {static_cast<uint64_t>(x), static_cast<uint64_t>(y), static_cast<uint64_t>(z)};
  const uint64_t faces = read_.cube ? 6 : 1;
  if (read_.layered) place.layer = std::min<uint64_t>(read_.layer, image_.layers / faces - 1);
  place.layer = place.layer * faces + face_;
  return find_(place);
}

TexelWords Reader::WordsAt(uint32_t level, int64_t x, int64_t y, int64_t z) const {
  if (x == kOutside || y == kOutside || z == kOutside) return BorderWordsOf(texture_);
  return WordsOf(texture_, Find(level, x, y, z));
}

void Reader::AddTexel(uint32_t level, int64_t x, int64_t y, int64_t z, int64_t weight,
                      TexelSum* sum) const {
  if (weight == 0) return;
  const bool outside = x == kOutside || y == kOutside || z == kOutside;
  sum->texels[sum->count] =
      outside ? BorderUnitsOf(texture_) : UnitsOf(texture_, Find(level, x, y, z));
  sum->slices[sum->count] = sum->slice;
  sum->weights[sum->count++] = static_cast<int>(weight);
}

void Reader::AddSlice(uint32_t level, const Axes& axes, int64_t z, int64_t whole,
                      TexelSum* sum) const {
  const auto& [x, y, unused] = axes;
  const int64_t right = Part(whole, x.fraction);
  const int64_t left = whole - right;
  const int64_t lower_right = Part(right, y.fraction);
  const int64_t lower_left = OtherPart(left, y.fraction);
  AddTexel(level, x.first, y.first, z, left - lower_left, sum);
  AddTexel(level, x.second, y.first, z, right - lower_right, sum);
  AddTexel(level, x.first, y.second, z, lower_left, sum);
  AddTexel(level, x.second, y.second, z, lower_right, sum);
  ++sum->slice;
}

void Reader::AddLevel(uint32_t level, int64_t whole, TexelSum* sum) const {
  const Axes axes = AxesOf(level, texture_.sampling.linear);
  const int64_t behind = Part(whole, axes[2].fraction);
  AddSlice(level, axes, axes[2].first, whole - behind, sum);
  AddSlice(level, axes, axes[2].second, behind, sum);
}

// Near enough for one gradient, whose length is rounded up; where there are two, the hardware takes
// a longer one than this.
float Reader::LevelOfGradients() const {
  double longest = 0;
  for (const auto* const gradient : {&read_.x_gradient, &read_.y_gradient}) {
    double length = 0;
    for (size_t i = 0; i < static_cast<size_t>(read_.dimensions); ++i) {
      const double scale =
          texture_.sampling.normalized_coordinates ? static_cast<double>(SizeOf(i, 0)) : 1.0;
      const double part = static_cast<double>((*gradient)[i]) * scale;
      length += part * part;
    }
    longest = std::max(longest, length);
  }
  const double level = std::log2(longest) / 2 * static_cast<double>(kOne);
  return static_cast<float>(std::ceil(level) / static_cast<double>(kOne));
}

// In units of 1 / kOne.
int64_t Reader::LevelToRead() const {
  const Sampling& sampling = texture_.sampling;
  const float level = read_.level_from == TextureRead::kLevel       ? read_.level
                      : read_.level_from == TextureRead::kGradients ? LevelOfGradients()
                                                                    : 0;
  const int64_t bias = LevelPlace(std::fabs(sampling.level_bias));
  int64_t place = LevelPlace(level) + (std::signbit(sampling.level_bias) ? -bias : bias);
  place = std::min(place, LevelPlace(sampling.greatest_level));
  place = std::max(place, LevelPlace(sampling.least_level));
  return std::clamp<int64_t>(place, 0, (int64_t{image_.levels} - 1) * kOne);
}

TexelWords Reader::Gathered() const {
  const Axes axes = AxesOf(0, true);
  const size_t channel = static_cast<size_t>(read_.gathered);
  const auto& [x, y, unused] = axes;
  return {WordsAt(0, x.first, y.second, 0)[channel], WordsAt(0, x.second, y.second, 0)[channel],
          WordsAt(0, x.second, y.first, 0)[channel], WordsAt(0, x.first, y.first, 0)[channel]};
}

// By numbers of texels: what is not there is 0, whatever the border.
TexelWords Reader::ReadTexel() const {
  int64_t level = 0;
  if (read_.level_from == TextureRead::kLevel) level = static_cast<int64_t>(read_.level);
  if (level < 0 || level >= image_.levels) return {};
  std::array<int64_t, 3> at = {};
  for (size_t i = 0; i < static_cast<size_t>(read_.dimensions); ++i) {
    at[i] = int64_t{read_.texel[i]} + read_.offset[i];
    if (at[i] < 0 || at[i] >= SizeOf(i, static_cast<uint32_t>(level))) return {};
  }
  return WordsOf(texture_, Find(static_cast<uint32_t>(level), at[0], at[1], at[2]));
}

TexelWords Reader::Read() {
  if (image_.extent.x == 0 || image_.extent.y == 0 || image_.extent.z == 0) return {};
  // Linear memory has no coordinates but numbers of texels, and 1-D arrays have none of these.
  const bool one_row = read_.dimensions == 1 && !read_.layered;
  if (one_row && read_.texels != (image_.elements == nullptr)) return {};
  if (read_.texels) return ReadTexel();
  if (read_.cube) {
    const FacePlace place = FaceOf(read_.at);
    face_ = place.face;
    read_.at = {place.x, place.y, 0};
  }
  if (read_.gathered >= 0) return Gathered();
  const int64_t place = LevelToRead();
  const bool between = texture_.sampling.linear_levels;
  const uint32_t level = static_cast<uint32_t>((between ? place : place + kOne / 2) / kOne);
  const int64_t fraction = between ? place % kOne : 0;
  if (!texture_.sampling.linear && !between) {
    const Axes axes = AxesOf(level, false);
    return WordsAt(level, axes[0].first, axes[1].first, axes[2].first);
  }
  TexelSum sum;
  AddLevel(level, kOne - fraction, &sum);
  if (fraction != 0) AddLevel(level + 1, fraction, &sum);
  return ValuesOf(texture_, sum);
}

}  // namespace

TexelWords ReadTexture(const Texture& texture, const TextureRead& read, FindTexel find) {
  return Reader(texture, read, find).Read();
}

}  // namespace twinmmu::ptx
