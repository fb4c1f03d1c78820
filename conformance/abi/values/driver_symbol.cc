#include "conformance/abi/values/driver_symbol.h"

#include "conformance/abi/driver_under_test.h"

namespace twinmmu::abi {

void* SymbolOf(const char* symbol) { return FindSymbol(symbol); }

}  // namespace twinmmu::abi
