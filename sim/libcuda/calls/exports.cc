#include "sim/libcuda/calls/exports.h"

// Every symbol, without its parameters: here only addresses matter. One that nobody defines is a
// link error.
#define TWINMMU_CUDA_EXPORT(name, symbol, version) extern "C" void symbol();
#define TWINMMU_CUDA_PER_THREAD_EXPORT(name, symbol, version) extern "C" void symbol();
#include "third_party/cuda_abi/exports.inc"

namespace twinmmu::libcuda {

absl::Span<const Export> Exports() {
  static constexpr Export kExports[] = {
#define TWINMMU_CUDA_EXPORT(name, symbol, version) {&kSymbols[IndexOf(#symbol)], &::symbol},
#define TWINMMU_CUDA_PER_THREAD_EXPORT(name, symbol, version) \
  {&kSymbols[IndexOf(#symbol)], &::symbol},
#include "third_party/cuda_abi/exports.inc"
  };
  return kExports;
}

}  // namespace twinmmu::libcuda
