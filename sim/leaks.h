// Leaks: what is left of a machine.

#ifndef TWINMMU_SIM_LEAKS_H_
#define TWINMMU_SIM_LEAKS_H_

#include <cstdint>
#include <vector>

#include "api/diagnostics.h"
#include "sim/history.h"
#include "sim/mmu.h"

namespace twinmmu {

// What `call`, of that number, has made and is left.
Diagnostic LeakOf(DiagnosticKind kind, Call call, uint64_t number);

// Mappings, reservations, references, open descriptors and plain memory, each with the call that
// made it. With mmu.mutex held alone.
std::vector<Diagnostic> LeaksOf(const Mmu& mmu);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_LEAKS_H_
