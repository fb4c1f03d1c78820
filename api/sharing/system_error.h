// What an errno means when memory is shared.

#ifndef TWINMMU_API_SHARING_SYSTEM_ERROR_H_
#define TWINMMU_API_SHARING_SYSTEM_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace twinmmu {

// "<what>: <the system's words>": ResourceExhausted for a lack of descriptors or memory, Internal
// for the rest.
absl::Status SystemError(absl::string_view what, int error);

}  // namespace twinmmu

#endif  // TWINMMU_API_SHARING_SYSTEM_ERROR_H_
