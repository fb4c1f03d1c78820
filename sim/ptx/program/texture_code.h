// TextureCode: an instruction on a texture or surface object, as data.

#ifndef TWINMMU_SIM_PTX_PROGRAM_TEXTURE_CODE_H_
#define TWINMMU_SIM_PTX_PROGRAM_TEXTURE_CODE_H_

#include <array>
#include <cstdint>
#include <vector>

namespace twinmmu::ptx {

// What the object must look like.
struct TextureGeometry {
  int dimensions = 2;  // of a layer
  bool layered = false;
  bool cube = false;
};

// What txq and suq ask for.
enum class TextureQuery : uint8_t { kWidth, kHeight, kDepth };

// What an access of a surface does beyond the edges: .trap, .clamp, .zero.
enum class SurfaceBounds : uint8_t { kTrap, kClamp, kZero };

// All slots have 4 bytes, but for those of `handle` and of values of surfaces.
struct TextureCode {
  TextureGeometry geometry;
  uint32_t handle = 0;
  bool of_variable = false;         // a variable that stands for a texture or surface is named
  std::vector<uint32_t> at;         // coordinates; of a cube: the direction
  std::vector<uint32_t> layer;      // one, of a geometry with layers
  std::vector<uint32_t> offset;     // none, or as many as dimensions
  std::vector<uint32_t> level;      // one, if it is said
  std::vector<uint32_t> gradients;  // of x, then of y
  std::vector<uint32_t> values;     // what is read or written, channel by channel
  std::vector<uint32_t> resident;   // a predicate: whether there is memory
  bool integers = false;            // the coordinates are numbers of texels
  bool halves = false;              // the values are .f16
  bool pairs = false;               // the values are .f16x2
  int gathered = -1;                // the channel of tld4
  // Of a surface:
  SurfaceBounds bounds = SurfaceBounds::kTrap;
  uint8_t bytes = 4;       // of a value
  bool formatted = false;  // sust.p, sured.p: in elements, each of as many bytes as it has
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_PROGRAM_TEXTURE_CODE_H_
