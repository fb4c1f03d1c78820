// The backend over the simulated driver's functions as a machine to replay recordings on.

#ifndef TWINMMU_CONFORMANCE_INSTANCES_REPLAY_REPLAY_CUDA_ON_SIM_H_
#define TWINMMU_CONFORMANCE_INSTANCES_REPLAY_REPLAY_CUDA_ON_SIM_H_

#include "api/testing/recording/replay.h"

namespace twinmmu::conformance {

// As SimReplayOptions, but each call goes through the backend and the driver's C interface. The
// functions are linked in, since a library would not let reservations be placed. One replay at a
// time: a process has one such machine.
ReplayOptions CudaOnSimReplayOptions();

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_INSTANCES_REPLAY_REPLAY_CUDA_ON_SIM_H_
