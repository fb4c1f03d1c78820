// A plan fails the calls that its rules name, and no other.

#include "api/testing/fault_plan.h"

#include <string>
#include <thread>
#include <vector>

#include "api/testing/matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Which of `count` calls fail, from 1.
std::vector<int> Failing(FaultPlan& faults, int count, DriverCall call = DriverCall::kMap) {
  std::vector<int> failing;
  for (int n = 1; n <= count; ++n) {
    if (!faults.Ask(call).ok()) failing.push_back(n);
  }
  return failing;
}

TEST(FaultPlanTest, WithoutRulesNothingFails) {
  FaultPlan faults;
  EXPECT_THAT(Failing(faults, 100), IsEmpty());
}

TEST(FaultPlanTest, FailsTheNthCallOnce) {
  FaultPlan faults;
  faults.FailNth(3, DriverCode::kOutOfMemory);
  EXPECT_THAT(Failing(faults, 10), ElementsAre(3));
}

TEST(FaultPlanTest, FailsEveryKthCall) {
  FaultPlan faults;
  faults.FailEvery(4, DriverCode::kOutOfMemory);
  EXPECT_THAT(Failing(faults, 12), ElementsAre(4, 8, 12));
}

// Calls of other kinds do not fail, and are not counted.
TEST(FaultPlanTest, CountsOnlyCallsOfItsKinds) {
  FaultPlan faults;
  faults.FailNth(2, DriverCode::kOutOfMemory, {DriverCall::kCreate, DriverCall::kMap});
  EXPECT_THAT(Failing(faults, 5, DriverCall::kUnmap), IsEmpty());
  EXPECT_THAT(faults.Ask(DriverCall::kCreate), IsOk());
  EXPECT_THAT(faults.Ask(DriverCall::kUnmap), IsOk());
  EXPECT_THAT(faults.Ask(DriverCall::kMap), HasDriverCode(DriverCode::kOutOfMemory));
}

// A rule that names no kind counts calls of all kinds together.
TEST(FaultPlanTest, CountsAllCallsWhereNoKindIsNamed) {
  FaultPlan faults;
  faults.FailNth(3, DriverCode::kOutOfMemory);
  EXPECT_THAT(faults.Ask(DriverCall::kGetDeviceCount), IsOk());
  EXPECT_THAT(faults.Ask(DriverCall::kMap), IsOk());
  EXPECT_THAT(faults.Ask(DriverCall::kSynchronizeStream), HasDriverCode(DriverCode::kOutOfMemory));
}

// What came before a rule does not count for it.
TEST(FaultPlanTest, CountsFromWhenARuleWasAdded) {
  FaultPlan faults;
  Failing(faults, 5);
  faults.FailNth(2, DriverCode::kOutOfMemory);
  EXPECT_THAT(Failing(faults, 5), ElementsAre(2));
}

// The calls that one rule fails are counted by the others, and the first rule's code is the answer.
TEST(FaultPlanTest, TheFirstRuleWinsAndAllCount) {
  FaultPlan faults;
  faults.FailEvery(2, DriverCode::kOutOfMemory);
  faults.FailEvery(3, DriverCode::kNotSupported);
  EXPECT_THAT(Failing(faults, 5), ElementsAre(2, 3, 4));
  EXPECT_THAT(faults.Ask(DriverCall::kMap), HasDriverCode(DriverCode::kOutOfMemory));
  EXPECT_EQ(faults.fired(), 4);
}

// A seed gives the same failures each time, another seed others, and about as many as was asked.
TEST(FaultPlanTest, FailsRandomlyButRepeatably) {
  const auto failing = [](uint64_t seed) {
    FaultPlan faults;
    faults.FailRandomly(0.25, seed, DriverCode::kOutOfMemory);
    return Failing(faults, 4000);
  };
  EXPECT_EQ(failing(1), failing(1));
  EXPECT_NE(failing(1), failing(2));
  EXPECT_THAT(failing(1), SizeIs(AllOf(testing::Gt(900), testing::Lt(1100))));
}

TEST(FaultPlanTest, AProbabilityOfNoneOrAllIsExact) {
  FaultPlan never;
  never.FailRandomly(0, 1, DriverCode::kOutOfMemory);
  EXPECT_THAT(Failing(never, 1000), IsEmpty());
  FaultPlan always;
  always.FailRandomly(1, 1, DriverCode::kOutOfMemory);
  EXPECT_THAT(Failing(always, 1000), SizeIs(1000));
}

TEST(FaultPlanTest, NumberZeroAndSuccessFailNothing) {
  FaultPlan faults;
  faults.FailNth(0, DriverCode::kOutOfMemory);
  faults.FailEvery(0, DriverCode::kOutOfMemory);
  faults.FailEvery(1, DriverCode::kSuccess);
  EXPECT_THAT(Failing(faults, 10), IsEmpty());
  EXPECT_EQ(faults.fired(), 0);
}

TEST(FaultPlanTest, ClearForgetsRulesAndNumbers) {
  FaultPlan faults;
  faults.FailEvery(1, DriverCode::kOutOfMemory);
  Failing(faults, 3);
  EXPECT_EQ(faults.asked(), 3);
  EXPECT_EQ(faults.fired(), 3);
  faults.Clear();
  EXPECT_EQ(faults.asked(), 0);
  EXPECT_EQ(faults.fired(), 0);
  EXPECT_THAT(Failing(faults, 3), IsEmpty());
}

// The error is the driver's, but for its origin; the message tells where it comes from.
TEST(FaultPlanTest, AnErrorSaysWhichRuleAndWhichCall) {
  FaultPlan faults;
  faults.FailNth(9, DriverCode::kNotSupported);
  faults.FailNth(2, DriverCode::kOutOfMemory, {DriverCall::kCreate, DriverCall::kMap});
  EXPECT_THAT(Failing(faults, 5, DriverCall::kUnmap), IsEmpty());
  EXPECT_THAT(faults.Ask(DriverCall::kMap), IsOk());
  const absl::Status status = faults.Ask(DriverCall::kMap);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(GetDriverError(status),
            (DriverError{DriverCode::kOutOfMemory, ErrorOrigin::kInjected, "cuMemMap"}));
  EXPECT_EQ(status.message(),
            "cuMemMap failed: CUDA_ERROR_OUT_OF_MEMORY, injected by rule 2, FailNth(2) of "
            "cuMemCreate, cuMemMap, at its call 2 (call 7 in all)");
}

// Each call is counted once, whichever thread makes it, while rules come and go.
TEST(FaultPlanTest, CountsCallsOfSeveralThreads) {
  FaultPlan faults;
  faults.FailEvery(10, DriverCode::kOutOfMemory, {DriverCall::kMap});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Failing(faults, 1000);
      faults.FailNth(1, DriverCode::kNotSupported, {DriverCall::kUnmap});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults.asked(), 4000);
  EXPECT_EQ(faults.fired(), 400);
}

}  // namespace
}  // namespace twinmmu
