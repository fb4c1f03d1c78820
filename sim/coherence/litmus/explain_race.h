// What a race is about, in words.

#ifndef TWINMMU_SIM_COHERENCE_LITMUS_EXPLAIN_RACE_H_
#define TWINMMU_SIM_COHERENCE_LITMUS_EXPLAIN_RACE_H_

#include <string>

#include "sim/coherence/litmus/enumerate.h"
#include "sim/coherence/model/litmus_program.h"

namespace twinmmu::coherence {

// "P0 instruction 1 (st.weak x, 1) and P1 instruction 2 (ld.weak r1, y) are the same memory through
// x and y: ordered, but without a proxy fence between. A fence.proxy.alias would do: in P0 after
// instruction 1 and before instruction 2; or ..."
std::string Explain(const Program& program, const Race& race);

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_LITMUS_EXPLAIN_RACE_H_
