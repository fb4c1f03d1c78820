// What the runtime does not have yet: exported, so that programs load, and NOT_SUPPORTED.

#include <atomic>

#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {

namespace {

TWINMMU_INLINE cudaError_t Refuse(std::atomic<bool>& said, const char* words) {
  return Anywhere([&]() -> cudaError_t {
    WarnOnce(said, words);
    return cudaErrorNotSupported;
  });
}

}  // namespace

// Nothing here declares them: their parameters stay where the caller put them.
#define TWINMMU_CUDART_FORWARD(first, last, where, name, function, parameters, arguments)
#define TWINMMU_CUDART_MODELLED(first, last, result, name, drivers, parameters)
#define TWINMMU_CUDART_VERSIONED(first, last, name, drivers)
#define TWINMMU_CUDART_REFUSED(first, last, name)                                        \
  extern "C" cudaError_t name() {                                                        \
    static std::atomic<bool> said{false};                                                \
    return Refuse(said, "warning: " #name                                                \
                        " was called, which our CUDA runtime does not have "             \
                        "yet: it is cudaErrorNotSupported (docs/reference/runtime.md)"); \
  }
#include "third_party/cuda_abi/runtime_exports.inc"

}  // namespace twinmmu::cudart
