// To each value of each field the simulated driver answers as the genuine one.
// docs/internals/suite.md says how to record the latter again.

#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "conformance/abi/driver_under_test.h"
#include "conformance/abi/random/unpacked.h"
#include "conformance/abi/values/answer_lines.h"
#include "conformance/abi/values/case_answers.h"
#include "conformance/abi/values/cases/all_cases.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::abi {

// For GoogleTest's messages.
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

namespace {

using testing::IsEmpty;

std::string recording;  // the file

std::string CaseIn(const std::string& line) { return line.substr(0, line.find_first_of(": ")); }

// By their case.
const std::map<std::string, std::vector<std::string>>& Recorded() {
  static const auto* const recorded = [] {
    auto* const made = new std::map<std::string, std::vector<std::string>>;
    std::istringstream in(Unpacked(recording));
    for (std::string line; std::getline(in, line);) (*made)[CaseIn(line)].push_back(line);
    return made;
  }();
  return *recorded;
}

TEST(RecordingTest, IsOfTheCases) {
  std::set<std::string> cases;
  for (const Case& one : AllCases()) cases.insert(one.name);
  EXPECT_EQ(cases.size(), AllCases().size()) << "two have one name";
  size_t lines = 0;
  for (const auto& [name, answers] : Recorded()) {
    EXPECT_EQ(cases.count(name), 1) << name << " is no case";
    lines += answers.size();
  }
  EXPECT_GT(lines, 1500);
}

class ValuesTest : public testing::TestWithParam<Case> {};

TEST_P(ValuesTest, HaveTheAnswersOfTheGenuineDriver) {
  const auto recorded = Recorded().find(GetParam().name);
  ASSERT_NE(recorded, Recorded().end()) << "it is not recorded";
  const CaseAnswers answers = AnswersTo(GetParam());
  ASSERT_FALSE(answers.lines.empty()) << answers.trouble;
  std::map<std::string, std::string> told;
  for (const std::string& line : answers.lines) told[SubjectOf(line)] = line;
  std::vector<std::string> differ;
  for (const std::string& line : recorded->second) {
    const std::string here = told[SubjectOf(line)];
    told.erase(SubjectOf(line));
    if (here != line) differ.push_back(DifferenceOf(line, here));
  }
  for (const auto& [subject, line] : told) differ.push_back(DifferenceOf("", line));
  EXPECT_THAT(differ, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Cases, ValuesTest, testing::ValuesIn(AllCases()), [](const auto& one) {
  std::string name = one.param.name;
  for (char& letter : name) letter = letter == '-' || letter == '/' ? '_' : letter;
  return name;
});

}  // namespace
}  // namespace twinmmu::abi

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 3) return 2;
  twinmmu::abi::SetDriver(argv[1]);
  twinmmu::abi::recording = argv[2];
  return RUN_ALL_TESTS();
}
