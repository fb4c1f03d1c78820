// The driver's functions have the parameters that the runtime gives them: as many, and each of the
// size and the kind of the toolkit's cuda.h. Where no toolkit is found nothing is compared.

#include "gtest/gtest.h"

#ifdef TWINMMU_HAS_CUDA_H
// By the names of the symbols, as they are exported.
#define __CUDA_API_VERSION_INTERNAL
#include "cuda.h"
#include "cudaProfiler.h"
#if CUDA_VERSION >= 13000
#define TWINMMU_CAN_COMPARE
#endif
#endif

#ifdef TWINMMU_CAN_COMPARE
#include "sim/libcudart/driver_functions.h"
#include "sim/libcudart/tests/same_places.h"

namespace twinmmu::cudart {
namespace {

TEST(DriverFunctions, HaveTheParametersOfTheToolkit) {
#define TWINMMU_CUDART_DRIVER(symbol, parameters)                                         \
  EXPECT_TRUE((SamePlaces<decltype(DriverFunctions::symbol), decltype(::symbol)>::value)) \
      << #symbol;
#include "sim/libcudart/driver_functions.inc"
#define TWINMMU_CUDART_FORWARD(first, last, where, name, driver, parameters, arguments)   \
  EXPECT_TRUE((SamePlaces<decltype(DriverFunctions::driver), decltype(::driver)>::value)) \
      << #driver;
#define TWINMMU_CUDART_MODELLED(first, last, result, name, drivers, parameters)
#define TWINMMU_CUDART_VERSIONED(first, last, name, drivers)
#define TWINMMU_CUDART_REFUSED(first, last, name)
#include "third_party/cuda_abi/runtime_exports.inc"
}

}  // namespace
}  // namespace twinmmu::cudart

#else

TEST(DriverFunctions, HaveTheParametersOfTheToolkit) {
  GTEST_SKIP() << "no toolkit of CUDA 13 was found: NOTHING WAS COMPARED";
}

#endif
