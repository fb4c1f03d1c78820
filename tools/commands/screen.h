// Screen: where a command shows what it does and what came of it.

#ifndef TWINMMU_TOOLS_COMMANDS_SCREEN_H_
#define TWINMMU_TOOLS_COMMANDS_SCREEN_H_

#include <ostream>
#include <sstream>

#include "nlohmann/json.hpp"
#include "tools/command_line/options.h"
#include "tools/terminal/progress_line.h"
#include "tools/terminal/terminal.h"
#include "tools/terminal/wrapped_lines.h"

namespace twinmmu {

using OrderedJson = nlohmann::ordered_json;

class Screen {
 public:
  explicit Screen(const OutputOptions& options);

  // For text, wrapped to the width of the terminal. With --quiet it is shown by Finish, and only if
  // the result is not as expected; where JSON takes its place, never.
  std::ostream& text() { return text_; }
  // For what is shown at once, --quiet or not.
  std::ostream& wrong() { return wrong_; }
  // Of both; none where the text is kept back.
  const Terminal& terminal() const { return terminal_; }
  ProgressLine& progress() { return progress_; }
  bool quiet() const { return options_.quiet; }
  bool wants_json() const { return options_.json.has_value(); }

  // The results of the command, which ends with this exit code. Returns it, or another one if the
  // results cannot be written.
  int Finish(int exit_code, const OrderedJson& results);
  int Finish(int exit_code);

 private:
  const OutputOptions options_;
  const Terminal terminal_;
  WrappedLines lines_;
  std::stringbuf kept_;
  std::ostream text_;
  std::ostream wrong_;
  ProgressLine progress_;
};

// What the results of every command begin with: {"format":1,"command":"info"}.
OrderedJson Results(const char* command);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMANDS_SCREEN_H_
