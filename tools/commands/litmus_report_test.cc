#include "tools/commands/litmus_report.h"

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "api/driver.h"
#include "api/testing/forwarding.h"
#include "api/testing/matchers.h"
#include "conformance/litmus/litmus_timing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/profile/profile.h"
#include "sim/simulator.h"

namespace twinmmu {
namespace {

using testing::HasSubstr;

// A device that stores 5 where the program stores 1.
class LyingExecutor : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;
  absl::StatusOr<Module> LoadModule(DeviceOrdinal device, absl::string_view ptx) override {
    return ForwardingExecutor::LoadModule(
        device, absl::StrReplaceAll(ptx, {{"[%b0_0], 1;", "[%b0_0], 5;"}}));
  }
};

class LyingDriver : public ForwardingDriver {
 public:
  explicit LyingDriver(Driver* target)
      : ForwardingDriver(target), executor_(target->executor().value()) {}
  absl::StatusOr<Executor*> executor() override { return &executor_; }

 private:
  LyingExecutor executor_;
};

class LitmusRunTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Simulator>> simulator =
        Simulator::Create(Profile::ReferenceH200());
    ASSERT_THAT(simulator, IsOk());
    simulator_ = *std::move(simulator);
    path_ = testing::TempDir() + "/store.jsonl";
    std::ofstream(path_)
        << R"({"name": "store", "locations": {"x": {}}, "threads": [["st.weak x, 1"]],)"
        << R"( "assert": {"cond": "x == 1"}, "verdict": "allowed"})";
  }

  bool Play(Driver* driver) {
    LitmusRun run;
    run.driver = driver;
    run.play.rounds = 64;
    run.play.timing = LitmusTiming::kGivingWay;
    const absl::StatusOr<LitmusResult> result = RunLitmus({path_}, run, out_);
    EXPECT_THAT(result, IsOk());
    return result.ok() && result->as_expected;
  }

  std::unique_ptr<Simulator> simulator_;
  std::string path_;
  std::ostringstream out_;
};

TEST_F(LitmusRunTest, CountsWhatAMachineShows) {
  EXPECT_TRUE(Play(simulator_.get()));
  EXPECT_THAT(out_.str(), HasSubstr("seen 64 times"));
  EXPECT_THAT(out_.str(), HasSubstr("played 1, skipped 0, 0 wrong"));
}

TEST_F(LitmusRunTest, FailsWhereAMachineShowsWhatTheModelForbids) {
  LyingDriver driver(simulator_.get());
  EXPECT_FALSE(Play(&driver));
  EXPECT_THAT(out_.str(), HasSubstr("FORBIDDEN"));
  EXPECT_THAT(out_.str(), HasSubstr("1 wrong"));
}

}  // namespace
}  // namespace twinmmu
