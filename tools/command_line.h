// Arguments: what stands on the command line, in the form that Abseil's flags take.

#ifndef TWINMMU_TOOLS_COMMAND_LINE_H_
#define TWINMMU_TOOLS_COMMAND_LINE_H_

#include <string>
#include <vector>

namespace twinmmu {

struct Arguments {
  std::vector<std::string> own;      // of the tool, its name first
  std::vector<std::string> program;  // what stands behind "--"
};

// The tool's own are those before "--", without those of GoogleTest, with which it starts this
// program anew for a test that may end the process.
//
// Flags may be written with hyphens, "--require-hardware"; Abseil knows them with underscores.
// "--fail" may be there several times, and becomes one, with semicolons. "--error-exitcode" needs
// no value.
Arguments ReadArguments(int argc, const char* const* argv);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMAND_LINE_H_
