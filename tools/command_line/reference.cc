#include "tools/command_line/reference.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "conformance/rules/document.h"
#include "tools/command_line/command_table.h"

namespace twinmmu {
namespace {

using conformance::Paragraph;

// What several commands take has a section of its own.
std::vector<std::string> SharedGroups() { return {std::begin(kGroups) + 1, std::end(kGroups)}; }

std::string Row(const OptionInfo& option) {
  return absl::StrCat("| `", absl::StrReplaceAll(Spelling(option), {{"|", "\\|"}}), "` | ",
                      option.description, " |\n");
}

std::string Table(const std::vector<OptionInfo>& options) {
  std::string text = "| flag | |\n|---|---|\n";
  for (const OptionInfo& option : options) absl::StrAppend(&text, Row(option));
  return absl::StrCat(text, "\n");
}

std::vector<OptionInfo> InGroup(const CommandInfo& command, const std::string& group) {
  std::vector<OptionInfo> options;
  for (OptionInfo& option : OptionsOf(command)) {
    if (option.group == group) options.push_back(std::move(option));
  }
  return options;
}

// Of the machine: `--backend`, `--driver`.
std::string SharedFlags(const CommandInfo& command) {
  std::vector<std::string> parts;
  for (const std::string& group : SharedGroups()) {
    std::vector<std::string> names;
    for (const OptionInfo& option : InGroup(command, group)) {
      names.push_back(absl::StrCat("`--", option.name, "`"));
    }
    if (names.empty()) continue;
    const std::string anchor = absl::StrReplaceAll(absl::AsciiStrToLower(group), {{" ", "-"}});
    parts.push_back(
        absl::StrCat("[", group, "](#", anchor, "): ", absl::StrJoin(names, ", "), "."));
  }
  return parts.empty() ? "" : absl::StrCat(Paragraph("", absl::StrJoin(parts, " ")), "\n");
}

std::string Section(const CommandInfo& command) {
  std::string text = absl::StrCat("## `", command.name, "`\n\n");
  for (const absl::string_view paragraph : absl::StrSplit(command.description, "\n\n")) {
    absl::StrAppend(&text, Paragraph("", paragraph), "\n");
  }
  for (const Example& example : command.examples) {
    absl::StrAppend(&text, "    ", example.command, "    # ", example.meaning, "\n");
  }
  absl::StrAppend(&text, "\n");
  const std::vector<OptionInfo> own = InGroup(command, kGroups[0]);
  if (!own.empty()) absl::StrAppend(&text, Table(own));
  absl::StrAppend(&text, SharedFlags(command));
  if (command.exit_codes.empty()) return text;
  absl::StrAppend(&text, "| exit code | |\n|---|---|\n");
  for (const ExitCode& code : command.exit_codes) {
    absl::StrAppend(&text, "| ", code.code, " | ", code.meaning, " |\n");
  }
  return absl::StrCat(text, "\n");
}

// The flags of a shared group, each once.
std::string SharedSection(const std::string& group) {
  std::vector<OptionInfo> all;
  for (const CommandInfo& command : AllCommands()) {
    for (OptionInfo& option : InGroup(command, group)) {
      const bool known = std::any_of(all.begin(), all.end(), [&](const OptionInfo& other) {
        return other.name == option.name;
      });
      if (!known) all.push_back(std::move(option));
    }
  }
  return absl::StrCat("## ", group, "\n\n", Table(all));
}

}  // namespace

absl::StatusOr<std::string> UpdateReference(absl::string_view document) {
  std::string text = "\n| command | what it does |\n|---|---|\n";
  for (const CommandInfo& command : AllCommands()) {
    absl::StrAppend(&text, "| [`", command.name, "`](#", command.name, ") | ", command.summary,
                    " |\n");
  }
  absl::StrAppend(&text, "\n");
  for (const CommandInfo& command : AllCommands()) absl::StrAppend(&text, Section(command));
  for (const std::string& group : SharedGroups()) absl::StrAppend(&text, SharedSection(group));
  return conformance::ReplaceSection(document, "commands", text);
}

}  // namespace twinmmu
