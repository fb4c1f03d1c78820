// Plays a litmus test whose threads are there from the start: one kernel on each device.

#ifndef TWINMMU_CONFORMANCE_LITMUS_LITMUS_PLAY_THREADS_H_
#define TWINMMU_CONFORMANCE_LITMUS_LITMUS_PLAY_THREADS_H_

#include "absl/status/statusor.h"
#include "conformance/litmus/litmus_counts.h"
#include "conformance/litmus/litmus_stage.h"

namespace twinmmu {

// Unimplemented: it cannot run, and why. Other errors are the driver's.
absl::StatusOr<LitmusCounts> PlayThreads(LitmusStage& stage, const LitmusPlay& play);

}  // namespace twinmmu

#endif  // TWINMMU_CONFORMANCE_LITMUS_LITMUS_PLAY_THREADS_H_
