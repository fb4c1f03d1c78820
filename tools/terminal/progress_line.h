// ProgressLine: a line on a terminal that counts, and is gone at the end.

#ifndef TWINMMU_TOOLS_TERMINAL_PROGRESS_H_
#define TWINMMU_TOOLS_TERMINAL_PROGRESS_H_

#include <chrono>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "tools/terminal/terminal.h"

namespace twinmmu {

class ProgressLine {
 public:
  // Shows nothing where `terminal` is none. `out` must outlive it.
  ProgressLine(std::ostream& out, const Terminal& terminal) : out_(out), terminal_(terminal) {}
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // In place of what is shown, at most ten times a second, cut to the width.
  void Show(absl::string_view text);
  // Before anything else is printed.
  void Clear();

 private:
  std::ostream& out_;
  const Terminal terminal_;
  std::chrono::steady_clock::time_point next_;
  bool shown_ = false;
};

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_TERMINAL_PROGRESS_H_
