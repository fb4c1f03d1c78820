// Litmus tests on devices: through api/, with several mappings of one allocation as the aliases.

#ifndef TWINMMU_CONFORMANCE_LITMUS_LITMUS_DEVICE_H_
#define TWINMMU_CONFORMANCE_LITMUS_LITMUS_DEVICE_H_

#include "absl/status/statusor.h"
#include "api/driver.h"
#include "conformance/litmus/litmus_counts.h"
#include "sim/coherence/litmus/litmus.h"

namespace twinmmu {

// Plays `test`: one with threads in one kernel, many instances at once; one with tasks in launches
// on streams, many instances in each. A test for one GPU runs on device 0; one for two on devices 0
// and 1, in a kernel each, which meet before every turn. The memory is that of device 0; of a
// multicast object each device has its own. Gives back all that it took.
// Unimplemented: it cannot run there, and why; nothing was done. So it is of a test with multimem
// where the driver has no Driver::multicast(), as the backend if it is not asked for it. Internal:
// some rounds were not counted. Other errors are the driver's.
absl::StatusOr<LitmusCounts> PlayLitmus(Driver& driver, const coherence::LitmusTest& test,
                                        const LitmusPlay& play);

}  // namespace twinmmu

#endif  // TWINMMU_CONFORMANCE_LITMUS_LITMUS_DEVICE_H_
