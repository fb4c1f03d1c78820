// Plays a litmus test on a stage.

#ifndef TWINMMU_CONFORMANCE_LITMUS_LITMUS_PLAY_H_
#define TWINMMU_CONFORMANCE_LITMUS_LITMUS_PLAY_H_

#include "absl/status/statusor.h"
#include "conformance/litmus/litmus_counts.h"
#include "conformance/litmus/litmus_stage.h"

namespace twinmmu {

// One whose threads are there from the start: one kernel on each device. Unimplemented: it cannot
// run, and why. Other errors are the driver's.
absl::StatusOr<LitmusCounts> PlayThreads(LitmusStage& stage, const LitmusPlay& play);

// The same of one of tasks: launches, fills and copies on streams, many instances in each.
absl::StatusOr<LitmusCounts> PlayTasks(LitmusStage& stage, const LitmusPlay& play);

}  // namespace twinmmu

#endif  // TWINMMU_CONFORMANCE_LITMUS_LITMUS_PLAY_H_
