// Runs of a litmus test on the operational model with the two-clock checker: one, or all.

#ifndef TWINMMU_SIM_COHERENCE_LITMUS_EXPLORE_H_
#define TWINMMU_SIM_COHERENCE_LITMUS_EXPLORE_H_

#include <cstdint>
#include <optional>
#include <set>

#include "absl/status/statusor.h"
#include "sim/coherence/litmus/enumerate.h"
#include "sim/coherence/litmus/litmus.h"
#include "sim/coherence/model/policy.h"

namespace twinmmu::coherence {

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

#endif  // TWINMMU_SIM_COHERENCE_LITMUS_EXPLORE_H_
