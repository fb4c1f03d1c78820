// Fault: the end of all that a random program did with a device.

#ifndef TWINMMU_CONFORMANCE_ABI_RANDOM_FAULT_H_
#define TWINMMU_CONFORMANCE_ABI_RANDOM_FAULT_H_

#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {

// Launches a kernel that faults, and waits for it.
void Fault(ProgramWorld& world);

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_RANDOM_FAULT_H_
