// Device code that was compiled separately (nvcc -rdc=true): besides what the compiler linked, the
// program holds the parts, and where nothing linked runs on the device they are linked here.

#ifndef TWINMMU_SIM_LIBCUDART_LINKED_CODE_H_
#define TWINMMU_SIM_LIBCUDART_LINKED_CODE_H_

#include "third_party/cuda_abi/cudart_abi.h"

namespace twinmmu::cudart {

// Whether a fat binary has what the driver runs; the simulated one runs PTX only.
bool HasCode(const void* image);

// `parts`: fat binaries, the last of them null.
cudaError_t LinkAndLoad(const void* const* parts, cudaLibrary_t* library);

}  // namespace twinmmu::cudart

#endif  // TWINMMU_SIM_LIBCUDART_LINKED_CODE_H_
