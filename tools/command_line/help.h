// Help: what `--help` shows.

#ifndef TWINMMU_TOOLS_COMMAND_LINE_HELP_H_
#define TWINMMU_TOOLS_COMMAND_LINE_HELP_H_

#include <string>

#include "tools/command_line/command_table.h"
#include "tools/terminal/terminal.h"

namespace twinmmu {

// One sentence: what the program is for.
extern const char kPurpose[];

// All commands, a line each.
std::string Overview(const Terminal& terminal);
// One command: its usage, its own flags, examples and exit codes.
std::string Help(const CommandInfo& command, const Terminal& terminal);

// The headings of a command's flags, its own first.
std::vector<std::string> GroupsOf(const std::vector<OptionInfo>& options);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMAND_LINE_HELP_H_
