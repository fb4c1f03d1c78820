// The simulated libcuda.so.1, where the process has loaded it: it is never loaded for NVML's sake,
// and other drivers do not have what is asked here.

#ifndef TWINMMU_SIM_LIBNVML_SIMULATED_DRIVER_H_
#define TWINMMU_SIM_LIBNVML_SIMULATED_DRIVER_H_

#include <cstdint>

#include "sim/libnvml/nvml_machine.h"

namespace twinmmu::nvml {

struct MemoryInUse {
  bool known = false;  // the process uses the driver, and sees the device
  uint64_t total = 0;
  uint64_t used = 0;
  uint64_t used_by_process = 0;
  bool has_context = false;  // the process has one on the device, or memory there
};

// Of a device: what the driver says, or, where this process does not use it, the profile.
MemoryInUse MemoryOf(const NvmlMachine& machine, int device);

// Says something in the report of the run. False: there is none, as the process does not use the
// driver yet.
bool Warn(const NvmlMachine& machine, const char* words);

}  // namespace twinmmu::nvml

#endif  // TWINMMU_SIM_LIBNVML_SIMULATED_DRIVER_H_
