// Plays a litmus test whose threads are there from the start: one kernel on each device.

#ifndef TWINMMU_TOOLS_LITMUS_PLAY_THREADS_H_
#define TWINMMU_TOOLS_LITMUS_PLAY_THREADS_H_

#include "absl/status/statusor.h"
#include "tools/litmus_counts.h"
#include "tools/litmus_stage.h"

namespace twinmmu {

// Unimplemented: it cannot run, and why. Other errors are the driver's.
absl::StatusOr<LitmusCounts> PlayThreads(LitmusStage& stage, const LitmusPlay& play);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_LITMUS_PLAY_THREADS_H_
