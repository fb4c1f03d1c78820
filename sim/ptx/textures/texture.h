// Texture: what a texture or surface object shows of memory, and how kernels read it.

#ifndef TWINMMU_SIM_PTX_TEXTURES_TEXTURE_H_
#define TWINMMU_SIM_PTX_TEXTURES_TEXTURE_H_

#include <array>
#include <cstdint>
#include <memory>

#include "api/address.h"
#include "api/executor.h"
#include "api/sparse_arrays.h"

namespace twinmmu::ptx {

// The memory of an array. Its methods: with Mmu::mutex held.
class TexelMemory {
 public:
  virtual ~TexelMemory() = default;
  // Whether the array was destroyed.
  virtual bool gone() const = 0;
  // Whether nothing may access it now: it has to have memory, and none is mapped.
  virtual bool is_missing() const { return false; }
  // Where an element lies, which is there. Null: in a tile that is not mapped.
  virtual char* ElementAt(uint32_t level, uint64_t layer, const ArrayExtent& at) const = 0;
};

// Elements of a shape: those of an array, or of linear memory in rows.
struct Image {
  ArrayFormat format = ArrayFormat::kUint32;
  uint32_t channels = 1;
  int dimensions = 2;  // of a layer
  bool layered = false;
  bool cube = false;                      // each 6 layers are the faces of one
  ArrayExtent extent;                     // of level 0, each at least 1
  uint64_t layers = 1;                    // faces of cubes included
  uint32_t levels = 1;                    // that are shown
  uint32_t first_level = 0;               // of the array
  uint64_t first_layer = 0;               // of the array
  std::shared_ptr<TexelMemory> elements;  // null: linear memory
  DeviceAddress address;                  // of linear memory
  uint64_t pitch = 0;                     // of its rows

  uint64_t element() const {
    return ElementSize(ArrayDescriptor{extent, format, channels, 0}).value();
  }
  ArrayExtent ExtentOf(uint32_t level) const {
    const auto smaller = [level](uint64_t size) { return size >> level == 0 ? 1 : size >> level; };
    return {smaller(extent.x), smaller(extent.y), smaller(extent.z)};
  }
};

// CUaddress_mode: what lies beyond the edges.
enum class AddressMode : uint8_t { kWrap, kClamp, kMirror, kBorder };

// CUDA_TEXTURE_DESC.
struct Sampling {
  std::array<AddressMode, 3> modes = {AddressMode::kWrap, AddressMode::kWrap, AddressMode::kWrap};
  int dimensions = 3;          // that have a mode, of what is sampled
  bool linear = false;         // between texels, else the nearest
  bool linear_levels = false;  // between levels
  bool normalized_coordinates = false;
  bool as_integers = false;  // else integers of 8 and 16 bits are read as fractions of the largest
  bool srgb = false;
  bool seamless = false;  // filters across the edges of cubes
  float level_bias = 0;
  float least_level = 0;
  float greatest_level = 0;
  std::array<float, 4> border = {};
};

struct Texture {
  DeviceOrdinal device;
  bool surface = false;  // a surface object
  Image image;
  Sampling sampling;  // not of a surface
};

}  // namespace twinmmu::ptx

#endif  // TWINMMU_SIM_PTX_TEXTURES_TEXTURE_H_
