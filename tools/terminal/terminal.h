// Terminal: what the output may look like where it goes.

#ifndef TWINMMU_TOOLS_TERMINAL_TERMINAL_H_
#define TWINMMU_TOOLS_TERMINAL_TERMINAL_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace twinmmu {

struct Terminal {
  size_t width = 0;     // 0: no terminal; nothing is shortened, and nothing written over
  bool colour = false;  // never where `width` is 0

  bool is_terminal() const { return width != 0; }

  // `text` in that style, or as it is.
  std::string Bold(absl::string_view text) const;
  std::string Red(absl::string_view text) const;
  std::string Green(absl::string_view text) const;
  std::string Yellow(absl::string_view text) const;
};

// What decides: the environment, and what the system says of the file.
struct TerminalFacts {
  bool is_terminal = false;
  size_t columns = 0;  // 0: not known
  std::function<const char*(const char*)> variable;
};

// COLUMNS goes before what the terminal says. Colour: on a terminal, unless NO_COLOR is set (to
// anything but nothing) or TERM is "dumb".
Terminal DescribeTerminal(const TerminalFacts& facts);

Terminal TerminalOf(int file_descriptor);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_TERMINAL_TERMINAL_H_
