// DriverCall: names a call of the interface, for code that counts, fails or records calls by kind.

#ifndef TWINMMU_API_DRIVER_CALL_H_
#define TWINMMU_API_DRIVER_CALL_H_

#include <cstdint>
#include <ostream>

#include "absl/strings/string_view.h"
#include "api/calls.inc"

namespace twinmmu {

// kMap is Vmm::Map, kFill is Executor::Fill on a device, kFillAsync the one on a stream,
// kMulticastCreate is Multicast::Create, kCreateArray SparseArrays::CreateArray. api/calls.inc has
// the list.
enum class DriverCall : uint8_t {
#define TWINMMU_ENUMERATOR(context, id, ...) k##id,
  TWINMMU_ALL_CALLS(TWINMMU_ENUMERATOR, )
#undef TWINMMU_ENUMERATOR
};

// The driver's name of a call: "cuMemMap". "unknown call" for a value not in the list.
absl::string_view DriverCallName(DriverCall call);
std::ostream& operator<<(std::ostream& out, DriverCall call);

}  // namespace twinmmu

#endif  // TWINMMU_API_DRIVER_CALL_H_
