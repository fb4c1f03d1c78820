// Arrays: which of the program's arrays belong to which context, and what its texture and surface
// objects were made of.

#ifndef TWINMMU_SIM_LIBCUDA_ARRAYS_H_
#define TWINMMU_SIM_LIBCUDA_ARRAYS_H_

#include <optional>

#include "sim/libcuda/contexts.h"
#include "sim/libcuda/streams.h"
#include "third_party/cuda_abi/texture_abi.h"

namespace twinmmu::libcuda {

struct ArrayRecord {
  Context* context = nullptr;
};

struct TextureRecord {
  Context* context = nullptr;
  bool surface = false;
  cuda_abi::CUDA_RESOURCE_DESC resource = {};
  cuda_abi::CUDA_TEXTURE_DESC texture = {};               // not of a surface
  std::optional<cuda_abi::CUDA_RESOURCE_VIEW_DESC> view;  // if it has one
};

struct Arrays {
  Records<ArrayRecord> arrays;  // without the levels of the others
  Records<ArrayRecord> mipmaps;
  Records<TextureRecord> textures;  // and surfaces
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_ARRAYS_H_
