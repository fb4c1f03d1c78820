#include "tools/commands/screen.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "tools/commands/failure.h"

namespace twinmmu {
namespace {

std::string ToText(const OrderedJson& json) {
  return json.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

Terminal TextTerminal(const OutputOptions& options) {
  return options.json_to_stdout() ? Terminal() : TerminalOf(STDOUT_FILENO);
}

}  // namespace

Screen::Screen(const OutputOptions& options)
    : options_(options),
      terminal_(TextTerminal(options)),
      lines_(*std::cout.rdbuf(), terminal_.width),
      text_(options.json_to_stdout() ? nullptr
            : options.quiet          ? static_cast<std::streambuf*>(&kept_)
                                     : &lines_),
      wrong_(options.json_to_stdout() ? nullptr : &lines_),
      progress_(std::cerr, options.quiet ? Terminal() : TerminalOf(STDERR_FILENO)) {}

int Screen::Finish(int exit_code) {
  progress_.Clear();
  if (exit_code != 0 && !options_.json_to_stdout()) wrong_ << kept_.str();
  kept_.str("");
  return exit_code;
}

int Screen::Finish(int exit_code, const OrderedJson& results) {
  exit_code = Finish(exit_code);
  if (!options_.json.has_value()) return exit_code;
  if (options_.json_to_stdout()) {
    std::cout << ToText(results);
    return exit_code;
  }
  std::ofstream file(*options_.json);
  file << ToText(results);
  file.close();
  if (file) return exit_code;
  return UsageError(absl::StrCat("cannot write ", *options_.json, ": ", std::strerror(errno)));
}

OrderedJson Results(const char* command) { return {{"format", 1}, {"command", command}}; }

}  // namespace twinmmu
