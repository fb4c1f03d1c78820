// The names of calls in a recording.

#ifndef TWINMMU_API_TESTING_RECORDING_CALL_NAMES_H_
#define TWINMMU_API_TESTING_RECORDING_CALL_NAMES_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "api/driver_call.h"

namespace twinmmu {

// Its id in api/calls.inc, but for Async: that a copy has a stream shows in its line.
std::string RecordedName(DriverCall call);
// The reverse. nullopt: there is no such call.
std::optional<DriverCall> CallOfName(absl::string_view name, bool has_stream);

}  // namespace twinmmu

#endif  // TWINMMU_API_TESTING_RECORDING_CALL_NAMES_H_
