// How a litmus test is played, and what was seen then.

#ifndef TWINMMU_CONFORMANCE_LITMUS_LITMUS_COUNTS_H_
#define TWINMMU_CONFORMANCE_LITMUS_LITMUS_COUNTS_H_

#include <cstdint>
#include <map>

#include "conformance/litmus/litmus_timing.h"
#include "sim/coherence/litmus/enumerate.h"

namespace twinmmu {

struct LitmusCounts {
  std::map<coherence::Outcome, uint64_t> outcomes;
  uint64_t rounds = 0;
  uint64_t late = 0;  // waits that were given up
};

struct LitmusPlay {
  uint64_t rounds = 1;  // at least
  uint32_t seed = 0;
  LitmusTiming timing = LitmusTiming::kClocks;
};

// In so many turns at least a test is played; of fewer rounds, fewer are played at once. On a GPU
// the kernels do the same again after 8. On the simulator all instances of a turn go the same way.
inline uint64_t FewestLitmusTurns(LitmusTiming timing) {
  return timing == LitmusTiming::kClocks ? 8 : 64;
}

}  // namespace twinmmu

#endif  // TWINMMU_CONFORMANCE_LITMUS_LITMUS_COUNTS_H_
