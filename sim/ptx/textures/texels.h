// Texels: elements of images as the values that a texture gives.

#ifndef TWINMMU_SIM_PTX_TEXTURES_TEXELS_H_
#define TWINMMU_SIM_PTX_TEXTURES_TEXELS_H_

#include <array>
#include <cstdint>

#include "sim/ptx/textures/texture.h"

namespace twinmmu::ptx {

// The values of four channels: integers, or the bits of floats. Those that the image has not are 0.
using TexelWords = std::array<uint32_t, 4>;
using TexelUnits = std::array<double, 4>;

// Whether the values that the texture gives are floats.
bool GivesFloats(const Texture& texture);
// An element of the texture's image; null: of memory that is not there, whose bytes are 0.
TexelWords WordsOf(const Texture& texture, const char* element);
// What the texture gives beyond a border.
TexelWords BorderWordsOf(const Texture& texture);

// For filters: values that texels are summed up in.
TexelUnits UnitsOf(const Texture& texture, const char* element);
TexelUnits BorderUnitsOf(const Texture& texture);

// Up to 16 texels, in units, how much of each there is, and in which of the slices it lies.
struct TexelSum {
  static constexpr int kWhole = 256;  // what all weights are together

  std::array<TexelUnits, 16> texels;
  std::array<int, 16> weights;
  std::array<int, 16> slices;
  size_t count = 0;
  int slice = 0;  // of the texels that are added now
};
// The values of their sum.
TexelWords ValuesOf(const Texture& texture, const TexelSum& sum);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXTURES_TEXELS_H_
