// What a replay on the simulator cannot be expected to repeat.

#ifndef TWINMMU_CONFORMANCE_RECORDINGS_MASKS_H_
#define TWINMMU_CONFORMANCE_RECORDINGS_MASKS_H_

#include "absl/types/span.h"
#include "api/testing/recording/replay.h"

namespace twinmmu::conformance {

// Each with its reason, which docs/guide/recordings.md repeats.
absl::Span<const Mask> SimulatorMasks();

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_RECORDINGS_MASKS_H_
