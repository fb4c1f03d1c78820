// What is made from the tables of the commands: the reference, the manual page, the completion.

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/command_line/command_table.h"
#include "tools/command_line/completion.h"
#include "tools/command_line/manual_page.h"
#include "tools/command_line/reference.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The reference says what the program takes.
TEST(ReferenceTest, IsUpToDate) {
  std::stringstream document;
  document << std::ifstream(kReferencePath).rdbuf();
  const auto updated = UpdateReference(document.str());
  ASSERT_THAT(updated, IsOk());
  EXPECT_EQ(document.str(), *updated)
      << "To update it: tools/bazel run //tools/command_line:update_reference";
}

// The manual page has every command, every flag and every exit code.
TEST(ManualPageTest, HasEveryCommandAndFlag) {
  const std::string page = ManualPage({{"TWINMMU_DEVICES", "How many."}});
  for (const CommandInfo& command : AllCommands()) {
    const std::string name = command.name == std::string("new-test") ? "new\\-test" : command.name;
    EXPECT_THAT(page, HasSubstr(".SS twinmmu " + name + "\n"));
    for (const OptionInfo& option : OptionsOf(command)) {
      std::string flag = "\\-\\-";
      for (const char c : option.name) flag += c == '-' ? "\\-" : std::string(1, c);
      EXPECT_THAT(page, HasSubstr(flag));
    }
  }
  EXPECT_THAT(page, HasSubstr("TWINMMU_DEVICES\nHow many."));
}

// No line of text is taken for a request, and no line of requests for text.
TEST(ManualPageTest, EveryRequestIsKnown) {
  std::istringstream page(ManualPage({}));
  for (std::string line; std::getline(page, line);) {
    if (line.empty() || (line[0] != '.' && line[0] != '\'')) continue;
    const std::string request = line.substr(0, line.find(' '));
    EXPECT_THAT((std::set<std::string>{".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".br"}),
                ::testing::Contains(request))
        << line;
  }
}

// What bash offers for a command line that ends in an unfinished word.
std::string Offered(const std::string& words, int word) {
  const std::string path = ::testing::TempDir() + "/completion.sh";
  std::ofstream(path) << CompletionScript("bash", {"reference", "strict"}).value() << "COMP_WORDS=("
                      << words << ")\nCOMP_CWORD=" << word
                      << "\ncompopt() { :; }\n_twinmmu\necho \"${COMPREPLY[*]}\"\n";
  FILE* const output = popen(("bash " + path).c_str(), "r");
  char buffer[4096];
  std::string text;
  while (std::fgets(buffer, sizeof(buffer), output) != nullptr) text += buffer;
  EXPECT_EQ(pclose(output), 0);
  return text.substr(0, text.find('\n'));
}

// Bash completes commands, the flags of a command and no others, and values.
TEST(CompletionTest, BashOffersWhatFits) {
  EXPECT_EQ(Offered("twinmmu conf", 1), "conformance");
  EXPECT_EQ(Offered("twinmmu run --err", 2), "--error-exitcode");
  EXPECT_EQ(Offered("twinmmu run --xm", 2), "");
  EXPECT_EQ(Offered("twinmmu random --see", 2), "--seeds=");
  EXPECT_EQ(Offered("twinmmu info --profile = st", 4), "strict");
  EXPECT_EQ(Offered("twinmmu info --backend =", 3), "sim cuda cuda_on_sim");
  EXPECT_EQ(Offered("twinmmu run -- --st", 3), "");
}

// Each shell has a script with every command; another shell has none.
TEST(CompletionTest, KnowsThreeShells) {
  for (const char* const shell : {"bash", "zsh", "fish"}) {
    const auto script = CompletionScript(shell, {});
    ASSERT_THAT(script, IsOk());
    for (const std::string& name : CommandNames()) EXPECT_THAT(*script, HasSubstr(name)) << shell;
  }
  EXPECT_THAT(CompletionScript("bsh", {}), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace twinmmu
