// `twinmmu run -- PROGRAM`: a program on the simulated driver, and what can be said of it.

#ifndef TWINMMU_TOOLS_RUN_RUN_PROGRAM_H_
#define TWINMMU_TOOLS_RUN_RUN_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/annotations/ci_reports.h"
#include "tools/views/view_paths.h"

namespace twinmmu {

struct RunOptions {
  // Variables of docs/guide/libcuda.md for the program, over those of the environment.
  std::vector<std::pair<std::string, std::string>> variables;
  std::string report_file;             // for JSON Lines; empty: none
  std::optional<int> error_exit_code;  // where the program is fine and the report has errors
  size_t report_limit = 10;            // so many of a kind are shown; 0: all
  ViewPaths views;                     // to write
  CiReports ci;                        // to write
  uint64_t stack_depth = 16;           // of the events that they show
  bool quiet = false;                  // no words where nothing is wrong
};

// Runs the program, and tells of it on stderr. Its exit code; 128 and the number of the signal that
// ended it; 127 where it is not found, 126 where it cannot be run; 2 where the options are wrong.
int RunProgram(const RunOptions& options, const std::vector<std::string>& command);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_RUN_RUN_PROGRAM_H_
