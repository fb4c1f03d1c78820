// The functions that are one of the driver's, given the same arguments.

#include "sim/libcudart/runtime.h"

namespace twinmmu::cudart {
namespace {

template <typename Body>
TWINMMU_INLINE cudaError_t kInContext(const Body& body) {
  return InContext(body);
}
template <typename Body>
TWINMMU_INLINE cudaError_t kAnywhere(const Body& body) {
  return Anywhere(body);
}

}  // namespace

#define TWINMMU_CUDART_FORWARD(first, last, where, name, function, parameters, arguments) \
  extern "C" cudaError_t name parameters {                                                \
    return where([&] { return driver.function arguments; });                              \
  }
#define TWINMMU_CUDART_MODELLED(first, last, result, name, drivers, parameters)
#define TWINMMU_CUDART_VERSIONED(first, last, name, drivers)
#define TWINMMU_CUDART_REFUSED(first, last, name)
#include "third_party/cuda_abi/runtime_exports.inc"

}  // namespace twinmmu::cudart
