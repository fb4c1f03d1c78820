#include "tools/command_line/manual_page.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "api/version.h"
#include "tools/command_line/command_table.h"
#include "tools/command_line/help.h"

namespace twinmmu {
namespace {

// As text: a hyphen that can be copied, no escapes, no request at the start of a line.
std::string Escaped(absl::string_view text) {
  std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  if (absl::StartsWith(escaped, ".") || absl::StartsWith(escaped, "'")) escaped.insert(0, "\\&");
  return escaped;
}

std::string Paragraphs(absl::string_view text) {
  return absl::StrCat(absl::StrReplaceAll(Escaped(text), {{"\n\n", "\n.PP\n"}}), "\n");
}

// A tagged paragraph: a term, and indented behind it what it means.
std::string Term(absl::string_view term, absl::string_view meaning) {
  return absl::StrCat(".TP\n.B ", Escaped(term), "\n", Escaped(meaning), "\n");
}

std::string Synopsis() {
  std::string text = ".SH SYNOPSIS\n";
  for (const CommandInfo& command : AllCommands()) {
    absl::StrAppend(&text, ".B twinmmu ", Escaped(command.name), "\n");
    if (!OptionsOf(command).empty()) absl::StrAppend(&text, "[\\fIflag\\fR...]\n");
    absl::StrAppend(&text, Escaped(command.operands), *command.operands == '\0' ? "" : "\n",
                    ".br\n");
  }
  return absl::StrCat(text, ".B twinmmu\n[\\fIcommand\\fR] \\-\\-help\n.br\n",
                      ".B twinmmu \\-\\-version\n");
}

std::string CommandSection(const CommandInfo& command) {
  std::string text =
      absl::StrCat(".SS twinmmu ", Escaped(command.name), "\n", Paragraphs(command.description));
  for (const OptionInfo& option : OptionsOf(command)) {
    absl::StrAppend(&text, Term(Spelling(option), absl::StrCat(option.description, ".")));
  }
  absl::StrAppend(&text, ".PP\nExamples:\n");
  for (const Example& example : command.examples) {
    absl::StrAppend(&text, Term(example.command, example.meaning));
  }
  return text;
}

std::string ExitStatus() {
  std::string text = ".SH EXIT STATUS\n";
  for (const CommandInfo& command : AllCommands()) {
    absl::StrAppend(&text, ".SS twinmmu ", Escaped(command.name), "\n");
    for (const ExitCode& code : ExitCodesOf(command)) {
      absl::StrAppend(&text, Term(code.code, code.meaning));
    }
  }
  return text;
}

std::string Environment(const std::vector<EnvironmentVariable>& variables) {
  std::string text = absl::StrCat(
      ".SH ENVIRONMENT\n", Term("NO_COLOR", "Set to anything: no colour, on a terminal too."),
      Term("COLUMNS", "The width of the terminal, if it is not what the terminal says."),
      Term("TMPDIR", "Where run puts the simulated driver; it must allow running code."),
      ".PP\nThe simulated driver, so also twinmmu run, reads:\n");
  for (const EnvironmentVariable& variable : variables) {
    absl::StrAppend(&text, Term(variable.name, variable.meaning));
  }
  return text;
}

}  // namespace

std::string ManualPage(const std::vector<EnvironmentVariable>& variables) {
  std::string page =
      absl::StrCat(".TH TWINMMU 1 \"\" \"TwinMMU ", kVersion, "\" \"TwinMMU\"\n",
                   ".SH NAME\ntwinmmu \\- test and describe GPU virtual memory\n", Synopsis(),
                   ".SH DESCRIPTION\n", Paragraphs(kPurpose), ".SH COMMANDS\n");
  for (const CommandInfo& command : AllCommands()) absl::StrAppend(&page, CommandSection(command));
  return absl::StrCat(page, ExitStatus(), Environment(variables));
}

}  // namespace twinmmu
