#include "tools/terminal/terminal.h"

#include <map>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/terminal/progress_line.h"

namespace twinmmu {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Terminal Describe(bool is_terminal, size_t columns,
                  const std::map<std::string, std::string>& variables) {
  TerminalFacts facts;
  facts.is_terminal = is_terminal;
  facts.columns = columns;
  facts.variable = [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  return DescribeTerminal(facts);
}

// A pipe or a file has neither width nor colour, whatever the environment says.
TEST(TerminalTest, APipeIsPlain) {
  const Terminal terminal = Describe(false, 0, {{"COLUMNS", "120"}, {"TERM", "xterm"}});
  EXPECT_FALSE(terminal.is_terminal());
  EXPECT_FALSE(terminal.colour);
  EXPECT_EQ(terminal.Red("x"), "x");
}

// COLUMNS goes before what the terminal says, which goes before 80.
TEST(TerminalTest, TheWidthIsThatOfTheTerminal) {
  EXPECT_EQ(Describe(true, 132, {{"COLUMNS", "100"}}).width, 100u);
  EXPECT_EQ(Describe(true, 132, {}).width, 132u);
  EXPECT_EQ(Describe(true, 132, {{"COLUMNS", "wide"}}).width, 132u);
  EXPECT_EQ(Describe(true, 0, {}).width, 80u);
}

// NO_COLOR, set to anything, and a dumb terminal have no colour.
TEST(TerminalTest, NoColorIsKept) {
  EXPECT_TRUE(Describe(true, 80, {}).colour);
  EXPECT_TRUE(Describe(true, 80, {{"NO_COLOR", ""}}).colour);
  EXPECT_FALSE(Describe(true, 80, {{"NO_COLOR", "1"}}).colour);
  EXPECT_FALSE(Describe(true, 80, {{"TERM", "dumb"}}).colour);
}

// ProgressLine is one line, cut to the width, and is erased.
TEST(ProgressTest, WritesOneLineAndErasesIt) {
  std::ostringstream out;
  Terminal terminal;
  terminal.width = 10;
  {
    ProgressLine progress(out, terminal);
    progress.Show("seed 1: 1 of 100");
    EXPECT_EQ(out.str(), "\r\x1b[Kseed 1: 1");
  }
  EXPECT_EQ(out.str(), "\r\x1b[Kseed 1: 1\r\x1b[K");
}

// Where there is no terminal, nothing is written.
TEST(ProgressTest, IsSilentElsewhere) {
  std::ostringstream out;
  ProgressLine progress(out, Terminal());
  progress.Show("seed 1");
  progress.Clear();
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace twinmmu
