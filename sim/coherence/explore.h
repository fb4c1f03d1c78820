// Runs of a litmus test on the view machine with the two-clock checker: one, or all.

#ifndef TWINMMU_SIM_COHERENCE_EXPLORE_H_
#define TWINMMU_SIM_COHERENCE_EXPLORE_H_

#include <cstdint>
#include <optional>
#include <set>

#include "absl/status/statusor.h"
#include "sim/coherence/enumerate.h"
#include "sim/coherence/litmus.h"

namespace twinmmu::coherence {

// Which of the values that the model allows a read gives.
enum class Policy {
  kCoherent,  // the newest
  // The oldest, so that a missing fence shows wherever it can; but the newest where the read and
  // that write are morally strong, so that flags are seen.
  kStale,
  kRandom,
  kL1,  // as from a cache per multiprocessor that knows lines by their virtual addresses
};

struct Exploration {
  uint64_t states = 0;
  std::set<Outcome> outcomes;
  std::set<Hazard> hazards;  // where the guards hold
};

// All runs: every order of the steps of threads, every value. ResourceExhausted: more than
// `max_states` states.
absl::StatusOr<Exploration> Explore(const LitmusTest& test, const Modes& modes,
                                    uint64_t max_states = 2'000'000);

struct SingleRun {
  Outcome outcome;
  std::set<Hazard> hazards;
};

// One run: `seed` chooses the order of the steps, `policy` the values. nullopt: it came to a point
// where every thread waits.
std::optional<SingleRun> RunOnce(const LitmusTest& test, const Modes& modes, Policy policy,
                                 uint64_t seed);

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_EXPLORE_H_
