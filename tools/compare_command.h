// twinmmu compare: what two machines do differently.

#ifndef TWINMMU_TOOLS_COMPARE_COMMAND_H_
#define TWINMMU_TOOLS_COMPARE_COMMAND_H_

#include <ostream>
#include <string>
#include <vector>

namespace twinmmu {

// Prints how the second recording differs from the first, by rule. Returns the exit code: 0 only
// without a difference.
int CompareFiles(const std::vector<std::string>& paths, std::ostream& out);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMPARE_COMMAND_H_
