// The races of one execution.

#ifndef TWINMMU_SIM_COHERENCE_LITMUS_RACES_H_
#define TWINMMU_SIM_COHERENCE_LITMUS_RACES_H_

#include <set>

#include "sim/coherence/litmus/candidate.h"
#include "sim/coherence/litmus/causality.h"
#include "sim/coherence/litmus/enumerate.h"

namespace twinmmu::coherence {

std::set<Race> RacesOf(const Candidate& candidate, const Causality& causality);

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_LITMUS_RACES_H_
