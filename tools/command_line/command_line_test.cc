#include "tools/command_line/command_line.h"

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/command_line/command_table.h"

namespace twinmmu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<Request> Read(absl::string_view line, const Terminal& terminal = Terminal()) {
  return ReadCommandLine(absl::StrSplit(line, ' ', absl::SkipEmpty()), terminal);
}

Options OptionsFor(absl::string_view line) {
  const absl::StatusOr<Request> request = Read(line);
  EXPECT_THAT(request, IsOk()) << line;
  return request.ok() ? request->options : Options();
}

std::string ErrorOf(absl::string_view line) {
  const absl::StatusOr<Request> request = Read(line);
  EXPECT_THAT(request, StatusIs(absl::StatusCode::kInvalidArgument)) << line;
  return std::string(request.status().message());
}

// The words of a text that are flags.
std::set<std::string> FlagsIn(const std::string& text) {
  std::set<std::string> flags;
  for (size_t at = text.find("\n  --"); at != std::string::npos; at = text.find("\n  --", at + 1)) {
    const size_t end = text.find_first_of(" =[\n", at + 5);
    flags.insert(text.substr(at + 5, end - at - 5));
  }
  return flags;
}

// --- Spellings

// A flag may stand before its command or behind it, with its value in the same word or the next.
TEST(SpellingTest, FlagsStandAnywhere) {
  for (const char* const line :
       {"--profile=strict info", "--profile strict info", "info --profile=strict",
        "info --profile strict", "-profile=strict info"}) {
    const Options options = OptionsFor(line);
    EXPECT_EQ(options.command, "info") << line;
    EXPECT_EQ(options.machine.profile, "strict") << line;
  }
}

// Words of flags are joined by hyphens or underscores.
TEST(SpellingTest, HyphensAndUnderscoresAreAlike) {
  EXPECT_EQ(OptionsFor("info --sim_devices=3").machine.sim_devices, 3);
  EXPECT_EQ(OptionsFor("info --sim-devices=3").machine.sim_devices, 3);
}

// A flag without a value can be switched on and off in words.
TEST(SpellingTest, SwitchesAreOnOrOff) {
  EXPECT_TRUE(OptionsFor("run --strict p").program.strict);
  EXPECT_TRUE(OptionsFor("run --strict=true p").program.strict);
  EXPECT_FALSE(OptionsFor("run --strict --nostrict p").program.strict);
  EXPECT_FALSE(OptionsFor("run --strict --strict=false p").program.strict);
  EXPECT_THAT(ErrorOf("run --strict=maybe p"), HasSubstr("it is true or false"));
}

// The last of several values counts; those of --fail are all kept.
TEST(SpellingTest, TheLastValueCounts) {
  EXPECT_EQ(OptionsFor("info --profile=a --profile=b").machine.profile, "b");
  EXPECT_THAT(OptionsFor("info --backend=sim --backend=cuda,sim").machine.backends,
              ElementsAre("cuda", "sim"));
  EXPECT_THAT(OptionsFor("run --fail=a --fail b p").program.failures, ElementsAre("a", "b"));
}

// An empty value is a value: a script may have put an empty variable there.
TEST(SpellingTest, AValueMayBeEmpty) {
  const Options options = OptionsFor("conformance --baseline= --xml= --strict-reference");
  EXPECT_EQ(options.suite.baseline, "");
  EXPECT_TRUE(options.suite.strict_reference);
}

// --error-exitcode and --json take no value from the next word.
TEST(SpellingTest, SomeValuesMayBeAbsent) {
  const Options run = OptionsFor("run --error-exitcode prog");
  EXPECT_EQ(run.program.error_exit_code, 99);
  EXPECT_THAT(run.operands, ElementsAre("prog"));
  EXPECT_EQ(OptionsFor("run --error-exitcode=3 p").program.error_exit_code, 3);
  EXPECT_TRUE(OptionsFor("info --json").output.json_to_stdout());
  EXPECT_EQ(OptionsFor("info --json=f.json").output.json, "f.json");
}

// What follows "--" is the program's, whatever it looks like.
TEST(SpellingTest, AProgramKeepsItsArguments) {
  const Options options = OptionsFor("run --strict -- prog --strict=no --gtest_filter=x --");
  EXPECT_TRUE(options.program.strict);
  EXPECT_THAT(options.operands, ElementsAre("prog", "--strict=no", "--gtest_filter=x", "--"));
}

// GoogleTest starts the program anew with flags of its own.
TEST(SpellingTest, FlagsOfGoogleTestArePassedOver) {
  EXPECT_EQ(OptionsFor("conformance --gtest_filter=*.X --quiet").command, "conformance");
}

// --- Wrong words

// The nearest flag, command or value is named.
TEST(WrongWordTest, NamesWhatIsNearest) {
  EXPECT_THAT(ErrorOf("info --bakend=sim"), HasSubstr("did you mean --backend?"));
  EXPECT_THAT(ErrorOf("--bakend sim info"), HasSubstr("did you mean --backend?"));
  EXPECT_THAT(ErrorOf("conformanec"), HasSubstr("did you mean conformance?"));
  EXPECT_THAT(ErrorOf("conform"), HasSubstr("did you mean conformance?"));
  EXPECT_THAT(ErrorOf("frobnicate"), HasSubstr("there are conformance, info, "));
}

// A flag of other commands is refused, with their names.
TEST(WrongWordTest, NamesTheCommandsThatTakeAFlag) {
  EXPECT_THAT(ErrorOf("random --xml=f"),
              HasSubstr("random takes no --xml; it is a flag of conformance, record."));
}

// A flag whose value is missing is told, not given the next flag as its value.
TEST(WrongWordTest, AMissingValueIsTold) {
  EXPECT_THAT(ErrorOf("random --seeds"), HasSubstr("--seeds needs a value: --seeds=FIRST-LAST"));
  EXPECT_THAT(ErrorOf("random --seeds --calls=3"), HasSubstr("--seeds needs a value"));
}

// A number that is none, or out of its range, is named with its flag and the rule.
TEST(WrongWordTest, ANumberHasARule) {
  EXPECT_EQ(ErrorOf("random --calls=-1"), "--calls=-1: it is a whole number, 0 or more.");
  EXPECT_THAT(ErrorOf("random --calls=many"), HasSubstr("--calls=many: it is a whole number"));
  EXPECT_THAT(ErrorOf("random --calls="), HasSubstr("--calls=: it is a whole number"));
  EXPECT_THAT(ErrorOf("run --error-exitcode=0 p"), HasSubstr("from 1 to 255"));
}

// --- Help

// The help of a command names its own flags and no others, and has examples and exit codes.
TEST(HelpTest, NamesTheCommandsOwnFlags) {
  for (const CommandInfo& command : AllCommands()) {
    const absl::StatusOr<Request> request = Read(absl::StrCat(command.name, " --help"));
    ASSERT_THAT(request, IsOk());
    std::set<std::string> own;
    for (const OptionInfo& option : OptionsOf(command)) own.insert(option.name);
    EXPECT_EQ(FlagsIn(request->text), own) << command.name;
    EXPECT_THAT(request->text, HasSubstr("Examples:\n")) << command.name;
    EXPECT_THAT(request->text, HasSubstr("Exit code:\n")) << command.name;
  }
}

// Every example is a command line that the program takes.
TEST(HelpTest, ExamplesAreValid) {
  for (const CommandInfo& command : AllCommands()) {
    for (const Example& example : command.examples) {
      std::string line = example.command;
      line = line.substr(line.find("twinmmu ") + 8);
      line = line.substr(0, line.find_first_of("|>)"));
      EXPECT_THAT(Read(line), IsOk()) << example.command;
    }
  }
}

// Without a command, --help lists the commands, and --helpfull has the help of all.
TEST(HelpTest, TheOverviewListsAllCommands) {
  const std::string overview = Read("--help")->text;
  const std::string full = Read("--helpfull")->text;
  for (const CommandInfo& command : AllCommands()) {
    EXPECT_THAT(overview, HasSubstr(absl::StrCat("\n  ", command.name, " ")));
    EXPECT_THAT(full, HasSubstr(absl::StrCat("twinmmu ", command.name)));
  }
}

// Lines fit the terminal, except where one word is longer.
TEST(HelpTest, FitsTheTerminal) {
  Terminal terminal;
  terminal.width = 80;
  for (const CommandInfo& command : AllCommands()) {
    const std::string text = Read(absl::StrCat(command.name, " --help"), terminal)->text;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      EXPECT_TRUE(line.size() <= 80 || line.find("twinmmu ") != line.npos) << line;
    }
  }
}

// Headings are bold where there is colour, and plain where there is none.
TEST(HelpTest, HasColourOnlyWhereAsked) {
  Terminal terminal;
  terminal.width = 80;
  EXPECT_THAT(Read("info --help", terminal)->text, Not(HasSubstr("\x1b[")));
  terminal.colour = true;
  EXPECT_THAT(Read("info --help", terminal)->text, HasSubstr("\x1b[1mUsage:"));
}

TEST(VersionTest, IsSaid) { EXPECT_THAT(Read("--version")->text, HasSubstr("twinmmu 0.")); }

}  // namespace
}  // namespace twinmmu
