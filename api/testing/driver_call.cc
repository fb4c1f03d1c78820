#include "api/testing/driver_call.h"

namespace twinmmu {

absl::string_view DriverCallName(DriverCall call) {
  switch (call) {
#define TWINMMU_VMM_CALL(method, name) \
  case DriverCall::k##method:          \
    return #name;
#define TWINMMU_EXECUTOR_CALL(method, name) TWINMMU_VMM_CALL(method, name)
#define TWINMMU_SPARSE_ARRAYS_CALL(method, name) TWINMMU_VMM_CALL(method, name)
#define TWINMMU_MULTICAST_CALL(method, name) \
  case DriverCall::kMulticast##method:       \
    return #name;
#include "api/testing/driver_calls.inc"
  }
  return "unknown call";
}

std::ostream& operator<<(std::ostream& out, DriverCall call) { return out << DriverCallName(call); }

}  // namespace twinmmu
