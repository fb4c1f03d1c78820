// WarmUp: what a driver takes for itself when something is done for the first time, it takes here.

#ifndef TWINMMU_CONFORMANCE_ALLOCATORS_WARM_UP_H_
#define TWINMMU_CONFORMANCE_ALLOCATORS_WARM_UP_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "api/executor.h"
#include "api/vmm.h"

namespace twinmmu::conformance {

// Maps memory of the first of `devices`, which the others can reach, and lets each of them work
// there, on more streams than a test has at once. Returns all memory: what is free afterwards is
// what the driver leaves.
absl::Status WarmUp(Vmm& vmm, Executor& executor, absl::Span<const DeviceOrdinal> devices);

}  // namespace twinmmu::conformance

#endif  // TWINMMU_CONFORMANCE_ALLOCATORS_WARM_UP_H_
