// Arrays of the scripts: see memory_failure_steps.h.

#ifndef TWINMMU_SIM_LIBCUDA_TESTS_MEMORY_FAILURE_MEMORY_FAILURE_ARRAYS_H_
#define TWINMMU_SIM_LIBCUDA_TESTS_MEMORY_FAILURE_MEMORY_FAILURE_ARRAYS_H_

#include <cstddef>

#include "third_party/cuda_abi/texture_abi.h"

namespace twinmmu::libcuda {

inline constexpr CUarray_format kUnsigned32 = static_cast<CUarray_format>(3);

// As high as wide, of one unsigned word an element.
inline CUDA_ARRAY3D_DESCRIPTOR Descriptor(size_t width, unsigned int flags) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
  descriptor.Width = descriptor.Height = width;
  descriptor.Format = kUnsigned32;
  descriptor.NumChannels = 1;
  descriptor.Flags = flags;
  return descriptor;
}

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_TESTS_MEMORY_FAILURE_MEMORY_FAILURE_ARRAYS_H_
