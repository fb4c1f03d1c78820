// Arguments: the words of a command line in one order, and in one spelling.

#ifndef TWINMMU_TOOLS_COMMAND_LINE_COMMAND_WORDS_H_
#define TWINMMU_TOOLS_COMMAND_LINE_COMMAND_WORDS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace twinmmu {

struct Arguments {
  std::string command;                // empty: none is named
  std::vector<std::string> flags;     // "--sim-devices=2"
  std::vector<std::string> operands;  // the others, and what stands behind "--"
};

// Flags may stand before the command or behind it, with hyphens or underscores, and with their
// value in the same word or the next; "--nostrict" is "--strict=false". Those of GoogleTest are
// left out: with them it starts this program anew for a test that may end the process.
//
// InvalidArgument: a command or a flag that does not exist, or a flag without its value; the
// message names what is nearest.
absl::StatusOr<Arguments> ReadArguments(const std::vector<std::string>& words);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMAND_LINE_COMMAND_WORDS_H_
