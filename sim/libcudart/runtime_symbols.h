// The functions that the runtime exports, as compile-time data.

#ifndef TWINMMU_SIM_LIBCUDART_RUNTIME_SYMBOLS_H_
#define TWINMMU_SIM_LIBCUDART_RUNTIME_SYMBOLS_H_

namespace twinmmu::cudart {

struct RuntimeSymbol {
  int first_version;  // the major versions of the runtime that have it
  int last_version;
  const char* name;
  bool modelled;        // else cudaErrorNotSupported
  const char* drivers;  // the functions of the driver beneath; empty: none
};

// The lines of runtime_exports.inc.
inline constexpr RuntimeSymbol kRuntimeSymbols[] = {
#define TWINMMU_CUDART_FORWARD(first, last, where, name, driver, parameters, arguments) \
  {first, last, #name, true, #driver},
#define TWINMMU_CUDART_MODELLED(first, last, result, name, drivers, parameters) \
  {first, last, #name, true, drivers},
#define TWINMMU_CUDART_VERSIONED(first, last, name, drivers) {first, last, #name, true, drivers},
#define TWINMMU_CUDART_REFUSED(first, last, name) {first, last, #name, false, ""},
#include "third_party/cuda_abi/runtime_exports.inc"
};

}  // namespace twinmmu::cudart

#endif  // TWINMMU_SIM_LIBCUDART_RUNTIME_SYMBOLS_H_
