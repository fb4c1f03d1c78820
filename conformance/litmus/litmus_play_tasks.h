// Plays a litmus test of tasks: launches, fills and copies on streams, many instances in each.

#ifndef TWINMMU_CONFORMANCE_LITMUS_LITMUS_PLAY_TASKS_H_
#define TWINMMU_CONFORMANCE_LITMUS_LITMUS_PLAY_TASKS_H_

#include "absl/status/statusor.h"
#include "conformance/litmus/litmus_counts.h"
#include "conformance/litmus/litmus_stage.h"

namespace twinmmu {

// Unimplemented: it cannot run, and why. Other errors are the driver's.
absl::StatusOr<LitmusCounts> PlayTasks(LitmusStage& stage, const LitmusPlay& play);

}  // namespace twinmmu

#endif  // TWINMMU_CONFORMANCE_LITMUS_LITMUS_PLAY_TASKS_H_
