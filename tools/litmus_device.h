// Litmus tests on a device: through api/, with several mappings of one allocation as the aliases.

#ifndef TWINMMU_TOOLS_LITMUS_DEVICE_H_
#define TWINMMU_TOOLS_LITMUS_DEVICE_H_

#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/driver.h"
#include "sim/coherence/enumerate.h"
#include "sim/coherence/litmus.h"

namespace twinmmu {

struct LitmusCounts {
  std::map<coherence::Outcome, uint64_t> outcomes;
  uint64_t rounds = 0;
  uint64_t late = 0;  // waits that were given up
};

// Plays `test` on device 0 at least `rounds` times: one with threads in one kernel, many instances
// at once; one with tasks in launches on streams, many instances in each. Takes back all memory.
// Unimplemented: it cannot run there, and why; nothing was done. Other errors are the driver's.
// Multicast objects are never made: such a test is Unimplemented.
absl::StatusOr<LitmusCounts> PlayLitmus(Driver& driver, const coherence::LitmusTest& test,
                                        uint64_t rounds, uint32_t seed);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_LITMUS_DEVICE_H_
