// How the simulator words an error.

#ifndef TWINMMU_SIM_BASE_ERRORS_H_
#define TWINMMU_SIM_BASE_ERRORS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "api/driver_error.h"

namespace twinmmu {

// A status with the driver's code and "call: message". Out of line, so that calls that succeed do
// not carry the wording of their errors in the instruction cache.
template <typename... Parts>
[[gnu::cold, gnu::noinline]] absl::Status Fail(DriverCode code, const char* call,
                                               const Parts&... parts) {
  return MakeDriverStatus({code, ErrorOrigin::kSimulator, call},
                          absl::StrCat(call, ": ", parts...));
}

template <typename... Parts>
[[gnu::cold, gnu::noinline]] absl::Status InvalidValue(const char* call, const Parts&... parts) {
  return Fail(DriverCode::kInvalidValue, call, parts...);
}

}  // namespace twinmmu

#endif  // TWINMMU_SIM_BASE_ERRORS_H_
