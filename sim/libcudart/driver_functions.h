// The driver's functions, found at run time in whichever libcuda.so.1 the process gets: a real
// driver's, or the simulated one.

#ifndef TWINMMU_SIM_LIBCUDART_DRIVER_FUNCTIONS_H_
#define TWINMMU_SIM_LIBCUDART_DRIVER_FUNCTIONS_H_

#include <cstddef>

#include "third_party/cuda_abi/cudart_abi.h"

struct CUctx_st;
struct CUlinkState_st;

namespace twinmmu::cudart {

using CUcontext = CUctx_st*;
using CUlinkState = CUlinkState_st*;

// CUDA_MEMCPY2D, and the kinds of memory in it.
struct Copy2D {
  size_t from_x;
  size_t from_y;
  int from_type;
  const void* from_host;
  const void* from_device;
  void* from_array;
  size_t from_pitch;
  size_t to_x;
  size_t to_y;
  int to_type;
  void* to_host;
  void* to_device;
  void* to_array;
  size_t to_pitch;
  size_t width;
  size_t height;
};

// CUlaunchConfig.
struct DriverLaunchConfig {
  twinmmu_dim3 grid;
  twinmmu_dim3 block;
  unsigned int shared;
  cudaStream_t stream;
  cudaLaunchAttribute_st* attributes;
  unsigned int attribute_count;
};

// For the report of the simulated driver: from where the program called, and an address inside the
// function that it called; null while nothing is called. `is_tried`: the report leaves it out that
// the current context is destroyed.
struct ReportedPlace {
  const void* caller;
  const void* function;
  bool is_tried = false;
};

// A function that the driver lacks gives cudaErrorCallRequiresNewerDriver.
struct DriverFunctions {
#define TWINMMU_CUDART_DRIVER(symbol, parameters) cudaError_t(*symbol) parameters;
#include "sim/libcudart/driver_functions.inc"
#define TWINMMU_CUDART_FORWARD(first, last, where, name, driver, parameters, arguments) \
  cudaError_t(*driver) parameters;
#define TWINMMU_CUDART_MODELLED(first, last, result, name, drivers, parameters)
#define TWINMMU_CUDART_VERSIONED(first, last, name, drivers)
#define TWINMMU_CUDART_REFUSED(first, last, name)
#include "third_party/cuda_abi/runtime_exports.inc"

  // Of the simulated driver's report; elsewhere they do nothing. Adds to it; and where to say, in
  // each thread, from where the program called.
  void (*twinmmuWarn)(const char* words);
  ReportedPlace* (*twinmmuCaller)();
  // The current context, and what is wrong with it: DeviceUninitialized if there is none,
  // ContextIsDestroyed, or what a fault left. Reports nothing. NotReady: cuCtxGetCurrent and
  // cuCtxGetApiVersion have to be asked, as always of another driver.
  cudaError_t (*twinmmuContext)(CUcontext* current);
  bool is_simulated;
};

// Fills the table. False: there is no libcuda.so.1. May be called again.
bool FindDriver(DriverFunctions& table);

}  // namespace twinmmu::cudart

#endif  // TWINMMU_SIM_LIBCUDART_DRIVER_FUNCTIONS_H_
