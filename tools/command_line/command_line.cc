#include "tools/command_line/command_line.h"

#include <algorithm>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/version.h"
#include "tools/command_line/command_table.h"
#include "tools/command_line/command_words.h"
#include "tools/command_line/help.h"

namespace twinmmu {
namespace {

std::string HelpOfAll(const Terminal& terminal) {
  std::string text = Overview(terminal);
  for (const CommandInfo& command : AllCommands()) {
    absl::StrAppend(&text, "\n\n", Help(command, terminal));
  }
  return text;
}

std::string VersionText() { return absl::StrCat("twinmmu ", kVersion, "\n"); }

bool Has(const Arguments& arguments, absl::string_view flag) {
  return std::find(arguments.flags.begin(), arguments.flags.end(), flag) != arguments.flags.end();
}

// What only prints. Empty: nothing does.
std::string TextOf(const Arguments& arguments, const Terminal& terminal) {
  if (Has(arguments, "--helpfull")) return HelpOfAll(terminal);
  if (Has(arguments, "--version")) return VersionText();
  if (!Has(arguments, "--help") && !Has(arguments, "--h")) return "";
  const CommandInfo* const command = FindCommand(arguments.command);
  return command == nullptr ? Overview(terminal) : Help(*command, terminal);
}

// Last word first, as the parser takes them. A value that is empty is a word of its own: "--out="
// is not taken for a flag without a value.
std::vector<std::string> WordsOf(const Arguments& arguments) {
  std::vector<std::string> words = {arguments.command};
  for (const std::string& flag : arguments.flags) {
    if (absl::EndsWith(flag, "=") && flag.find('=') + 1 == flag.size()) {
      words.push_back(flag.substr(0, flag.size() - 1));
      words.emplace_back();
    } else {
      words.push_back(flag);
    }
  }
  std::reverse(words.begin(), words.end());
  return words;
}

}  // namespace

absl::StatusOr<Request> ReadCommandLine(const std::vector<std::string>& words,
                                        const Terminal& terminal) {
  absl::StatusOr<Arguments> arguments = ReadArguments(words);
  if (!arguments.ok()) return arguments.status();
  Request request;
  request.text = TextOf(*arguments, terminal);
  request.options.command = arguments->command;
  if (!request.text.empty() || arguments->command.empty()) return request;
  CLI::App app(kPurpose, "twinmmu");
  for (const CommandInfo& command : AllCommands()) {
    command.add_options(*app.add_subcommand(command.name, command.summary), request.options);
  }
  try {  // The parser's errors are exceptions; they go no further.
    app.parse(WordsOf(*arguments));
  } catch (const CLI::ConversionError& error) {  // only flags without a value have types
    return absl::InvalidArgumentError(absl::StrCat(error.what(), ": it is true or false."));
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  request.options.operands = std::move(arguments->operands);
  return request;
}

}  // namespace twinmmu
