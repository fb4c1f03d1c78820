// The driver's codes as text.

#ifndef TWINMMU_SIM_LIBCUDA_ERROR_TEXTS_H_
#define TWINMMU_SIM_LIBCUDA_ERROR_TEXTS_H_

#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::libcuda {

// "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"; null for a number that is no code. They live for
// good. Thread-safe.
const char* ErrorName(cuda_abi::CUresult code);
const char* ErrorText(cuda_abi::CUresult code);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_ERROR_TEXTS_H_
