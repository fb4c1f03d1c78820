// Descriptors that the program gets from the driver.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_GIVEN_DESCRIPTOR_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_GIVEN_DESCRIPTOR_H_

#include "sim/libcuda/process.h"

namespace twinmmu::libcuda {

// It goes to `result`, an int, and the program is to close it.
void GiveDescriptor(DriverState& driver, int descriptor, void* result);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_GIVEN_DESCRIPTOR_H_
