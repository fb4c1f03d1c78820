// The simulator's arithmetic against what an H200 gave, bit for bit.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "conformance/ptx/arithmetic_bounds.h"
#include "conformance/ptx/arithmetic_cases.h"
#include "conformance/ptx/arithmetic_recording.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

constexpr char kRecording[] = "conformance/ptx/h200_arithmetic.zst";
constexpr int kShown = 4;  // differences of a case

class Arithmetic : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<ArithmeticRecording> recording = ReadArithmetic(kRecording);
    ASSERT_TRUE(recording.ok()) << recording.status();
    recording_ = *std::move(recording);
    for (const RecordedCase& recorded : recording_.cases) by_name_[recorded.name] = &recorded;
  }

  // Null: it was not recorded, or with other inputs.
  const RecordedCase* Find(const ArithmeticCase& arithmetic) const {
    const auto found = by_name_.find(arithmetic.name);
    if (found == by_name_.end()) return nullptr;
    return found->second->inputs_hash == HashOfInputs(arithmetic) ? found->second : nullptr;
  }

  ArithmeticRecording recording_;
  std::map<std::string, const RecordedCase*> by_name_;
};

// The inputs of a trial, and what became of them.
std::string Describe(const ArithmeticCase& arithmetic, int trial, const OperandValues& expected,
                     const OperandValues& got) {
  std::string text;
  for (const std::vector<uint64_t>& values : arithmetic.inputs) {
    if (!values.empty()) absl::StrAppend(&text, " 0x", absl::Hex(values[trial]));
  }
  const auto add = [&](const char* what, const OperandValues& results) {
    text += what;
    for (const std::vector<uint64_t>& values : results) {
      if (!values.empty()) absl::StrAppend(&text, " 0x", absl::Hex(values[trial]));
    }
  };
  add("; an H200 gives", expected);
  add(", the simulator", got);
  return text;
}

bool AreSame(const ArithmeticCase& arithmetic, int trial, const OperandValues& expected,
             const OperandValues& got) {
  for (int i = 0; i < arithmetic.operand_count(); ++i) {
    if (!arithmetic.operand(i).written) continue;
    const uint64_t a = expected[i][trial], b = got[i][trial];
    if (a == b) continue;
    if (!arithmetic.form->approximate) return false;
    const ptx::Type type = arithmetic.operand(i).type;
    if (!AreNear(arithmetic.form->text, type, arithmetic.inputs[1][trial], a, b)) return false;
  }
  return true;
}

// No form is left out of the comparison because its recording is missing or out of date.
TEST_F(Arithmetic, EveryFormIsRecorded) {
  for (const ArithmeticCase& arithmetic : ArithmeticCases()) {
    EXPECT_NE(Find(arithmetic), nullptr)
        << arithmetic.name << ": record it with //conformance/ptx:record_arithmetic";
  }
}

// The compiler of the driver takes every form that the simulator takes.
TEST_F(Arithmetic, NoFormIsRefused) { EXPECT_EQ(recording_.refused, std::vector<std::string>()); }

TEST_F(Arithmetic, GivesWhatAnH200Gives) {
  int wrong = 0, cases = 0;
  for (const ArithmeticCase& arithmetic : ArithmeticCases()) {
    const RecordedCase* recorded = Find(arithmetic);
    if (recorded == nullptr) continue;
    ++cases;
    const OperandValues got = Simulate(arithmetic);
    int different = 0;
    std::string shown;
    for (int trial = 0; trial < arithmetic.trials; ++trial) {
      if (AreSame(arithmetic, trial, recorded->results, got)) continue;
      if (++different <= kShown) {
        absl::StrAppend(&shown, "\n ", Describe(arithmetic, trial, recorded->results, got));
      }
    }
    EXPECT_EQ(different, 0) << arithmetic.name << ": of " << arithmetic.trials << " trials"
                            << shown;
    wrong += different != 0 ? 1 : 0;
  }
  EXPECT_GT(cases, 0);
  EXPECT_EQ(wrong, 0) << "of " << cases << " cases";
}

}  // namespace
}  // namespace twinmmu::conformance
