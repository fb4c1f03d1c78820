// Explanations: what happened at an address or to a handle, and which misuse that makes of a call.

#ifndef TWINMMU_SIM_EXPLAIN_H_
#define TWINMMU_SIM_EXPLAIN_H_

#include <optional>
#include <vector>

#include "api/diagnostic_words.h"
#include "api/diagnostics.h"
#include "sim/history.h"
#include "sim/mmu.h"
#include "sim/plain_allocation.h"

namespace twinmmu {

// The call that makes plain memory of that kind.
Call MakerOf(PlainKind kind);
// The call that made an allocation, or a multicast object.
Call MakerOf(const AllocationRecord& allocation);

// Of all these: with mmu.mutex held, if only shared. They look only as far back as the history
// reaches; what is older is taken for never having been.

// The calls that had to do with `address`, oldest first; no more than some.
std::vector<HistoryEntry> HistoryOf(const Mmu& mmu, DeviceAddress address);
std::vector<HistoryEntry> HistoryOf(const Mmu& mmu, AllocationHandle handle);

// `device` cannot access all of `range`, which is not empty.
Misuse WhyNoAccess(const Mmu& mmu, DeviceOrdinal device, const AddressRange& range, Access access);
// Of a fault of a device or of the host, the same.
Misuse WhyFault(const Mmu& mmu, const Fault& fault);
// Map, Export or GetAllocationProperties does not take `handle`.
Misuse WhyNotUsable(const Mmu& mmu, AllocationHandle handle);
// Queued work uses `range`, which is to be unmapped, or was to lose a right; nullopt: it can still
// do what it is to do. Throws std::bad_alloc.
std::optional<Misuse> WhyPendingWorkFails(const Mmu& mmu, DiagnosticKind kind,
                                          const AddressRange& range);
// `handle` has no reference to release.
Misuse WhyNotReleased(const Mmu& mmu, AllocationHandle handle);
// Nothing is reserved at `address`, which is to be freed.
Misuse WhyNotFreed(const Mmu& mmu, DeviceAddress address);
// No plain allocation that could be freed begins at `address`.
Misuse WhyPlainNotFreed(const Mmu& mmu, DeviceAddress address);
// Nothing is mapped at `hole` of `range`, which is to be unmapped.
Misuse WhyNotUnmapped(const Mmu& mmu, const AddressRange& range, DeviceAddress hole);

}  // namespace twinmmu

#endif  // TWINMMU_SIM_EXPLAIN_H_
