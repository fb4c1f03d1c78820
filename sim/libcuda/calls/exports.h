// The exported functions by name, for cuGetProcAddress.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_EXPORTS_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_EXPORTS_H_

#include "absl/types/span.h"
#include "sim/libcuda/symbols.h"

namespace twinmmu::libcuda {

struct Export {
  const SymbolInfo* info;
  void (*function)();
};

// In the order of kSymbols.
absl::Span<const Export> Exports();

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_EXPORTS_H_
