// ManualPage: twinmmu(1), from the tables of the commands.

#ifndef TWINMMU_TOOLS_COMMAND_LINE_MANUAL_PAGE_H_
#define TWINMMU_TOOLS_COMMAND_LINE_MANUAL_PAGE_H_

#include <string>
#include <vector>

namespace twinmmu {

struct EnvironmentVariable {
  std::string name;
  std::string meaning;
};

// In the format of man(7). `variables`: those of the simulated driver; the page adds those of the
// tool.
std::string ManualPage(const std::vector<EnvironmentVariable>& variables);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMAND_LINE_MANUAL_PAGE_H_
