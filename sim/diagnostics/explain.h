// Explanations: what happened at an address or to a handle, and which misuse that makes of a call.

#ifndef TWINMMU_SIM_DIAGNOSTICS_EXPLAIN_H_
#define TWINMMU_SIM_DIAGNOSTICS_EXPLAIN_H_

#include <optional>
#include <vector>

#include "api/diagnostic_words.h"
#include "api/diagnostics.h"
#include "sim/machine/call_history.h"
#include "sim/machine/machine_state.h"
#include "sim/memory/linear_allocation.h"

namespace twinmmu {

// The call that makes plain memory of that kind.
Call MakerOf(PlainKind kind);
// The call that made an allocation, or a multicast object.
Call MakerOf(const AllocationRecord& allocation);

// Of all these: with mmu.mutex held, if only shared. They look only as far back as the history
// reaches; what is older is taken for never having been.

// The calls that had to do with `address`, oldest first; no more than some.
std::vector<HistoryEntry> HistoryOf(const MachineState& machine, DeviceAddress address);
std::vector<HistoryEntry> HistoryOf(const MachineState& machine, AllocationHandle handle);

// `device` cannot access all of `range`, which is not empty.
Misuse WhyNoAccess(const MachineState& machine, DeviceOrdinal device, const AddressRange& range,
                   Access access);
// Of a fault of a device or of the host, the same.
Misuse WhyFault(const MachineState& machine, const Fault& fault);
// Map, Export or GetAllocationProperties does not take `handle`.
Misuse WhyNotUsable(const MachineState& machine, AllocationHandle handle);
// Queued work uses `range`, which is to be unmapped, or was to lose a right; nullopt: it can still
// do what it is to do. Throws std::bad_alloc.
std::optional<Misuse> WhyPendingWorkFails(const MachineState& machine, DiagnosticKind kind,
                                          const AddressRange& range);
// `handle` has no reference to release.
Misuse WhyNotReleased(const MachineState& machine, AllocationHandle handle);
// Nothing is reserved at `address`, which is to be freed.
Misuse WhyNotFreed(const MachineState& machine, DeviceAddress address);
// No plain allocation that could be freed begins at `address`.
Misuse WhyPlainNotFreed(const MachineState& machine, DeviceAddress address);
// Nothing is mapped at `hole` of `range`, which is to be unmapped.
Misuse WhyNotUnmapped(const MachineState& machine, const AddressRange& range, DeviceAddress hole);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_DIAGNOSTICS_EXPLAIN_H_
