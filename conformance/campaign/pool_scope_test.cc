// All sequences of steps on a small pool: the simulated driver and the model agree in every state.
// Usage: pool_scope_test LIBRARY POLICY: when the work of streams runs.

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

#include "conformance/abi/driver_under_test.h"
#include "conformance/campaign/campaign.h"
#include "conformance/small_scope/pools/pool_machine.h"
#include "conformance/small_scope/pools/pool_model.h"
#include "conformance/small_scope/pools/pool_search.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance::small_scope {
namespace {

using ::testing::HasSubstr;

bool works_at_once = false;

PoolRules AllAllowed() {
  PoolRules rules;
  rules.at_once = works_at_once;
  return rules;
}

void Report(const PoolFigures& figures) {
  if (!campaign::IsLong()) return;
  std::printf(
      "%zu steps: %llu new states; in all %llu states, %llu of them out of view, %llu "
      "transitions (%llu refused)\n",
      figures.states.size() - 1, static_cast<unsigned long long>(figures.states.back()),
      static_cast<unsigned long long>(figures.all_states()),
      static_cast<unsigned long long>(figures.out_of_view),
      static_cast<unsigned long long>(figures.transitions),
      static_cast<unsigned long long>(figures.refused));
  std::fflush(stdout);
}

// The ways in which a pool may use memory again, each allowed or not.
class PoolScopeTest : public testing::TestWithParam<int> {
 protected:
  static PoolRules Rules() {
    PoolRules rules = AllAllowed();
    rules.follow_events = (GetParam() & 1) != 0;
    rules.opportunistic = (GetParam() & 2) != 0;
    rules.internal_dependencies = (GetParam() & 4) != 0;
    return rules;
  }
};

// In a campaign to a length of 8, which nearly all that two chunks can be takes.
TEST_P(PoolScopeTest, APoolOfTwoChunksDoesAsTheModel) {
  PoolMachine machine;
  const PoolFigures figures = SearchPools(&machine, Rules(), campaign::IsLong() ? 8 : 3, Report);
  EXPECT_EQ(figures.difference, "");
  EXPECT_GT(figures.transitions, 400u);
}

// Every state that there is.
TEST_P(PoolScopeTest, APoolOfOneChunkDoesAsTheModelInEveryState) {
  PoolRules rules = Rules();
  rules.most_chunks = 1;
  PoolMachine machine;
  const int length = campaign::IsLong() ? std::numeric_limits<int>::max() : 4;
  const PoolFigures figures = SearchPools(&machine, rules, length, Report);
  EXPECT_EQ(figures.difference, "");
  EXPECT_EQ(figures.complete, campaign::IsLong());
}

INSTANTIATE_TEST_SUITE_P(Allowed, PoolScopeTest, testing::Range(0, 8));

// --- Planted faults

// Forgets a wait for an event.
class ForgetfulMachine : public PoolMachine {
 public:
  PoolAnswer Do(const PoolStep& step) override {
    return step.kind == PoolStep::kWait ? PoolAnswer() : PoolMachine::Do(step);
  }
};

// It takes memory that all of the pool is used for, a free, an event, and a wait.
TEST(PoolScopeFaultTest, AWaitThatIsForgottenIsFound) {
  PoolRules rules = AllAllowed();
  rules.opportunistic = false;
  rules.internal_dependencies = false;
  rules.most_chunks = 1;
  ForgetfulMachine machine;
  const PoolFigures figures = SearchPools(&machine, rules, 6);
  EXPECT_THAT(figures.difference, HasSubstr("stream 1 waits for the event"));
}

// Waits before it trims.
class EagerTrimmer : public PoolMachine {
 public:
  PoolAnswer Do(const PoolStep& step) override {
    if (step.kind == PoolStep::kTrim) PoolMachine::Do({PoolStep::kSynchronizeStream, 0, 0});
    return PoolMachine::Do(step);
  }
};

TEST(PoolScopeFaultTest, TrimmingWhatNobodyHasWaitedForIsFound) {
  EagerTrimmer machine;
  const PoolFigures figures = SearchPools(&machine, AllAllowed(), 3);
  EXPECT_THAT(figures.difference, HasSubstr("trim to 0 chunks:\nreserved"));
}

}  // namespace
}  // namespace twinmmu::conformance::small_scope

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (argc != 3) return 2;
  twinmmu::abi::SetDriver(argv[1]);
  setenv("TWINMMU_STREAM_POLICY", argv[2], 1);
  twinmmu::conformance::small_scope::works_at_once = std::string(argv[2]) == "eager";
  return RUN_ALL_TESTS();
}
