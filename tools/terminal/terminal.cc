#include "tools/terminal/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace twinmmu {
namespace {

constexpr size_t kUsualColumns = 80;
// Narrower ones show less than nothing.
constexpr size_t kFewestColumns = 40;

std::string Styled(bool colour, const char* code, absl::string_view text) {
  return colour ? absl::StrCat("\x1b[", code, "m", text, "\x1b[0m") : std::string(text);
}

std::string Variable(const TerminalFacts& facts, const char* name) {
  const char* const value = facts.variable(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string Terminal::Bold(absl::string_view text) const { return Styled(colour, "1", text); }
std::string Terminal::Red(absl::string_view text) const { return Styled(colour, "31", text); }
std::string Terminal::Green(absl::string_view text) const { return Styled(colour, "32", text); }
std::string Terminal::Yellow(absl::string_view text) const { return Styled(colour, "33", text); }

Terminal DescribeTerminal(const TerminalFacts& facts) {
  Terminal terminal;
  if (!facts.is_terminal) return terminal;
  uint64_t columns = 0;
  if (!absl::SimpleAtoi(Variable(facts, "COLUMNS"), &columns) || columns == 0) {
    columns = facts.columns == 0 ? kUsualColumns : facts.columns;
  }
  terminal.width = std::max<size_t>(columns, kFewestColumns);
  terminal.colour = Variable(facts, "NO_COLOR").empty() && Variable(facts, "TERM") != "dumb";
  return terminal;
}

Terminal TerminalOf(int file_descriptor) {
  TerminalFacts facts;
  facts.is_terminal = isatty(file_descriptor) != 0;
  facts.variable = [](const char* name) { return std::getenv(name); };
  winsize size = {};
  if (facts.is_terminal && ioctl(file_descriptor, TIOCGWINSZ, &size) == 0) {
    facts.columns = size.ws_col;
  }
  return DescribeTerminal(facts);
}

}  // namespace twinmmu
