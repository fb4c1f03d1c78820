// Sampler: what a texture gives at coordinates, as the hardware computes it: places between texels
// and between levels have 8 bits of fraction.

#ifndef TWINMMU_SIM_PTX_TEXTURES_SAMPLER_H_
#define TWINMMU_SIM_PTX_TEXTURES_SAMPLER_H_

#include <array>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "sim/ptx/textures/texels.h"
#include "sim/ptx/textures/texture.h"

namespace twinmmu::ptx {

// What an instruction reads.
struct TextureRead {
  enum Level : uint8_t { kBase, kLevel, kGradients };

  int dimensions = 2;
  bool layered = false;
  bool cube = false;
  bool texels = false;           // the coordinates are numbers of texels
  Level level_from = kBase;      // which level it reads
  int gathered = -1;             // the channel of tld4; -1: no tld4
  std::array<float, 3> at = {};  // of a cube: the direction
  std::array<int32_t, 3> texel = {};
  uint32_t layer = 0;
  float level = 0;
  std::array<float, 3> x_gradient = {};
  std::array<float, 3> y_gradient = {};
  std::array<int32_t, 3> offset = {};  // in texels
};

// Where an element of an image is.
struct TexelPlace {
  uint32_t level = 0;
  uint64_t layer = 0;
  ArrayExtent at;
};

// Gives the memory of an element that is in the image; null: there is none.
using FindTexel = absl::FunctionRef<const char*(const TexelPlace&)>;

TexelWords ReadTexture(const Texture& texture, const TextureRead& read, FindTexel find);

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXTURES_SAMPLER_H_
