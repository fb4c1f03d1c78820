// Causality: what comes before what in an execution, as far as the axioms of the memory model say
// so before the order of writes is known.

#ifndef TWINMMU_SIM_COHERENCE_LITMUS_CAUSALITY_H_
#define TWINMMU_SIM_COHERENCE_LITMUS_CAUSALITY_H_

#include <optional>

#include "sim/coherence/litmus/candidate.h"
#include "sim/coherence/litmus/events.h"

namespace twinmmu::coherence {

struct Causality {
  Relation observation;  // from a write to the reads that see it, through atomic operations too
  Relation base;         // base causality order: synchronisation, whatever the addresses
  Relation cause;        // causality order: of accesses, with the proxies preserved
  bool causal = false;   // base causality and reads-from have no cycle together
};

// `fence_order`: of the fence.sc. nullopt: the axioms forbid the execution.
std::optional<Causality> CausalityOf(const Candidate& candidate, const Relation& fence_order);

}  // namespace twinmmu::coherence

#endif  // TWINMMU_SIM_COHERENCE_LITMUS_CAUSALITY_H_
