// The simulator as a machine to replay recordings on.

#ifndef TWINMMU_CONFORMANCE_INSTANCES_REPLAY_REPLAY_SIM_H_
#define TWINMMU_CONFORMANCE_INSTANCES_REPLAY_REPLAY_SIM_H_

#include <string>

#include "absl/status/statusor.h"
#include "api/testing/recording/replay.h"
#include "sim/profile/profile.h"

namespace twinmmu::conformance {

// The reference machine with what the first line of a recording tells of its own: how many devices,
// their memory, who reaches whom. All addresses of 47 bits are there, so that reservations can be
// where they were.
absl::StatusOr<Profile> ProfileOf(const Json& header);

// With the masks for a simulator, on such machines.
ReplayOptions SimReplayOptions();

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_INSTANCES_REPLAY_REPLAY_SIM_H_
