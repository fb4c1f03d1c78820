// DriverTable: the driver's functions as pointers, one field for each line of functions.inc.
//
// A plain value: the loader fills it from a library, a test fills it by hand. A null pointer is a
// function that this driver lacks; only the calls that need it fail.

#ifndef TWINMMU_BACKEND_DRIVER_TABLE_H_
#define TWINMMU_BACKEND_DRIVER_TABLE_H_

#include <array>
#include <cstddef>
#include <string>

#include "third_party/cuda_abi/cuda_abi.h"

namespace twinmmu {

// One enumerator for each function, by its name: Symbol::cuMemMap. Not DriverCall: one call may use
// several functions, and calls share some, such as those of contexts.
enum class Symbol {
#define TWINMMU_CUDA_FUNCTION(name, suffix, version, parameters) name,
#include "third_party/cuda_abi/functions.inc"
};

struct SymbolInfo {
  const char* name;        // for cuGetProcAddress: "cuMemGetInfo"
  const char* exported;    // for dlsym: "cuMemGetInfo_v2"
  int version;             // the CUDA version it needs: 3020 is 3.2
  const char* parameters;  // "(size_t* free, size_t* total)"
};

// Indexed by Symbol.
inline constexpr SymbolInfo kSymbols[] = {
#define TWINMMU_CUDA_FUNCTION(name, suffix, version, parameters) \
  {#name, #name #suffix, version, #parameters},
#include "third_party/cuda_abi/functions.inc"
};
inline constexpr size_t kSymbolCount = sizeof(kSymbols) / sizeof(kSymbols[0]);

constexpr const SymbolInfo& Info(Symbol symbol) { return kSymbols[static_cast<size_t>(symbol)]; }

enum class SymbolState { kFound, kTooOld, kMissing };

struct DriverTable {
#define TWINMMU_CUDA_FUNCTION(name, suffix, version, parameters) cuda_abi::name##_t* name = nullptr;
#include "third_party/cuda_abi/functions.inc"

  // Where the functions are from, for messages.
  std::string library = "the driver";
  int driver_version = 0;  // 0: not known

  // Of the functions that are null: whether the driver has them, but not in the version needed, or
  // is itself older than that version. Indexed by Symbol.
  std::array<bool, kSymbolCount> too_old = {};
};

// FieldOf<Symbol::cuMemMap>::kMember is &DriverTable::cuMemMap.
template <Symbol kSymbol>
struct FieldOf;
#define TWINMMU_CUDA_FUNCTION(name, suffix, version, parameters) \
  template <>                                                    \
  struct FieldOf<Symbol::name> {                                 \
    static constexpr auto kMember = &DriverTable::name;          \
  };
#include "third_party/cuda_abi/functions.inc"

// Calls visit(FieldOf<symbol>(), symbol) for every symbol, in order.
template <typename Visitor>
void ForEachSymbol(Visitor visit) {
#define TWINMMU_CUDA_FUNCTION(name, suffix, version, parameters) \
  visit(FieldOf<Symbol::name>(), Symbol::name);
#include "third_party/cuda_abi/functions.inc"
}

SymbolState StateOf(const DriverTable& table, Symbol symbol);

}  // namespace twinmmu

#endif  // TWINMMU_BACKEND_DRIVER_TABLE_H_
