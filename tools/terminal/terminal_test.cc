#include "tools/terminal/terminal.h"

#include <map>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/terminal/progress_line.h"
#include "tools/terminal/wrapped_lines.h"

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

std::string Wrapped(const std::string& text, size_t width) {
  std::ostringstream out;
  {
    WrappedLines lines(*out.rdbuf(), width);
    std::ostream(&lines) << text;
  }
  return out.str();
}

// A line that is too long goes on below, indented; what fits, to the last column, stays.
TEST(WrappedLinesTest, BreaksBetweenWords) {
  EXPECT_EQ(Wrapped("12345 78901\n12345 789012\n", 11), "12345 78901\n12345\n    789012\n");
  EXPECT_EQ(Wrapped("  one two three\n", 10), "  one two\n      three\n");
}

// Paths, and names to be copied, stay whole.
TEST(WrappedLinesTest, BreaksNoWord) {
  EXPECT_EQ(Wrapped("at /a/long/path here\n", 8), "at\n    /a/long/path\n    here\n");
  EXPECT_EQ(Wrapped("/a/long/path\n", 8), "/a/long/path\n");
}

// Colours take no columns, nor do the further bytes of a character.
TEST(WrappedLinesTest, CountsColumns) {
  EXPECT_EQ(Wrapped("\x1b[31mone\x1b[0m two\n", 7), "\x1b[31mone\x1b[0m two\n");
  EXPECT_EQ(Wrapped("\u00e4\u00e4\u00e4 two\n", 7), "\u00e4\u00e4\u00e4 two\n");
}

// A line that has not ended comes at the end; without a width, all comes at once, as it is.
TEST(WrappedLinesTest, LosesNothing) {
  EXPECT_EQ(Wrapped("one\n\ntwo", 10), "one\n\ntwo");
  EXPECT_EQ(Wrapped("one two three four\n", 0), "one two three four\n");
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
