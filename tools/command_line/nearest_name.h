// DidYouMean: the name that was probably meant.

#ifndef TWINMMU_TOOLS_COMMAND_LINE_NEAREST_NAME_H_
#define TWINMMU_TOOLS_COMMAND_LINE_NEAREST_NAME_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace twinmmu {

// One of `names` that differs from `name` by a typing error or two, or that begins with it; empty:
// none does.
std::string NearestName(absl::string_view name, const std::vector<std::string>& names);

// "; did you mean --backend?", `prefix` before the name; empty where nothing is near.
std::string DidYouMean(absl::string_view name, const std::vector<std::string>& names,
                       absl::string_view prefix = "");

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMAND_LINE_NEAREST_NAME_H_
