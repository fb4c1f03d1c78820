#include "tools/command_line/help.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "conformance/rules/document.h"

namespace twinmmu {
namespace {

using conformance::Paragraph;

// Where nobody says how wide it may be, and where lines get too long to read.
constexpr size_t kUsualWidth = 80;
constexpr size_t kGreatestWidth = 110;
// What a column of names takes at most; a longer one has a line of its own.
constexpr size_t kWidestName = 26;

size_t WidthOf(const Terminal& terminal) {
  return terminal.width == 0 ? kUsualWidth : std::min(terminal.width, kGreatestWidth);
}

struct Entry {
  std::string name;
  std::string text;
};

// Names on the left, texts on the right.
std::string List(const std::vector<Entry>& entries, size_t width) {
  size_t column = 0;
  for (const Entry& entry : entries) {
    if (entry.name.size() <= kWidestName) column = std::max(column, entry.name.size());
  }
  std::string list;
  for (const Entry& entry : entries) {
    const bool fits = entry.name.size() <= column;
    std::string first = absl::StrCat("  ", entry.name);
    if (!fits) absl::StrAppend(&list, first, "\n");
    const std::string lead = fits ? absl::StrCat(first, std::string(column + 4 - first.size(), ' '))
                                  : std::string(column + 4, ' ');
    absl::StrAppend(&list, Paragraph(lead, entry.text, width));
  }
  return list;
}

std::string Section(const Terminal& terminal, absl::string_view heading, absl::string_view body) {
  return absl::StrCat("\n", terminal.Bold(heading), "\n", body);
}

std::string Examples(const CommandInfo& command, size_t width) {
  std::string text;
  for (const Example& example : command.examples) {
    absl::StrAppend(&text, Paragraph("  # ", example.meaning, width), "  ", example.command, "\n");
  }
  return text;
}

}  // namespace

const char kPurpose[] =
    "Tests and describes GPU virtual memory management: that of the CUDA driver, and that of a "
    "software MMU.";

std::vector<std::string> GroupsOf(const std::vector<OptionInfo>& options) {
  std::vector<std::string> groups;
  for (const char* const group : kGroups) {
    const bool any = std::any_of(options.begin(), options.end(), [group](const OptionInfo& option) {
      return option.group == group;
    });
    if (any) groups.emplace_back(group);
  }
  return groups;
}

std::string Overview(const Terminal& terminal) {
  const size_t width = WidthOf(terminal);
  std::vector<Entry> commands;
  for (const CommandInfo& command : AllCommands()) {
    commands.push_back({command.name, command.summary});
  }
  return absl::StrCat(
      terminal.Bold("Usage:"), " twinmmu COMMAND [FLAG...]\n\n", Paragraph("", kPurpose, width),
      Section(terminal, "Commands:", List(commands, width)),
      Section(terminal, "Flags:",
              List({{"--help", "this text; after a command, the flags of that command"},
                    {"--helpfull", "the help of all commands"},
                    {"--version", "the version of this program"}},
                   width)),
      "\n",
      Paragraph("",
                "`twinmmu COMMAND --help` has examples and exit codes. `twinmmu doctor` says what "
                "works on this machine.",
                width));
}

std::string Help(const CommandInfo& command, const Terminal& terminal) {
  const size_t width = WidthOf(terminal);
  std::string text = absl::StrCat(terminal.Bold("Usage:"), " twinmmu ", command.name);
  const std::vector<OptionInfo> options = OptionsOf(command);
  if (!options.empty()) absl::StrAppend(&text, " [FLAG...]");
  if (*command.operands != '\0') absl::StrAppend(&text, " ", command.operands);
  absl::StrAppend(&text, "\n");
  for (const absl::string_view paragraph : absl::StrSplit(command.description, "\n\n")) {
    absl::StrAppend(&text, "\n", Paragraph("", paragraph, width));
  }
  for (const std::string& group : GroupsOf(options)) {
    std::vector<Entry> entries;
    for (const OptionInfo& option : options) {
      if (option.group == group) entries.push_back({Spelling(option), option.description});
    }
    absl::StrAppend(&text, Section(terminal, absl::StrCat(group, ":"), List(entries, width)));
  }
  absl::StrAppend(&text, Section(terminal, "Examples:", Examples(command, width)));
  std::vector<Entry> codes;
  for (const ExitCode& code : ExitCodesOf(command)) codes.push_back({code.code, code.meaning});
  absl::StrAppend(&text, Section(terminal, "Exit code:", List(codes, width)));
  return text;
}

}  // namespace twinmmu
