// The generated part of docs/reference/twinmmu.md.

#ifndef TWINMMU_TOOLS_COMMAND_LINE_REFERENCE_H_
#define TWINMMU_TOOLS_COMMAND_LINE_REFERENCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace twinmmu {

inline constexpr char kReferencePath[] = "docs/reference/twinmmu.md";

// `document` with the commands as they are now.
absl::StatusOr<std::string> UpdateReference(absl::string_view document);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMAND_LINE_REFERENCE_H_
