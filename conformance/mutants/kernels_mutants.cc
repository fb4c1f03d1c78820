// Mutants of kernels.

#include "conformance/mutants/mutant.h"

namespace twinmmu::conformance {

NO_MUTANT(KERNEL_1, "the simulator runs no kernels")
NO_MUTANT(KERNEL_2, "the simulator runs no kernels")
NO_MUTANT(KERNEL_3, "the simulator runs no kernels")
NO_MUTANT(KERNEL_4, "the simulator runs no kernels")
NO_MUTANT(KERNEL_5, "the simulator runs no kernels")
NO_MUTANT(KERNEL_6, "the simulator runs no kernels")
NO_MUTANT(ALIAS_1, "the simulator runs no kernels")
NO_MUTANT(ALIAS_2, "the simulator runs no kernels")
NO_MUTANT(ALIAS_3, "the simulator runs no kernels")
NO_MUTANT(FAULT_1, "the simulator runs no kernels")
NO_MUTANT(FAULT_2, "the simulator runs no kernels")
NO_MUTANT(FAULT_3, "the simulator runs no kernels")
NO_MUTANT(FAULT_4, "the simulator runs no kernels")
NO_MUTANT(PEER_7, "the simulator runs no kernels")

}  // namespace twinmmu::conformance
