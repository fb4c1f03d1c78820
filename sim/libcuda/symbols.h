// The symbols that the library exports, by number, as compile-time data.

#ifndef TWINMMU_SIM_LIBCUDA_SYMBOLS_H_
#define TWINMMU_SIM_LIBCUDA_SYMBOLS_H_

#include <array>
#include <cstddef>

namespace twinmmu::libcuda {

enum class Support {
  kModelled,  // does what it says
  kDeclared,  // accepted, and without effect: it takes no part in memory
  kRefused,   // NOT_SUPPORTED, and the report names it
};

struct SymbolInfo {
  Support support;
  const char* name;    // for cuGetProcAddress: "cuMemAlloc"
  const char* symbol;  // that is exported: "cuMemAlloc_v2"
  int version;         // the CUDA version that brought it: 3020 is 3.2

  // Its default stream is that of the calling thread.
  constexpr bool per_thread() const {
    const char* end = symbol;
    while (*end != '\0') ++end;
    return end - symbol > 5 && end[-5] == '_' && end[-4] == 'p' && end[-3] == 't';
  }
};

// The lines of exports.inc.
inline constexpr SymbolInfo kSymbols[] = {
#define TWINMMU_CUDA_EXPORT(support, name, symbol, version) \
  {Support::support, #name, #symbol, version},
#include "third_party/cuda_abi/exports.inc"
};
inline constexpr size_t kSymbolCount = sizeof(kSymbols) / sizeof(kSymbols[0]);

constexpr bool SameText(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

// Where `symbol` stands in kSymbols; kSymbolCount: nowhere.
constexpr size_t IndexOf(const char* symbol) {
  size_t i = 0;
  while (i < kSymbolCount && !SameText(kSymbols[i].symbol, symbol)) ++i;
  return i;
}

// All forms of a function are one call: what is counted, and made to fail. Calls have numbers from
// 0, in the order of exports.inc; kCallOf has one for each symbol.
constexpr std::array<size_t, kSymbolCount> NumberCalls() {
  std::array<size_t, kSymbolCount> calls = {};
  for (size_t i = 1; i < kSymbolCount; ++i) {
    calls[i] = calls[i - 1] + (SameText(kSymbols[i].name, kSymbols[i - 1].name) ? 0 : 1);
  }
  return calls;
}
inline constexpr std::array<size_t, kSymbolCount> kCallOf = NumberCalls();
inline constexpr size_t kCallCount = kCallOf[kSymbolCount - 1] + 1;

constexpr std::array<const char*, kCallCount> NameCalls() {
  std::array<const char*, kCallCount> names = {};
  for (size_t i = 0; i < kSymbolCount; ++i) names[kCallOf[i]] = kSymbols[i].name;
  return names;
}
inline constexpr std::array<const char*, kCallCount> kNamesOfCalls = NameCalls();

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_SYMBOLS_H_
