// The functions that our NVML exports, as compile-time data.

#ifndef TWINMMU_SIM_LIBNVML_NVML_SYMBOLS_H_
#define TWINMMU_SIM_LIBNVML_NVML_SYMBOLS_H_

namespace twinmmu::nvml {

struct NvmlSymbol {
  const char* name;
  const char* answer;  // what it tells; empty: NOT_SUPPORTED
};

// The lines of nvml_exports.inc.
inline constexpr NvmlSymbol kNvmlSymbols[] = {
#define TWINMMU_NVML_MODELLED(name, answer) {#name, answer},
#define TWINMMU_NVML_REFUSED(name) {#name, ""},
#include "third_party/cuda_abi/nvml_exports.inc"
};

}  // namespace twinmmu::nvml

#endif  // TWINMMU_SIM_LIBNVML_NVML_SYMBOLS_H_
