#include "sim/libcuda/calls/exports.h"

#include <array>
#include <cstddef>

// Every symbol, without its parameters: here only addresses matter. One that nobody defines is a
// link error.
#define TWINMMU_CUDA_EXPORT(support, name, symbol, version) extern "C" void symbol();
#include "third_party/cuda_abi/exports.inc"

namespace twinmmu::libcuda {

namespace {

constexpr void (*kFunctions[])() = {
#define TWINMMU_CUDA_EXPORT(support, name, symbol, version) &::symbol,
#include "third_party/cuda_abi/exports.inc"
};

}  // namespace

absl::Span<const Export> Exports() {
  static const std::array<Export, kSymbolCount> exports = [] {
    std::array<Export, kSymbolCount> made = {};
    for (size_t i = 0; i < kSymbolCount; ++i) made[i] = {&kSymbols[i], kFunctions[i]};
    return made;
  }();
  return exports;
}

}  // namespace twinmmu::libcuda
