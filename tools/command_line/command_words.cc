#include "tools/command_line/command_words.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "tools/command_line/command_table.h"
#include "tools/command_line/nearest_name.h"

namespace twinmmu {
namespace {

// Those that every command has.
constexpr const char* kCommon[] = {"help", "helpfull", "version"};

bool IsCommon(const std::string& name) {
  return std::find(std::begin(kCommon), std::end(kCommon), name) != std::end(kCommon);
}

// "--sim_devices=2": a name, with hyphens, and a value.
struct Word {
  std::string name;
  std::string value;
  bool has_value = false;
};

Word Split(absl::string_view word) {
  const size_t equals = std::min(word.find('='), word.size());
  Word split;
  split.name = absl::StrReplaceAll(word.substr(0, equals), {{"_", "-"}});
  split.name.erase(0, split.name.find_first_not_of('-'));
  split.has_value = equals < word.size();
  if (split.has_value) split.value = std::string(word.substr(equals + 1));
  return split;
}

bool IsFlag(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

const OptionInfo* Find(const std::vector<OptionInfo>& options, absl::string_view name) {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [name](const OptionInfo& option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

// "nostrict" is known by "strict".
const OptionInfo* FindNegated(const std::vector<OptionInfo>& options, absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "no")) return nullptr;
  const OptionInfo* const option = Find(options, name);
  return option != nullptr && option->value.empty() ? option : nullptr;
}

bool TakesNextWord(const std::vector<OptionInfo>& options, const Word& word) {
  const OptionInfo* const option = Find(options, word.name);
  return option != nullptr && !word.has_value && !option->value.empty() &&
         !option->value_may_be_absent;
}

std::vector<OptionInfo> OptionsOfAllCommands() {
  std::vector<OptionInfo> all;
  for (const CommandInfo& command : AllCommands()) {
    for (OptionInfo& option : OptionsOf(command)) all.push_back(std::move(option));
  }
  return all;
}

// The position of the command; as many as there are words: none is named.
size_t FindCommandWord(const std::vector<std::string>& words,
                       const std::vector<OptionInfo>& options) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (!IsFlag(words[i])) return i;
    if (TakesNextWord(options, Split(words[i]))) ++i;
  }
  return words.size();
}

absl::Status UnknownFlag(const CommandInfo& command, const Word& word) {
  std::vector<std::string> takers;
  for (const CommandInfo& other : AllCommands()) {
    const std::vector<OptionInfo> options = OptionsOf(other);
    if (Find(options, word.name) != nullptr || FindNegated(options, word.name) != nullptr) {
      takers.push_back(other.name);
    }
  }
  if (!takers.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        command.name, " takes no --", word.name, "; it is a flag of ", absl::StrJoin(takers, ", "),
        ". `twinmmu ", command.name, " --help` lists those it takes."));
  }
  std::vector<std::string> names(std::begin(kCommon), std::end(kCommon));
  for (const OptionInfo& option : OptionsOf(command)) names.push_back(option.name);
  std::string near = DidYouMean(word.name, names, "--");
  if (near.empty()) near = ".";
  return absl::InvalidArgumentError(absl::StrCat("there is no flag --", word.name, near,
                                                 " `twinmmu ", command.name,
                                                 " --help` lists those of ", command.name, "."));
}

absl::Status MissingValue(const OptionInfo& option) {
  return absl::InvalidArgumentError(absl::StrCat(
      "--", option.name, " needs a value: ", Spelling(option), " (", option.description, ")."));
}

// One flag at words[i], in the spelling that the parser takes; i moves on with a value that is a
// word of its own.
absl::StatusOr<std::string> ReadFlag(const CommandInfo& command,
                                     const std::vector<OptionInfo>& options,
                                     const std::vector<std::string>& words, size_t& i) {
  Word word = Split(words[i]);
  if (IsCommon(word.name) || word.name == "h") return absl::StrCat("--", word.name);
  const OptionInfo* const option = Find(options, word.name);
  if (option == nullptr) {
    const OptionInfo* const negated = FindNegated(options, word.name);
    if (negated == nullptr || word.has_value) return UnknownFlag(command, word);
    return absl::StrCat("--", negated->name, "=false");
  }
  if (TakesNextWord(options, word)) {
    const bool has_next = i + 1 < words.size();
    if (!has_next || (absl::StartsWith(words[i + 1], "--") &&
                      Find(options, Split(words[i + 1]).name) != nullptr)) {
      return MissingValue(*option);
    }
    word.value = words[++i];
    word.has_value = true;
  }
  return word.has_value ? absl::StrCat("--", option->name, "=", word.value)
                        : absl::StrCat("--", option->name);
}

// What stands where a command should: its value, if a flag before it is not known.
absl::Status UnknownCommand(const std::vector<std::string>& words, size_t place,
                            const std::vector<OptionInfo>& options) {
  std::vector<std::string> flags;
  for (const OptionInfo& option : options) flags.push_back(option.name);
  for (size_t i = 0; i < place; ++i) {
    const std::string flag = Split(words[i]).name;
    if (!IsFlag(words[i]) || IsCommon(flag) || FindNegated(options, flag) != nullptr ||
        std::count(flags.begin(), flags.end(), flag) != 0) {
      continue;
    }
    const std::string near = DidYouMean(flag, flags, "--");
    return absl::InvalidArgumentError(
        absl::StrCat("there is no flag --", flag, near.empty() ? "." : near));
  }
  const std::string& name = words[place];
  const std::string near = DidYouMean(name, CommandNames());
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no command \"", name, "\"",
      near.empty() ? absl::StrCat("; there are ", absl::StrJoin(CommandNames(), ", "), ".")
                   : near));
}

}  // namespace

absl::StatusOr<Arguments> ReadArguments(const std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  std::vector<std::string> own;
  std::copy_if(words.begin(), end, std::back_inserter(own),
               [](const std::string& word) { return !absl::StartsWith(word, "--gtest_"); });
  Arguments arguments;
  const std::vector<OptionInfo> all_options = OptionsOfAllCommands();
  const size_t place = FindCommandWord(own, all_options);
  if (place == own.size()) {
    for (const std::string& word : own) {
      const std::string name = Split(word).name;
      if (IsCommon(name) || name == "h") arguments.flags.push_back(absl::StrCat("--", name));
    }
    return arguments;
  }
  arguments.command = own[place];
  const CommandInfo* const command = FindCommand(arguments.command);
  if (command == nullptr) return UnknownCommand(own, place, all_options);
  own.erase(own.begin() + static_cast<std::ptrdiff_t>(place));
  const std::vector<OptionInfo> options = OptionsOf(*command);
  for (size_t i = 0; i < own.size(); ++i) {
    if (!IsFlag(own[i])) {
      arguments.operands.push_back(own[i]);
      continue;
    }
    absl::StatusOr<std::string> flag = ReadFlag(*command, options, own, i);
    if (!flag.ok()) return flag.status();
    arguments.flags.push_back(*std::move(flag));
  }
  if (end != words.end()) arguments.operands.insert(arguments.operands.end(), end + 1, words.end());
  return arguments;
}

}  // namespace twinmmu
