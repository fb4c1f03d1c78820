// A library that looks like the driver's to the loader. The BUILD file makes several of it:
//   FAKE_EXPORTS            the functions are exported; otherwise only cuGetProcAddress finds them
//   FAKE_PROC_ADDRESS       1: cuGetProcAddress of CUDA 11.3, 2: that of 12.0, 0: none
//   FAKE_TOO_OLD            a name that is there, but not in the version needed
//   FAKE_MISSING            a name that is not there
// The functions do nothing and succeed; two of them answer in fake_libcuda_answers.cc.

#include <cstdint>
#include <cstring>

#include "third_party/cuda_abi/cuda_abi.h"

#ifdef FAKE_EXPORTS
#define FAKE_VISIBILITY __attribute__((visibility("default"), weak))
#else
#define FAKE_VISIBILITY __attribute__((visibility("hidden"), weak))
#endif
#ifndef FAKE_TOO_OLD
#define FAKE_TOO_OLD ""
#endif
#ifndef FAKE_MISSING
#define FAKE_MISSING ""
#endif

using namespace twinmmu::cuda_abi;  // NOLINT: this file is the driver

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define TWINMMU_CUDA_FUNCTION(name, suffix, version, parameters) \
  extern "C" FAKE_VISIBILITY CUresult name##suffix parameters { return CUDA_SUCCESS; }
#include "third_party/cuda_abi/functions.inc"

namespace {

struct Function {
  const char* name;
  int version;
  void* address;
};
[[maybe_unused]] const Function kFunctions[] = {
#define TWINMMU_CUDA_FUNCTION(name, suffix, version, parameters) \
  {#name, version, reinterpret_cast<void*>(&name##suffix)},
#include "third_party/cuda_abi/functions.inc"
};

// Strict where the driver is lenient, so that the loader cannot ask for another version.
[[maybe_unused]] CUdriverProcAddressQueryResult Find(const char* symbol, void** function,
                                                     int version, uint64_t flags) {
  *function = nullptr;
  if (std::strcmp(symbol, FAKE_MISSING) == 0) return CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (std::strcmp(symbol, FAKE_TOO_OLD) == 0) return CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
  for (const Function& each : kFunctions) {
    if (std::strcmp(symbol, each.name) != 0 || version != each.version || flags != 0) continue;
    *function = each.address;
    return CU_GET_PROC_ADDRESS_SUCCESS;
  }
  return CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
}

}  // namespace

#if FAKE_PROC_ADDRESS >= 1
extern "C" __attribute__((visibility("default"))) CUresult cuGetProcAddress(const char* symbol,
                                                                            void** function,
                                                                            int version,
                                                                            uint64_t flags) {
  constexpr CUresult kNotFound = 500;
  return Find(symbol, function, version, flags) == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS
                                                                               : kNotFound;
}
#endif
#if FAKE_PROC_ADDRESS >= 2
extern "C" __attribute__((visibility("default"))) CUresult cuGetProcAddress_v2(
    const char* symbol, void** function, int version, uint64_t flags,
    CUdriverProcAddressQueryResult* found) {
  *found = Find(symbol, function, version, flags);
  return CUDA_SUCCESS;
}
#endif
