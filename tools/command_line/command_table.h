// The commands of `twinmmu`, and the flags of each. Parser, help, manual page, completion and the
// reference are made from these tables.

#ifndef TWINMMU_TOOLS_COMMAND_LINE_COMMAND_TABLE_H_
#define TWINMMU_TOOLS_COMMAND_LINE_COMMAND_TABLE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tools/command_line/options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace twinmmu {

struct Example {
  const char* command;
  const char* meaning;
};

struct ExitCode {
  const char* code;
  const char* meaning;
};

struct CommandInfo {
  const char* name;
  const char* operands;     // "FILE...", or nothing
  const char* summary;      // one line
  const char* description;  // paragraphs, an empty line between them
  void (*add_options)(CLI::App&, Options&);
  std::vector<Example> examples;
  std::vector<ExitCode> exit_codes;  // empty: kExitCodes
};

// In the order in which they are shown.
const std::vector<CommandInfo>& AllCommands();
// Null: there is none of that name.
const CommandInfo* FindCommand(absl::string_view name);
std::vector<std::string> CommandNames();

// Of commands that have no others.
const std::vector<ExitCode>& ExitCodesOf(const CommandInfo& command);

// The groups that flags are shown in. The first is for those that one command has.
inline constexpr const char* kGroups[] = {"Flags", "The suite", "The machine", "Views of memory",
                                          "Output"};

// A flag, as parser, help and documents need it.
struct OptionInfo {
  std::string name;   // without hyphens: "sim-devices"
  std::string value;  // "N"; empty: a flag that is there or not
  bool value_may_be_absent = false;
  std::string description;
  std::string group;                 // "Output"
  std::vector<std::string> choices;  // for completion; empty: anything
};

std::vector<OptionInfo> OptionsOf(const CommandInfo& command);

// "--json[=FILE]"
std::string Spelling(const OptionInfo& option);

}  // namespace twinmmu

#endif  // TWINMMU_TOOLS_COMMAND_LINE_COMMAND_TABLE_H_
