// Explanations: what happened at an address or to a handle, and which misuse that makes of a call.

#ifndef TWINMMU_SIM_DIAGNOSTICS_EXPLAIN_H_
#define TWINMMU_SIM_DIAGNOSTICS_EXPLAIN_H_

#include <optional>
#include <vector>

#include "api/diagnostic_words.h"
#include "api/diagnostics.h"
#include "sim/memory/linear_allocation.h"
#include "sim/state/call_history.h"
#include "sim/state/simulator_state.h"

namespace twinmmu {

// The call that makes linear memory of that kind.
Call MakerOf(LinearKind kind);
// The call that made an allocation, or a multicast object.
Call MakerOf(const AllocationRecord& allocation);

// Of all these: with mmu.mutex held, if only shared. They look only as far back as the history
// reaches; what is older is taken for never having been.

// The calls that had to do with `address`, oldest first; no more than some.
std::vector<HistoryEntry> HistoryOf(const SimulatorState& state, DeviceAddress address);
std::vector<HistoryEntry> HistoryOf(const SimulatorState& state, AllocationHandle handle);

// `device` cannot access all of `range`, which is not empty.
Misuse WhyNoAccess(const SimulatorState& state, DeviceOrdinal device, const AddressRange& range,
                   Access access);
// Of a fault of a device or of the host, the same.
Misuse WhyFault(const SimulatorState& state, const Fault& fault);
// Map, Export or GetAllocationProperties does not take `handle`.
Misuse WhyNotUsable(const SimulatorState& state, AllocationHandle handle);
// Queued work uses `range`, which is to be unmapped, or was to lose access; nullopt: it can still
// do what it is to do. Throws std::bad_alloc.
std::optional<Misuse> WhyPendingWorkFails(const SimulatorState& state, DiagnosticKind kind,
                                          const AddressRange& range);
// `handle` has no reference to release.
Misuse WhyNotReleased(const SimulatorState& state, AllocationHandle handle);
// Nothing is reserved at `address`, which is to be freed.
Misuse WhyNotFreed(const SimulatorState& state, DeviceAddress address);
// No linear allocation that could be freed begins at `address`.
Misuse WhyLinearNotFreed(const SimulatorState& state, DeviceAddress address);
// Nothing is mapped at `hole` of `range`, which is to be unmapped.
Misuse WhyNotUnmapped(const SimulatorState& state, const AddressRange& range, DeviceAddress hole);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_DIAGNOSTICS_EXPLAIN_H_
