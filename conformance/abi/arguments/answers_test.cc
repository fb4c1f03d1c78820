// Where arguments are left out, the simulated driver answers as the genuine one.

#include "conformance/abi/arguments/answers.h"

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "conformance/abi/driver_under_test.h"
#include "conformance/abi/random/unpacked.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::abi {
namespace {

using testing::IsEmpty;

std::string recording;  // the file

// Fewer lines than these are no recording.
size_t LeastIn(CallState state) {
  if (state < CallState::kCapturedStream) return 2900;
  return state < CallState::kKernelNode ? 270 : 120;
}

std::string CallIn(const std::string& line) { return line.substr(0, line.find(':')); }

class AnswersTest : public testing::TestWithParam<CallState> {};

TEST_P(AnswersTest, AreThoseOfTheGenuineDriver) {
  std::map<std::string, std::string> told;
  for (const std::string& line : AnswersIn(GetParam())) told[CallIn(line)] = line;
  ASSERT_FALSE(told.empty()) << "the driver does not make what the calls need";
  std::istringstream in(Unpacked(recording));
  std::vector<std::string> differ;
  size_t compared = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(NameOf(GetParam()) + " ", 0) != 0) continue;
    ++compared;
    const std::string& here = told[CallIn(line)];
    if (here != line) differ.push_back("recorded " + line + ", here " + here);
  }
  EXPECT_GT(compared, LeastIn(GetParam()));
  EXPECT_THAT(differ, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(States, AnswersTest, testing::ValuesIn(AllCallStates()),
                         [](const auto& state) {
                           std::string name = NameOf(state.param);
                           for (char& letter : name) letter = letter == '-' ? '_' : letter;
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
