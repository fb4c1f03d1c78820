// Plays a litmus test of tasks: launches, fills and copies on streams, many instances in each.

#ifndef TWINMMU_TOOLS_LITMUS_PLAY_TASKS_H_
#define TWINMMU_TOOLS_LITMUS_PLAY_TASKS_H_

#include "absl/status/statusor.h"
#include "tools/litmus_counts.h"
#include "tools/litmus_stage.h"

namespace twinmmu {

// Unimplemented: it cannot run, and why. Other errors are the driver's.
absl::StatusOr<LitmusCounts> PlayTasks(LitmusStage& stage, const LitmusPlay& play);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_LITMUS_PLAY_TASKS_H_
