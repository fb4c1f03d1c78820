// The texts of the programs. What they see: //conformance/instances:programs_sim_test.

#include "conformance/programs/programs.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The text of a program is its lines and nothing of what stands around them.
TEST(ProgramsTest, TheTextIsTheWholeProgram) {
  for (const DeviationProgram& program : AllPrograms()) {
    const std::string& name = GetDeviation(program.deviation).name;
    EXPECT_THAT(program.text, AllOf(EndsWith(";\n"), HasSubstr("return ")));
    EXPECT_THAT(program.text, Not(AnyOf(HasSubstr("DEVIATION_PROGRAM"), StartsWith(" "))));
    EXPECT_LE(std::count(program.text.begin(), program.text.end(), '\n'), 12) << name;
  }
}

// What one program says of keeping and of breaking the rule is not the same.
TEST(ProgramsTest, KeepingTheRuleReadsOtherwiseThanDeviating) {
  for (const DeviationProgram& program : AllPrograms()) {
    EXPECT_NE(program.by_rule, program.deviating) << GetDeviation(program.deviation).name;
  }
}

}  // namespace
}  // namespace twinmmu::conformance
