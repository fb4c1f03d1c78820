// Leaks: what is left of a machine.

#ifndef TWINMMU_SIM_DIAGNOSTICS_LEAKS_H_
#define TWINMMU_SIM_DIAGNOSTICS_LEAKS_H_

#include <vector>

#include "api/diagnostics.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {

// Mappings, reservations, references, open descriptors and linear memory, each with the call that
// made it. With mmu.mutex held alone.
std::vector<Diagnostic> LeaksOf(const SimulatorState& state);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_DIAGNOSTICS_LEAKS_H_
