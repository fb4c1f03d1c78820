// What the runtime does not have yet: exported, so that programs load, and NOT_SUPPORTED.

#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {

// Nothing here declares them: their parameters stay where the caller put them.
#define TWINMMU_CUDART_FORWARD(first, last, where, name, function, parameters, arguments)
#define TWINMMU_CUDART_MODELLED(first, last, result, name, drivers, parameters)
#define TWINMMU_CUDART_VERSIONED(first, last, name, drivers)
#define TWINMMU_CUDART_REFUSED(first, last, name) \
  extern "C" cudaError_t name() { return Record(cudaErrorNotSupported); }
#include "third_party/cuda_abi/runtime_exports.inc"

}  // namespace twinmmu::cudart
