// DriverCall: names a call of the interface, for what counts, fails or records calls by kind.

#ifndef TWINMMU_API_TESTING_DRIVER_CALL_H_
#define TWINMMU_API_TESTING_DRIVER_CALL_H_

#include <ostream>

#include "absl/strings/string_view.h"

namespace twinmmu {

// kMap is Vmm::Map, kFill is Executor::Fill of a device, kFillAsync that of a stream,
// kMulticastCreate is Multicast::Create, kCreateArray SparseArrays::CreateArray.
// driver_calls.inc has the list.
enum class DriverCall {
#define TWINMMU_VMM_CALL(method, name) k##method,
#define TWINMMU_EXECUTOR_CALL(method, name) k##method,
#define TWINMMU_MULTICAST_CALL(method, name) kMulticast##method,
#define TWINMMU_SPARSE_ARRAYS_CALL(method, name) k##method,
#include "api/testing/driver_calls.inc"
};

// The driver's name of a call: "cuMemMap". "unknown call" for a number that is not in the list.
absl::string_view DriverCallName(DriverCall call);
std::ostream& operator<<(std::ostream& out, DriverCall call);

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_DRIVER_CALL_H_
