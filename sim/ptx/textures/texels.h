// Texels: elements of images as the values that a texture gives.

#ifndef TWINMMU_SIM_PTX_TEXTURES_TEXELS_H_
#define TWINMMU_SIM_PTX_TEXTURES_TEXELS_H_

#include <array>
#include <cstdint>

#include "sim/ptx/textures/texture.h"

namespace twinmmu::ptx {

// The values of four channels: integers, or the bits of floats.
using TexelWords = std::array<uint32_t, 4>;
using TexelFloats = std::array<float, 4>;

// Whether the values that the texture gives are floats.
bool GivesFloats(const Texture& texture);
// An element of the texture's image; null: of memory that is not there, whose bytes are 0.
TexelWords WordsOf(const Texture& texture, const char* element);
// The same of one that gives floats.
TexelFloats FloatsOf(const Texture& texture, const char* element);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXTURES_TEXELS_H_
