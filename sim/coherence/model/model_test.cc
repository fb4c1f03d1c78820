#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/coherence/model/hazard_checker.h"
#include "sim/coherence/model/operational_model.h"
#include "sim/coherence/model/ordering.h"

namespace twinmmu::coherence {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr AddressId kX = 0;
constexpr AddressId kY = 1;
constexpr LocationId kHere = 28;
constexpr Strength kWeak = {};

TEST(VectorClockTest, TakesEndedThreadsTogether) {
  VectorClock clock;
  clock.Raise(5, 3);
  clock.AddEnded(0, 4);
  clock.AddEnded(5, 9);
  EXPECT_EQ(clock.Get(5), VectorClock::kAll);
  EXPECT_EQ(clock.Get(10), 0u);
  std::vector<uint64_t> key;
  clock.AppendTo(&key);
  EXPECT_EQ(key.size(), 2u);  // one range
}

TEST(VectorClockTest, JoinTakesTheGreater) {
  VectorClock a, b;
  a.Raise(1, 5);
  b.Raise(1, 7);
  b.Raise(2, 1);
  a.Join(b);
  EXPECT_EQ(a.Get(1), 7u);
  EXPECT_EQ(a.Get(2), 1u);
}

// Threads that ended become one range, but for those that run in between.
TEST(VectorClockTest, TakesNoThreadThatRunsForEnded) {
  VectorClock clock;
  for (const ThreadId thread : {1, 3, 4}) clock.Raise(thread, 1);
  clock.Coarsen([](ThreadId first, ThreadId last) { return first <= 2 && 2 <= last; });
  EXPECT_EQ(clock.Get(1), VectorClock::kAll);
  EXPECT_EQ(clock.Get(2), 0u);
  EXPECT_EQ(clock.Get(3), VectorClock::kAll);
}

// What was in order before an alias fence is not so without it.
TEST(OrderingTest, StatesDifferByAnAliasFence) {
  std::vector<uint64_t> keys[2];
  for (const bool fences : {false, true}) {
    Ordering ordering;
    ordering.Start(0, Place(), Clocks());
    ordering.Next(0, kX);
    if (fences) ordering.AliasFence(0);
    ordering.AppendTo(&keys[fences ? 1 : 0]);
  }
  EXPECT_NE(keys[0], keys[1]);
}

class MonitorTest : public testing::Test {
 protected:
  MonitorTest() {
    ordering_.Start(0, Place(), Clocks());
    ordering_.Start(1, Place(), Clocks());
  }
  void Store(ThreadId thread, AddressId address, uint64_t value) {
    const AccessEvent event = ordering_.Next(thread, address);
    reports_.clear();
    checker_.Check(ordering_, kHere, 4, event, kWeak, true, &reports_);
    EXPECT_TRUE(view_.Store(&ordering_, kHere, kWeak, value, event));
  }
  // What a load may give, oldest first.
  std::vector<uint64_t> Loadable(ThreadId thread, AddressId address) {
    std::vector<uint64_t> values;
    for (const int write : view_.Candidates(ordering_, kHere, thread, address)) {
      values.push_back(view_.ValueOf(kHere, write));
    }
    return values;
  }
  void Meet() {
    Gathering gathering;
    ordering_.Arrive(0, &gathering);
    ordering_.Arrive(1, &gathering);
    ordering_.Leave(0, &gathering);
    ordering_.Leave(1, &gathering);
  }

  Ordering ordering_;
  OperationalModel view_;
  HazardChecker checker_;
  std::vector<HazardReport> reports_;
};

TEST_F(MonitorTest, OneAddressIsCoherentInItsThread) {
  Store(0, kX, 1);
  EXPECT_THAT(Loadable(0, kX), ElementsAre(1));
}

TEST_F(MonitorTest, AnAliasMayBeStaleUntilTheFence) {
  Store(0, kX, 1);
  EXPECT_THAT(Loadable(0, kY), ElementsAre(0, 1));
  ordering_.AliasFence(0);
  EXPECT_THAT(Loadable(0, kY), ElementsAre(1));
}

TEST_F(MonitorTest, ABarrierOrdersOneAddressOnly) {
  Store(0, kX, 1);
  Meet();
  EXPECT_THAT(Loadable(1, kX), ElementsAre(1));
  EXPECT_THAT(Loadable(1, kY), ElementsAre(0, 1));
}

TEST_F(MonitorTest, AFenceOfAnotherThreadOnTheWayBackWillDo) {
  Store(0, kX, 1);
  Meet();
  ordering_.AliasFence(1);
  EXPECT_THAT(Loadable(0, kY), ElementsAre(0, 1));
  Meet();
  EXPECT_THAT(Loadable(0, kY), ElementsAre(1));
}

TEST_F(MonitorTest, TellsAMissingFenceFromAMissingOrder) {
  Store(0, kX, 1);
  Store(0, kY, 2);
  ASSERT_THAT(reports_, SizeIs(1));
  EXPECT_EQ(reports_[0].hazard, Hazard::kAlias);
  EXPECT_TRUE(reports_[0].missing_fence);
  Store(1, kY, 3);
  ASSERT_THAT(reports_, SizeIs(2));
  EXPECT_FALSE(reports_[0].missing_fence);
  EXPECT_EQ(reports_[1].hazard, Hazard::kData);
}

// What is complete when a grid starts is coherent for that grid, through every address.
TEST_F(MonitorTest, TheStartOfAGridIsABoundary) {
  Store(0, kX, 1);
  Clocks clocks;
  ordering_.End(0, &clocks);
  ordering_.Start(2, Place(), clocks);
  EXPECT_THAT(Loadable(2, kY), ElementsAre(1));
  Store(2, kY, 2);
  EXPECT_THAT(reports_, IsEmpty());
}

TEST_F(MonitorTest, CollapseKeepsTheNewestValue) {
  Store(0, kX, 1);
  Store(0, kY, 2);
  Clocks clocks;
  ordering_.End(0, &clocks);
  ordering_.End(1, &clocks);
  view_.Collapse();
  checker_.Collapse();
  ordering_.Forget();
  ordering_.Start(3, Place(), Clocks());
  EXPECT_THAT(Loadable(3, kX), ElementsAre(2));
}

// An address that is mapped again has another id.
TEST_F(MonitorTest, AccessesThroughAddressesThatAreNoMoreTakeNoMemory) {
  for (AddressId address = 2; address < 100'000; ++address) Store(0, address, 1);
  EXPECT_LT(checker_.kinds(), 10'000u);
  Store(0, kX, 1);
  Store(1, kX, 2);
  EXPECT_THAT(reports_, testing::Not(IsEmpty()));  // what is still used is still known
}

TEST_F(MonitorTest, AccessesOfMemoryThatIsForgottenTakeNoMemory) {
  for (AddressId address = 2; address < 1'000; ++address) Store(0, address, 1);
  checker_.Forget(0, kPageBytes - 1);
  EXPECT_EQ(checker_.kinds(), 1u);
  EXPECT_EQ(checker_.bytes(), 0u);
}

TEST_F(MonitorTest, AccessesThatAreNotForgottenStillTakeMemory) {
  const auto access = [&](LocationId location) {
    checker_.Check(ordering_, location, 4, ordering_.Next(0, kX), kWeak, true, &reports_);
  };
  access(0);
  const uint64_t bytes = checker_.bytes();
  access(kPageBytes);
  checker_.Forget(kPageBytes, 2 * kPageBytes - 1);
  EXPECT_EQ(checker_.bytes(), bytes);
}

// The values of memory may be known where the accesses are no more.
TEST_F(MonitorTest, AReadSeesAWriteOfWhichTheAccessIsForgotten) {
  const AccessEvent write = ordering_.Next(0, kX);
  checker_.Observe(kHere, 4, {write}, ordering_.Next(1, kX));
  EXPECT_EQ(checker_.bytes(), 0u);
}

// What lies beside the bytes that are forgotten stays: of words, and of what covers much of a page.
TEST_F(MonitorTest, ForgetsAnyBytes) {
  const auto races_at = [&](LocationId location) {
    reports_.clear();
    checker_.Check(ordering_, location, 4, ordering_.Next(1, kX), kWeak, true, &reports_);
    return !reports_.empty();
  };
  for (LocationId word = 0; word < 64; word += 4) {
    checker_.Check(ordering_, word, 4, ordering_.Next(0, kX), kWeak, true, &reports_);
  }
  checker_.Check(ordering_, 1024, 1024, ordering_.Next(0, kX), kWeak, true, &reports_);
  ASSERT_THAT(reports_, IsEmpty());
  checker_.ForgetBytes(8, 15);
  checker_.ForgetBytes(1100, 1199);
  EXPECT_TRUE(races_at(4));
  EXPECT_FALSE(races_at(8));
  EXPECT_FALSE(races_at(12));
  EXPECT_TRUE(races_at(16));
  EXPECT_TRUE(races_at(1096));
  EXPECT_FALSE(races_at(1100));
  EXPECT_FALSE(races_at(1196));
  EXPECT_TRUE(races_at(1200));
}

TEST_F(MonitorTest, ForgetsTheFirstBytesOfAPage) {
  checker_.Check(ordering_, 0, kPageBytes, ordering_.Next(0, kX), kWeak, true, &reports_);
  checker_.ForgetBytes(0, 99);
  checker_.Check(ordering_, 0, 100, ordering_.Next(1, kX), kWeak, true, &reports_);
  EXPECT_THAT(reports_, IsEmpty());
  checker_.Check(ordering_, 100, 4, ordering_.Next(1, kX), kWeak, true, &reports_);
  EXPECT_THAT(reports_, SizeIs(1));
}

TEST(HazardCheckerTest, AccessesSideBySideTakeLessThanAByteForEachByte) {
  constexpr uint64_t kBytes = uint64_t{1} << 20;
  Ordering ordering;
  ordering.Start(1, 32, Place(), Clocks());
  HazardChecker checker;
  HazardChecker::Row row;
  row.size = 4;
  row.threads = 32;
  row.event.thread = 1;
  row.event.address = kX;
  for (const bool writes : {false, true, false}) {
    row.writes = writes;
    for (row.first = 0; row.first < kBytes; row.first += 128) {
      ASSERT_EQ(checker.CheckQuickly(&ordering, row), 32u);
    }
  }
  EXPECT_LT(checker.bytes(), kBytes);
}

TEST(HazardCheckerTest, AReadMoreRacesWithTheWriteBeforeManyReads) {
  constexpr ThreadId kReads = HazardChecker::kMaxAccesses;
  Ordering ordering;
  ordering.Start(0, kReads + 1, Place(), Clocks());
  HazardChecker checker;
  std::vector<HazardReport> reports;
  for (ThreadId thread = 0; thread < kReads; ++thread) {
    checker.Check(ordering, kHere, 4, ordering.Next(thread, kX), kWeak, thread == 0, &reports);
  }
  HazardChecker::Row row;
  row.first = kHere;
  row.size = 4;
  row.threads = 1;
  row.event.thread = kReads;
  row.event.address = kX;
  EXPECT_EQ(checker.CheckQuickly(&ordering, row), 0u);
}

TEST_F(MonitorTest, ValuesThatAreForgottenTakeNoMemory) {
  constexpr Strength kRelease = {Semantics::kRelease, Scope::kSys};
  for (LocationId location = 0; location < 4096; location += 4) {
    const AccessEvent event = ordering_.Next(0, kX);
    view_.Store(&ordering_, location, kRelease, 1, event);
  }
  view_.Split(0);
  EXPECT_GT(view_.bytes(), 1024 * 512u);
  view_.Forget(4);
  view_.Forget(0, kPageBytes - 1);
  EXPECT_EQ(view_.bytes(), 0u);
}

TEST_F(MonitorTest, ForgetsTheOldestOfManyWrites) {
  for (uint64_t i = 1; i <= 1000; ++i) Store(0, kX, i);
  EXPECT_THAT(Loadable(0, kX), ElementsAre(1000));
  EXPECT_THAT(Loadable(1, kX), SizeIs(OperationalModel::kMaxWrites + 1));
}

}  // namespace
}  // namespace twinmmu::coherence
