// Arrays: which of the program's arrays belong to which context, and what its texture and surface
// objects were made of.

#ifndef TWINMMU_SIM_LIBCUDA_ARRAYS_H_
#define TWINMMU_SIM_LIBCUDA_ARRAYS_H_

#include <atomic>
#include <cstdint>
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

// What a variable of a module stands for, or something that the program made that stands for
// nothing: CUtexref, CUsurfref.
struct ReferenceRecord {
  Context* context = nullptr;
  uint64_t module = 0;    // 0: the program made it
  uint64_t variable = 0;  // its address; 0: the program made it
  bool surface = false;
  bool bound = false;
  cuda_abi::CUDA_RESOURCE_DESC resource = {};  // if bound; of linear memory without a format
  cuda_abi::CUarray_format format = 0x20;      // CU_AD_FORMAT_FLOAT
  int channels = 1;
  cuda_abi::CUDA_TEXTURE_DESC texture = {};
};

inline constexpr uint64_t kFirstReference = uint64_t{5} << 60;

struct Arrays {
  Records<ArrayRecord> arrays;  // without the levels of the others
  Records<ArrayRecord> mipmaps;
  Records<TextureRecord> textures;  // and surfaces
  Records<ReferenceRecord> references;
  std::atomic<uint64_t> last_reference{kFirstReference};
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_ARRAYS_H_
