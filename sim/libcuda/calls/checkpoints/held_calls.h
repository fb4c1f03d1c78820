// Which calls of other threads wait while the process is locked.

#ifndef TWINMMU_SIM_LIBCUDA_CALLS_CHECKPOINTS_HELD_CALLS_H_
#define TWINMMU_SIM_LIBCUDA_CALLS_CHECKPOINTS_HELD_CALLS_H_

#include "absl/strings/string_view.h"

namespace twinmmu::libcuda {

// By the name of the function, of whatever version.
bool WaitsWhileLocked(absl::string_view call);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_CALLS_CHECKPOINTS_HELD_CALLS_H_
