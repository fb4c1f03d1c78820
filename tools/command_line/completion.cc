#include "tools/command_line/completion.h"

#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tools/command_line/command_table.h"
#include "tools/command_line/nearest_name.h"

namespace twinmmu {
namespace {

std::vector<std::string> ValuesOf(const OptionInfo& option,
                                  const std::vector<std::string>& profiles) {
  return option.name == "profile" ? profiles : option.choices;
}

bool TakesFiles(const OptionInfo& option) {
  return option.value.find("FILE") != std::string::npos || option.value == "DIR";
}

// "--json" with its "=" where a value must follow.
std::string BashWord(const OptionInfo& option) {
  const bool value = !option.value.empty() && !option.value_may_be_absent;
  return absl::StrCat("--", option.name, value ? "=" : "");
}

// The words of a shell's case, in the order of the table: "--backend) values ;;".
std::string BashValues(const std::vector<std::string>& profiles) {
  std::map<std::string, std::string> cases;
  for (const CommandInfo& command : AllCommands()) {
    for (const OptionInfo& option : OptionsOf(command)) {
      const std::vector<std::string> values = ValuesOf(option, profiles);
      if (!values.empty()) cases[option.name] = absl::StrJoin(values, " ");
    }
  }
  std::string text;
  for (const auto& [name, values] : cases) {
    absl::StrAppend(&text, "    --", name, ") echo \"", values, "\" ;;\n");
  }
  return text;
}

std::string BashFlags() {
  std::string text;
  for (const CommandInfo& command : AllCommands()) {
    std::vector<std::string> words = {"--help"};
    for (const OptionInfo& option : OptionsOf(command)) words.push_back(BashWord(option));
    absl::StrAppend(&text, "    ", command.name, ") echo \"", absl::StrJoin(words, " "), "\" ;;\n");
  }
  return text;
}

// Bash splits a word at "=", unless COMP_WORDBREAKS says otherwise: "--backend", "=", "si".
constexpr char kBash[] = R"bash(# Completion of twinmmu for bash. Made by: twinmmu completion bash
_twinmmu_flags() {
  case $1 in
@FLAGS@  esac
}
_twinmmu_values() {
  case $1 in
@VALUES@  esac
}
_twinmmu() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= flag= i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -- ]] && return  # of another program
    [[ -z $command && ${COMP_WORDS[i]} != -* ]] && command=${COMP_WORDS[i]}
  done
  COMPREPLY=()
  if [[ $word == '=' ]]; then
    flag=$before word=
  elif [[ $before == '=' ]]; then
    flag=${COMP_WORDS[COMP_CWORD-2]}
  elif [[ $word == --*=* ]]; then
    flag=${word%%=*} word=${word#*=}
  fi
  if [[ -n $flag ]]; then
    COMPREPLY=($(compgen -W "$(_twinmmu_values "$flag")" -- "$word"))
  elif [[ -z $command ]]; then
    COMPREPLY=($(compgen -W "@COMMANDS@ --help --helpfull --version" -- "$word"))
  elif [[ $command == completion ]]; then
    COMPREPLY=($(compgen -W "bash zsh fish" -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$(_twinmmu_flags "$command")" -- "$word"))
    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
  fi
}
complete -o default -F _twinmmu twinmmu
)bash";

std::string Bash(const std::vector<std::string>& profiles) {
  return absl::StrReplaceAll(kBash, {{"@FLAGS@", BashFlags()},
                                     {"@VALUES@", BashValues(profiles)},
                                     {"@COMMANDS@", absl::StrJoin(CommandNames(), " ")}});
}

std::string Zsh(const std::vector<std::string>& profiles) {
  return absl::StrCat("#compdef twinmmu\n", "autoload -U +X bashcompinit && bashcompinit\n",
                      Bash(profiles));
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

std::string Fish(const std::vector<std::string>& profiles) {
  std::string text = "# Completion of twinmmu for fish. Made by: twinmmu completion fish\n";
  for (const CommandInfo& command : AllCommands()) {
    absl::StrAppend(&text, "complete -c twinmmu -n __fish_use_subcommand -f -a ", command.name,
                    " -d ", Quoted(command.summary), "\n");
  }
  for (const CommandInfo& command : AllCommands()) {
    const std::string head =
        absl::StrCat("complete -c twinmmu -n '__fish_seen_subcommand_from ", command.name, "'");
    for (const OptionInfo& option : OptionsOf(command)) {
      const std::vector<std::string> values = ValuesOf(option, profiles);
      absl::StrAppend(&text, head, " -l ", option.name);
      if (!option.value.empty() && !option.value_may_be_absent) absl::StrAppend(&text, " -r");
      if (!TakesFiles(option)) absl::StrAppend(&text, " -f");
      if (!values.empty()) absl::StrAppend(&text, " -a ", Quoted(absl::StrJoin(values, " ")));
      absl::StrAppend(&text, " -d ", Quoted(option.description), "\n");
    }
  }
  return absl::StrCat(text,
                      "complete -c twinmmu -n '__fish_seen_subcommand_from completion' -f -a "
                      "'bash zsh fish'\n");
}

}  // namespace

absl::StatusOr<std::string> CompletionScript(absl::string_view shell,
                                             const std::vector<std::string>& profiles) {
  if (shell == "bash") return Bash(profiles);
  if (shell == "zsh") return Zsh(profiles);
  if (shell == "fish") return Fish(profiles);
  const std::string near = DidYouMean(shell, {"bash", "zsh", "fish"});
  return absl::InvalidArgumentError(
      absl::StrCat("there is no completion for \"", shell, "\"",
                   near.empty() ? "; there is one for bash, zsh and fish." : near));
}

}  // namespace twinmmu
