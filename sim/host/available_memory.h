// What the host has left for memory that was never written.

#ifndef TWINMMU_SIM_HOST_AVAILABLE_MEMORY_H_
#define TWINMMU_SIM_HOST_AVAILABLE_MEMORY_H_

#include <cstdint>
#include <string>

#include "api/address.h"

namespace twinmmu {

// What can be written for the first time before the host ends a process for it: of the machine, and
// of the control group if there is one. All that there can be, if the host does not say.
// `control_group`: the folder of the process's own, as a container sees it.
Bytes AvailableMemory(const std::string& control_group = "/sys/fs/cgroup");
// How many of `size` bytes at `memory` are on pages that take none of it yet.
Bytes UntouchedBytes(const char* memory, uint64_t size);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_HOST_AVAILABLE_MEMORY_H_
