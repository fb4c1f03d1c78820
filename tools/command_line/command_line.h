// ReadCommandLine: the words of a command line as options.

#ifndef TWINMMU_TOOLS_COMMAND_LINE_COMMAND_LINE_H_
#define TWINMMU_TOOLS_COMMAND_LINE_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/command_line/options.h"
#include "tools/terminal/terminal.h"

namespace twinmmu {

// What a command line asks for: to do something, or to print a text and nothing else.
struct Request {
  Options options;
  std::string text;  // of --help, --version
};

// `words`: without the name of the program. `terminal`: where the text will go. InvalidArgument:
// the message says which word is wrong, and what is nearest to it. Without a command, the command
// of the options is empty.
absl::StatusOr<Request> ReadCommandLine(const std::vector<std::string>& words,
                                        const Terminal& terminal);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMAND_LINE_COMMAND_LINE_H_
