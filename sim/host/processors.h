// How many processors of the host this process may use at once.

#ifndef TWINMMU_SIM_HOST_PROCESSORS_H_
#define TWINMMU_SIM_HOST_PROCESSORS_H_

#include <string>

namespace twinmmu {

// Those it may run on, and no more than the time that its control group has, rounded up: a
// container with two processors' time (docker run --cpus=2) sees all that the host has. 1 at least.
// `control_groups`: the folder of the process's own group, as a container sees it.
int Processors(const std::string& control_groups = "/sys/fs/cgroup");

}  // namespace twinmmu

#endif  // TWINMMU_SIM_HOST_PROCESSORS_H_
