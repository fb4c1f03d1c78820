// Which operations are over, as far as the program can know, when another one begins.

#include "sim/streams/operation_order.h"

#include <array>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/testing/failing_new.h"

namespace twinmmu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Line = OperationOrder::Line;
using Moment = OperationOrder::Moment;
using Operation = OperationOrder::Operation;

constexpr DeviceOrdinal kDevice0(0);
constexpr DeviceOrdinal kDevice1(1);

// Each operation is one thread of the monitor, of the number that the test gives it.
class OperationOrderTest : public testing::Test {
 protected:
  static constexpr coherence::ThreadId kMost = 9;

  // Runs it: those that it comes after.
  std::vector<coherence::ThreadId> Run(const Operation& operation, coherence::ThreadId thread) {
    coherence::Clocks clocks = order_.Begin(operation);
    std::vector<coherence::ThreadId> before;
    for (coherence::ThreadId other = 1; other <= kMost; ++other) {
      if (clocks.all.Get(other) != 0) before.push_back(other);
    }
    clocks.all.AddEnded(thread, thread);
    order_.End(operation, clocks);
    return before;
  }
  std::vector<coherence::ThreadId> SubmitAndRun(const Line& line, coherence::ThreadId thread) {
    return Run(order_.Submit(line), thread);
  }

  coherence::AliasMonitor monitor_{coherence::AliasOptions(), nullptr};
  ProcessRaces others_{&monitor_, /*enabled=*/false, nullptr, nullptr};
  OperationOrder order_{&monitor_, &others_, 2};
  const Line a_ = order_.MakeLine(kDevice0);
  const Line b_ = order_.MakeLine(kDevice0);
  const Line c_ = order_.MakeLine(kDevice1);
};

// An operation comes after all that its stream did before, and after nothing of another stream.
TEST_F(OperationOrderTest, StreamsAreInOrder) {
  EXPECT_THAT(SubmitAndRun(a_, 1), IsEmpty());
  EXPECT_THAT(SubmitAndRun(a_, 2), ElementsAre(1));
  EXPECT_THAT(SubmitAndRun(b_, 3), IsEmpty());
  EXPECT_THAT(SubmitAndRun(a_, 4), ElementsAre(1, 2));
}

// A wait is for what the other stream was given before the event was recorded, be it over then or
// not, and for nothing that it was given later.
TEST_F(OperationOrderTest, EventsStandForWhatCameBefore) {
  SubmitAndRun(a_, 1);
  const Operation queued = order_.Submit(a_);
  const Moment event = order_.Record(a_);
  order_.Wait(b_, event);
  const Operation waiting = order_.Submit(b_);
  const Operation later = order_.Submit(a_);
  Run(queued, 2);
  Run(later, 3);
  EXPECT_THAT(Run(waiting, 4), ElementsAre(1, 2));
}

// What a stream was given before a wait does not wait; all that it is given later does.
TEST_F(OperationOrderTest, WaitsAreForWhatComesLater) {
  const Operation earlier = order_.Submit(b_);
  SubmitAndRun(a_, 1);
  order_.Wait(b_, order_.Record(a_));
  EXPECT_THAT(Run(earlier, 2), IsEmpty());
  EXPECT_THAT(SubmitAndRun(b_, 3), ElementsAre(1, 2));
  EXPECT_THAT(SubmitAndRun(b_, 4), ElementsAre(1, 2, 3));
}

// An event stands for what its stream was made to wait for, too, without an operation in between.
TEST_F(OperationOrderTest, WaitsArePassedOn) {
  const Operation first = order_.Submit(a_);
  order_.Wait(b_, order_.Record(a_));
  order_.Wait(c_, order_.Record(b_));
  const Operation last = order_.Submit(c_);
  Run(first, 1);
  EXPECT_THAT(Run(last, 2), ElementsAre(1));
}

// A stream may wait for several others, one after the other, and then comes after all of them.
TEST_F(OperationOrderTest, AStreamWaitsForSeveral) {
  const Operation first = order_.Submit(a_);
  const Operation second = order_.Submit(c_);
  order_.Wait(b_, order_.Record(a_));
  order_.Wait(b_, order_.Record(c_));
  const Operation waiting = order_.Submit(b_);
  Run(first, 1);
  Run(second, 2);
  EXPECT_THAT(Run(waiting, 3), ElementsAre(1, 2));
}

// The host counts as one: what it submits comes after what it has waited for, on whatever stream,
// and what it had submitted before does not.
TEST_F(OperationOrderTest, TheHostWaits) {
  SubmitAndRun(a_, 1);
  const Operation earlier = order_.Submit(b_);
  order_.HostWaited(order_.Record(a_));
  EXPECT_THAT(Run(earlier, 2), IsEmpty());
  EXPECT_THAT(SubmitAndRun(c_, 3), ElementsAre(1));
}

// A wait for a device is for all of its streams, those that are gone included, and for none of
// another device.
TEST_F(OperationOrderTest, TheHostWaitsForADevice) {
  SubmitAndRun(a_, 1);
  SubmitAndRun(order_.MakeLine(kDevice0), 2);
  SubmitAndRun(c_, 3);
  order_.HostWaited(kDevice0);
  EXPECT_THAT(SubmitAndRun(order_.MakeLine(kDevice1), 4), ElementsAre(1, 2));
}

// An event may outlive its stream.
TEST_F(OperationOrderTest, EventsOutliveStreams) {
  Moment event;
  {
    const Line line = order_.MakeLine(kDevice0);
    const Operation operation = order_.Submit(line);
    event = order_.Record(line);
    Run(operation, 1);
  }
  order_.Wait(b_, event);
  EXPECT_THAT(SubmitAndRun(b_, 2), ElementsAre(1));
}

// An operation that never ran, since there was no memory to queue it, does not hide those before.
TEST_F(OperationOrderTest, WhatNeverRanHidesNothing) {
  SubmitAndRun(a_, 1);
  SubmitAndRun(b_, 2);
  order_.Wait(a_, order_.Record(b_));
  const Operation dropped = order_.Submit(a_);
  const Moment event = order_.Record(a_);
  EXPECT_THAT(SubmitAndRun(a_, 3), ElementsAre(1, 2));
  order_.Wait(c_, event);
  EXPECT_THAT(SubmitAndRun(c_, 4), testing::IsSupersetOf({1, 2}));
}

// Nor does it hide those before that are not over yet.
TEST_F(OperationOrderTest, WhatNeverRanStandsForWhatWasQueued) {
  const Operation queued = order_.Submit(a_);
  const Operation dropped = order_.Submit(a_);
  order_.Wait(c_, order_.Record(a_));
  Run(queued, 1);
  EXPECT_THAT(SubmitAndRun(c_, 2), ElementsAre(1));
}

// Where the host has no memory for what came before, that is everything: no race is invented.
TEST_F(OperationOrderTest, WithoutMemoryAllCameBefore) {
  SubmitAndRun(a_, 1);
  SubmitAndRun(b_, 2);
  order_.Wait(a_, order_.Record(b_));
  const Operation operation = order_.Submit(a_);
  no_memory = true;
  const coherence::Clocks before = order_.Begin(operation);
  no_memory = false;
  EXPECT_EQ(before.all.Get(kMost), coherence::VectorClock::kAll);
  EXPECT_TRUE(before.passed.Shares(before.all));
  order_.End(operation, before);
}

TEST_F(OperationOrderTest, WithoutMemoryTheHostHasWaitedForAll) {
  SubmitAndRun(a_, 1);
  SubmitAndRun(b_, 2);
  order_.HostWaited(order_.Record(a_));
  const Moment event = order_.Record(b_);
  no_memory = true;
  order_.HostWaited(event);
  no_memory = false;
  EXPECT_THAT(SubmitAndRun(c_, 3), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
}

// A kernel that starts early comes after what the kernel ahead of it came after, and reaches the
// rest when that is over. What is behind it comes after both.
TEST_F(OperationOrderTest, KernelsStartEarly) {
  using Kind = OperationOrder::Kind;
  SubmitAndRun(a_, 1);
  EXPECT_THAT(Run(order_.Submit(a_, Kind::kEarlyKernel), 2), ElementsAre(1));
  const Operation ahead = order_.Submit(a_, Kind::kEarlyKernel);
  const Operation early = order_.Submit(a_, Kind::kEarlyKernel);
  EXPECT_THAT(Run(ahead, 3), ElementsAre(1));
  const coherence::Clocks reached = order_.Reached(early);
  EXPECT_NE(reached.all.Get(3), 0u);
  coherence::Clocks clocks = order_.Begin(early);
  EXPECT_EQ(clocks.all.Get(3), 0u);
  clocks.Join(reached);
  clocks.all.AddEnded(4, 4);
  order_.End(early, clocks);
  EXPECT_THAT(SubmitAndRun(a_, 5), ElementsAre(1, 3, 4));
}

// Not where something else is ahead, or the stream waits for another one.
TEST_F(OperationOrderTest, KernelsStartEarlyBehindKernelsOnly) {
  using Kind = OperationOrder::Kind;
  Run(order_.Submit(a_, Kind::kKernel), 1);
  SubmitAndRun(a_, 2);
  EXPECT_THAT(Run(order_.Submit(a_, Kind::kEarlyKernel), 3), ElementsAre(1, 2));
  order_.Wait(a_, order_.Record(b_));
  EXPECT_THAT(Run(order_.Submit(a_, Kind::kEarlyKernel), 4), ElementsAre(1, 2, 3));
}

// Streams that wait for each other again and again keep nothing of what is over: each operation
// comes after all before it, and what is queued costs no more the longer it goes on.
TEST_F(OperationOrderTest, LongChainsOfWaitsCanBeDropped) {
  std::vector<Operation> queued;
  for (int i = 0; i < 200'000; ++i) {
    const Line& line = i % 2 == 0 ? a_ : b_;
    queued.push_back(order_.Submit(line));
    order_.Wait(i % 2 == 0 ? b_ : a_, order_.Record(line));
  }
  Run(queued[0], 1);
  EXPECT_THAT(Run(queued[1], 2), ElementsAre(1));
  queued.clear();  // a chain from each to the one before would end the process
}

// Nor do those that have waited for many streams, which are gone by now; `submits`: and have had
// operations in between.
TEST_F(OperationOrderTest, WaitsForWhatIsOverTakeNoMemory) {
  for (const bool submits : {false, true}) {
    size_t first = 0;
    for (int i = 0; i < 2'000; ++i) {
      if (i == 1'000) first = live_bytes;
      const Line line = order_.MakeLine(kDevice0);
      const Operation operation = order_.Submit(line);
      order_.Wait(a_, order_.Record(line));
      Run(operation, 1);
      if (submits) SubmitAndRun(a_, 2);
    }
    EXPECT_LT(live_bytes, first + 4'096) << submits;
  }
}

// --- What the monitor forgets --------------------------------------------------------------------

// Operations of so many threads that their numbers soon end.
class ForgottenOperationsTest : public OperationOrderTest {
 protected:
  ForgottenOperationsTest() { monitor_.Arm(memory_.data(), memory_.size()); }

  // The number of its first thread.
  coherence::ThreadId RunMany(const Operation& operation) {
    constexpr uint32_t kMany = 0x2fff'ffff;
    coherence::Clocks clocks = order_.Begin(operation);
    const coherence::ThreadId first = monitor_.Start(kMany, 0, 0, clocks);
    monitor_.End(first, kMany, &clocks);
    order_.End(operation, clocks);
    return first;
  }

 private:
  alignas(4096) std::array<char, 4096> memory_{};
};

// When the host has waited for all that ran, threads are numbered anew, and nothing is known of
// earlier ones.
TEST_F(ForgottenOperationsTest, AreThoseThatTheHostHasWaitedFor) {
  for (const bool of_device : {false, true}) {
    EXPECT_EQ(RunMany(order_.Submit(a_)), 1u);
    EXPECT_NE(RunMany(order_.Submit(a_)), 1u);
    if (of_device) {
      order_.HostWaited(kDevice0);
    } else {
      order_.HostWaited(order_.Record(a_));
    }
    const Operation next = order_.Submit(a_);
    EXPECT_TRUE(order_.Begin(next).empty());
    order_.End(next, coherence::Clocks());
  }
}

// What is queued may have a past that counts: nothing is forgotten meanwhile.
TEST_F(ForgottenOperationsTest, AreNoneWhileOthersAreQueued) {
  RunMany(order_.Submit(a_));
  RunMany(order_.Submit(a_));
  const Operation queued = order_.Submit(b_);
  order_.HostWaited(order_.Record(a_));
  EXPECT_NE(RunMany(queued), 1u);
  order_.HostWaited(order_.Record(b_));
  EXPECT_EQ(RunMany(order_.Submit(a_)), 1u);
}

}  // namespace
}  // namespace twinmmu
