// Apart from the driver's types: driver_under_test.h has others of the same names.

#ifndef TWINMMU_CONFORMANCE_ABI_VALUES_DRIVER_SYMBOL_H_
#define TWINMMU_CONFORMANCE_ABI_VALUES_DRIVER_SYMBOL_H_

namespace twinmmu::abi {

// Null: the driver does not export it.
void* SymbolOf(const char* symbol);

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_VALUES_DRIVER_SYMBOL_H_
