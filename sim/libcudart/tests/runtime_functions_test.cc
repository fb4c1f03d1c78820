// The runtime's functions have the parameters of the toolkit's header: as many, and each of the
// size and the kind. Where no toolkit is found nothing is compared.

#include "gtest/gtest.h"
#include "sim/libcudart/tests/same_places.h"

#ifdef TWINMMU_HAS_CUDA_H
#include "cuda.h"
#if CUDA_VERSION >= 13000 && CUDA_VERSION < 13010
#define TWINMMU_CAN_COMPARE
#endif
#endif

#ifdef TWINMMU_CAN_COMPARE

// Both have these names.
namespace ours {
#define TWINMMU_CUDART_TYPES_ONLY
#include "third_party/cuda_abi/cudart_abi.h"
#undef cudaStreamLegacy
#undef cudaStreamPerThread
#define TWINMMU_CUDART_FORWARD(first, last, where, name, driver, parameters, arguments) \
  using name##Type = cudaError_t(*) parameters;
#define TWINMMU_CUDART_MODELLED(first, last, result, name, drivers, parameters) \
  using name##Type = result(*) parameters;
#define TWINMMU_CUDART_VERSIONED(first, last, name, drivers)
#define TWINMMU_CUDART_REFUSED(first, last, name)
#include "third_party/cuda_abi/runtime_exports.inc"
}  // namespace ours

#include "cuda_runtime_api.h"

namespace twinmmu::cudart {
namespace {

// Of the functions that the toolkit declares, too.
#define TWINMMU_COMPARED(name) \
  EXPECT_TRUE((SamePlaces<ours::name##Type, decltype(::name)>::value)) << #name

TEST(RuntimeFunctions, HaveTheParametersOfTheToolkit) {
#include "sim/libcudart/tests/compared_functions.inc"
}

}  // namespace
}  // namespace twinmmu::cudart

#else

TEST(RuntimeFunctions, HaveTheParametersOfTheToolkit) {
  GTEST_SKIP() << "no toolkit of CUDA 13.0 was found: NOTHING WAS COMPARED";
}

#endif
