// Uses of stream-ordered memory, and what the order of streams has against them.

#ifndef TWINMMU_SIM_DIAGNOSTICS_POOLED_USES_H_
#define TWINMMU_SIM_DIAGNOSTICS_POOLED_USES_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "api/address.h"
#include "api/allocation.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {

// The work of call `work.call_id`, `name`, which `device` does, uses `range`; or all pieces for
// which has_used(buffer_id). Throws nothing. The first locks mmu.mutex, the second wants it held,
// if only shared.
void NoteUse(SimulatorState& state, const char* name, DeviceOrdinal device, const PooledWork& work,
             const AddressRange& range);
void NoteUsesOfKernel(SimulatorState& state, const char* name, DeviceOrdinal device,
                      const PooledWork& work, absl::FunctionRef<bool(uint64_t)> has_used);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_DIAGNOSTICS_POOLED_USES_H_
