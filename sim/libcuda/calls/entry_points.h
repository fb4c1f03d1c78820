// The functions that the backend calls, declared as the driver's documentation has them: a
// definition with other parameters does not compile.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_ENTRY_POINTS_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_ENTRY_POINTS_H_

#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu::libcuda {

using namespace cuda_abi;  // NOLINT: the driver's types, under the driver's names

#define TWINMMU_CUDA_FUNCTION(name, suffix, version, parameters) \
  extern "C" CUresult name##suffix parameters;
#include "third_party/cuda_abi/functions.inc"

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_ENTRY_POINTS_H_
