// The tests of allocators on this machine's driver and devices. Absent hardware is a failure.

#include <vector>

#include "conformance/allocators/implementations.h"
#include "conformance/instances/cuda_target.h"

namespace twinmmu::conformance {

std::vector<Implementation> Implementations() { return {{CudaTarget(), nullptr}}; }

}  // namespace twinmmu::conformance
