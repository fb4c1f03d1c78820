// How a simulator knows that it is in another process than the one that made it.

#ifndef TWINMMU_SIM_BASE_FORK_COUNT_H_
#define TWINMMU_SIM_BASE_FORK_COUNT_H_

#include <cstdint>

namespace twinmmu {

// How many forks lie between the start of the program and this process. Thread-safe.
uint32_t ForkCount();

}  // namespace twinmmu

#endif  // TWINMMU_SIM_BASE_FORK_COUNT_H_
