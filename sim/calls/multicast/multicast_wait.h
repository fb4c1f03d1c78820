// Waiting for a multicast team.

#ifndef TWINMMU_SIM_CALLS_MULTICAST_MULTICAST_WAIT_H_
#define TWINMMU_SIM_CALLS_MULTICAST_MULTICAST_WAIT_H_

#include <mutex>

#include "absl/status/status.h"
#include "sim/base/striped_mutex.h"
#include "sim/diagnostics/call_record.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {

// OK: all devices are in the team of `object`, or it is no multicast object (any more). Where some
// are missing a driver waits, maybe for ever. Here the call waits as long as
// Profile::multicast_wait_ms says, and is refused then; at once where no other process has had the
// object, as then none can add a device. `lock` holds mmu.mutex; while the call waits it does not,
// so what was looked up before may be gone after.
absl::Status AwaitTeam(SimulatorState& state, CallRecord& call,
                       std::unique_lock<StripedMutex>& lock, AllocationHandle object);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_CALLS_MULTICAST_MULTICAST_WAIT_H_
