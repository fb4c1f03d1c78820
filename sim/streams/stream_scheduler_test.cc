// When queued work runs: its order, waits, the policies, and that nothing hangs.

#include "sim/streams/stream_scheduler.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr DeviceOrdinal kDevice(0);

// Queues whose work writes letters into a log.
class Scenario {
 public:
  explicit Scenario(StreamPolicy policy, uint64_t seed = 0) : scheduler(policy, seed) {}

  StreamScheduler::Queue MakeQueue(DeviceOrdinal device = kDevice) {
    return scheduler.MakeQueue(device);
  }
  StreamScheduler::Point Submit(const StreamScheduler::Queue& queue, char letter,
                                const AddressRange& range = {}) {
    StreamScheduler::Work work;
    work.run = [this, letter](Turn) {
      log += letter;
      return Progress::kDone;
    };
    work.ranges[0] = range;
    return scheduler.Submit(queue, std::move(work));
  }

  // A kernel that waits for `flag`, and then writes a letter.
  StreamScheduler::Point SubmitWaiting(const StreamScheduler::Queue& queue, char letter,
                                       const std::atomic<bool>& flag) {
    StreamScheduler::Work work;
    work.kernel = true;
    work.run = [this, letter, &flag](Turn) {
      if (!flag) return Progress::kWaiting;
      log += letter;
      return Progress::kDone;
    };
    return scheduler.Submit(queue, std::move(work));
  }
  // A kernel that is done after so many turns, and writes for each why it has it.
  StreamScheduler::Point SubmitLong(const StreamScheduler::Queue& queue, int turns) {
    StreamScheduler::Work work;
    work.kernel = true;
    work.run = [this, left = turns](Turn turn) mutable {
      log += "cpaws"[static_cast<int>(turn)];
      return --left == 0 ? Progress::kDone : Progress::kAdvanced;
    };
    return scheduler.Submit(queue, std::move(work));
  }
  StreamScheduler::Point SubmitFlag(const StreamScheduler::Queue& queue, std::atomic<bool>& flag) {
    StreamScheduler::Work work;
    work.run = [&flag](Turn) {
      flag = true;
      return Progress::kDone;
    };
    return scheduler.Submit(queue, std::move(work));
  }

  std::string log;
  StreamScheduler scheduler;
};

// Two kernels: one that lets the next one start at its second turn of three, 'a' to 'c'; the next
// has 'x' early, and 'y' at its end.
void SubmitPair(Scenario* s, const StreamScheduler::Queue& queue) {
  const auto turns = std::make_shared<int>(0);
  StreamScheduler::Work first;
  first.kernel = true;
  first.run = [s, turns](Turn) {
    s->log += "abc"[(*turns)++];
    return *turns == 3 ? Progress::kDone : Progress::kAdvanced;
  };
  first.lets_next_start = [turns] { return *turns >= 2; };
  s->scheduler.Submit(queue, std::move(first));
  StreamScheduler::Work second;
  second.kernel = true;
  second.run = [s](Turn) {
    s->log += 'y';
    return Progress::kDone;
  };
  second.run_early = [s](Turn) {
    s->log += 'x';
    return Progress::kWaiting;
  };
  s->scheduler.Submit(queue, std::move(second));
}

constexpr StreamPolicy kPolicies[] = {StreamPolicy::kEager, StreamPolicy::kDeferred,
                                      StreamPolicy::kSeeded};

// Deferred: nothing runs before somebody needs it, and then no more than is needed, in order.
TEST(StreamSchedulerTest, DefersToTheLastMoment) {
  Scenario s(StreamPolicy::kDeferred);
  const auto one = s.MakeQueue();
  const auto other = s.MakeQueue();
  s.Submit(one, 'a');
  const auto point = s.Submit(one, 'b');
  s.Submit(one, 'c');
  s.Submit(other, 'x');
  EXPECT_EQ(s.log, "");
  s.scheduler.Finish(point);
  EXPECT_EQ(s.log, "ab");
  s.scheduler.FinishDevice(kDevice);
  EXPECT_EQ(s.log, "abcx");
}

// A kernel that may start early does so at once when the one ahead lets it, goes first from then
// on, and has its end behind the end of that one.
TEST(StreamSchedulerTest, KernelsStartEarly) {
  Scenario s(StreamPolicy::kDeferred);
  const auto queue = s.MakeQueue();
  SubmitPair(&s, queue);
  EXPECT_EQ(s.log, "");
  s.scheduler.Finish(s.scheduler.Record(queue));
  EXPECT_EQ(s.log, "abxxcy");
}

// A queue that is full takes no more until the first of it is done, which may be long.
TEST(StreamSchedulerTest, AQueueIsBounded) {
  Scenario s(StreamPolicy::kDeferred);
  const auto queue = s.MakeQueue();
  std::atomic<bool> flag{false};
  std::atomic<int> submitted{0};
  s.SubmitWaiting(queue, 'k', flag);
  const auto event = s.SubmitWaiting(s.MakeQueue(), 'e', flag);
  for (int i = 0; i < 2000; ++i) s.scheduler.Wait(queue, event);  // which takes no room
  std::thread busy([&] {
    for (int i = 0; i < 1100; ++i, ++submitted) s.Submit(queue, 'a');
  });
  int before = -1;
  while (submitted != before) {
    before = submitted;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_EQ(before, 1020);
  flag = true;
  busy.join();
  EXPECT_EQ(submitted, 1100);
  s.scheduler.FinishDevice(kDevice);
  EXPECT_EQ(std::count(s.log.begin(), s.log.end(), 'a'), 1100);
}

// What waits for a point drags in what the point needs, through any number of queues.
TEST(StreamSchedulerTest, AWaitDragsInWhatItNeeds) {
  Scenario s(StreamPolicy::kDeferred);
  std::vector<StreamScheduler::Queue> queues;
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    queues.push_back(s.MakeQueue());
    if (queues.size() > 1) {
      s.scheduler.Wait(queues.back(), s.scheduler.Record(queues[queues.size() - 2]));
    }
    s.Submit(queues.back(), letter);
  }
  s.Submit(queues[0], 'z');
  s.scheduler.Finish(s.scheduler.Record(queues.back()));
  EXPECT_EQ(s.log, "abcd");
}

// A point stands for what was there when it was taken, and taking another one does not move it.
TEST(StreamSchedulerTest, APointDoesNotMove) {
  Scenario s(StreamPolicy::kDeferred);
  const auto queue = s.MakeQueue();
  EXPECT_TRUE(s.scheduler.Query(s.scheduler.Record(queue)));
  EXPECT_TRUE(s.scheduler.Query(StreamScheduler::Point()));
  s.Submit(queue, 'a');
  const auto first = s.scheduler.Record(queue);
  s.Submit(queue, 'b');
  const auto second = s.scheduler.Record(queue);
  const auto waiting = s.MakeQueue();
  s.scheduler.Wait(waiting, first);
  s.Submit(waiting, 'w');
  s.scheduler.FinishDevice(DeviceOrdinal(1));
  EXPECT_EQ(s.log, "");
  s.scheduler.Finish(s.scheduler.Record(waiting));
  EXPECT_EQ(s.log, "aw");
  EXPECT_TRUE(s.scheduler.Query(first));
  EXPECT_FALSE(s.scheduler.Query(second));
}

// A query of what is not done says so, and asking again and again ends in yes.
TEST(StreamSchedulerTest, QueriesEndInYes) {
  for (const StreamPolicy policy : {StreamPolicy::kDeferred, StreamPolicy::kSeeded}) {
    Scenario s(policy, 1);
    const auto queue = s.MakeQueue();
    const auto needed = s.MakeQueue();
    s.Submit(needed, 'n');
    s.scheduler.Wait(queue, s.scheduler.Record(needed));
    const auto point = s.Submit(queue, 'q');
    int asked = 0;
    while (!s.scheduler.Query(point)) ASSERT_LT(++asked, 4);
    EXPECT_EQ(s.log, "nq");
    if (policy == StreamPolicy::kDeferred) {
      EXPECT_EQ(asked, 3);
    }
  }
}

// A queue whose owner let go of it still finishes.
TEST(StreamSchedulerTest, FinishesWhatNobodyOwns) {
  Scenario s(StreamPolicy::kDeferred);
  s.Submit(s.MakeQueue(), 'a');
  s.scheduler.FinishDevice(kDevice);
  EXPECT_EQ(s.log, "a");
}

// Work that is queued when the scheduler goes is dropped, also where queues wait for each other.
TEST(StreamSchedulerTest, DropsWhatIsQueued) {
  const auto alive = std::make_shared<int>(0);
  std::string log;
  {
    StreamScheduler scheduler(StreamPolicy::kDeferred, 0);
    const auto one = scheduler.MakeQueue(kDevice);
    const auto other = scheduler.MakeQueue(kDevice);
    for (int round = 0; round < 2; ++round) {
      for (const auto& [queue, awaited] : {std::pair(one, other), std::pair(other, one)}) {
        StreamScheduler::Work work;
        work.run = [alive, &log](Turn) {
          log += 'x';
          return Progress::kDone;
        };
        scheduler.Submit(queue, std::move(work));
        scheduler.Wait(queue, scheduler.Record(awaited));
      }
    }
    EXPECT_GT(alive.use_count(), 1);
  }
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_EQ(log, "");
}

// Two queues with a wait between them; ends with all work done.
std::string RunProgram(uint64_t seed) {
  Scenario s(StreamPolicy::kSeeded, seed);
  const auto lower = s.MakeQueue();
  const auto upper = s.MakeQueue();
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    s.Submit(lower, letter);
    if (letter == 'c') s.scheduler.Wait(upper, s.scheduler.Record(lower));
    s.Submit(upper, static_cast<char>(letter - 'a' + 'A'));
  }
  s.scheduler.FinishDevice(kDevice);
  return s.log;
}

// Seeded: the same seed and calls give the same order, other seeds others, and each keeps the order
// of its queues and what waits.
TEST(StreamSchedulerTest, ASeedIsAnOrder) {
  std::set<std::string> orders;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const std::string log = RunProgram(seed);
    EXPECT_EQ(RunProgram(seed), log);
    orders.insert(log);
    std::string lower;
    std::string upper;
    for (const char letter : log) (letter >= 'a' ? lower : upper) += letter;
    EXPECT_EQ(lower, "abcd");
    EXPECT_EQ(upper, "ABCD");
    EXPECT_LT(log.find('c'), log.find('C')) << log;
  }
  EXPECT_GT(orders.size(), 20u);
}

// What is queued tells what it uses, in the order of the calls, until it is done.
TEST(StreamSchedulerTest, TellsWhatUsesARange) {
  Scenario s(StreamPolicy::kDeferred);
  const AddressRange range{DeviceAddress(0x1000), Bytes(0x1000), Bytes(0)};
  const auto queue = s.MakeQueue();
  const auto other = s.MakeQueue();
  EXPECT_FALSE(s.scheduler.Uses(range));
  s.Submit(queue, 'a', range.subrange(Bytes(0xff0), Bytes(0x20)));
  s.Submit(other, 'b', range.subrange(Bytes(8), Bytes(8)));
  s.Submit(queue, 'c', range.subrange(Bytes(0x1000), Bytes(8)));
  const auto point = s.Submit(queue, 'd', range);
  EXPECT_TRUE(s.scheduler.Uses(range));
  std::vector<uint64_t> numbers;
  for (const PendingUse& use : s.scheduler.UsesOf(range)) numbers.push_back(use.number);
  EXPECT_THAT(numbers, ElementsAre(1, 2, 4));
  EXPECT_EQ(s.scheduler.UsesOf(range)[1].range, range.subrange(Bytes(8), Bytes(8)));
  EXPECT_EQ(s.scheduler.UsesOf(range)[1].access, Access::kReadWrite);
  s.scheduler.Finish(point);
  EXPECT_EQ(s.scheduler.UsesOf(range).size(), 1u);
  s.scheduler.FinishDevice(kDevice);
  EXPECT_FALSE(s.scheduler.Uses(range));
  EXPECT_THAT(s.scheduler.UsesOf(range), IsEmpty());
}

// A kernel ends that waits for what another queue is given after its launch, whoever is waited for.
TEST(StreamSchedulerTest, AKernelMayWaitForLaterWork) {
  for (const StreamPolicy policy : kPolicies) {
    for (const bool by_device : {false, true}) {
      Scenario s(policy, 3);
      std::atomic<bool> flag = false;
      const auto waiting = s.MakeQueue();
      const auto point = s.SubmitWaiting(waiting, 'k', flag);
      s.Submit(waiting, 'z');
      s.SubmitFlag(s.MakeQueue(), flag);
      by_device ? s.scheduler.FinishDevice(kDevice) : s.scheduler.Finish(point);
      EXPECT_EQ(s.log.substr(0, 1), "k");
      s.scheduler.FinishDevice(kDevice);
      EXPECT_EQ(s.log, "kz");
    }
  }
}

// The same where the program only asks.
TEST(StreamSchedulerTest, QueriesOfAKernelLetItsPartnerRun) {
  for (const StreamPolicy policy : kPolicies) {
    Scenario s(policy, 5);
    std::atomic<bool> flag = false;
    const auto point = s.SubmitWaiting(s.MakeQueue(), 'k', flag);
    const auto partner = s.SubmitFlag(s.MakeQueue(), flag);
    int asked = 0;
    while (!s.scheduler.Query(partner)) ASSERT_LT(++asked, 100);
    while (!s.scheduler.Query(point)) ASSERT_LT(++asked, 100);
    EXPECT_EQ(s.log, "k");
  }
}

// Eager: a kernel has one turn at its launch; what comes behind it waits for it, and another
// stream's work does not.
TEST(StreamSchedulerTest, AnEagerKernelMayStayQueued) {
  Scenario s(StreamPolicy::kEager);
  EXPECT_TRUE(s.scheduler.IsBypassed());
  const auto queue = s.MakeQueue();
  s.SubmitLong(queue, 1);
  EXPECT_EQ(s.log, "c");
  EXPECT_TRUE(s.scheduler.IsBypassed());
  const auto point = s.SubmitLong(queue, 4);
  s.Submit(queue, '>');
  EXPECT_FALSE(s.scheduler.IsBypassed());
  const auto other = s.MakeQueue();
  s.Submit(other, '|');
  EXPECT_EQ(s.log, "cc|");
  s.scheduler.Finish(s.scheduler.Record(other));
  EXPECT_EQ(s.log, "cc|p");
  EXPECT_FALSE(s.scheduler.Query(point));
  EXPECT_EQ(s.log, "cc|ppa>");
  EXPECT_TRUE(s.scheduler.Query(point));
  EXPECT_TRUE(s.scheduler.IsBypassed());
}

// Deferred: a kernel that nobody waits for begins when others were waited for often enough, and
// from then on gets a turn each time; what it waits for itself is done first.
TEST(StreamSchedulerTest, ADeferredKernelIsNotPassedOverForEver) {
  Scenario s(StreamPolicy::kDeferred);
  const auto before = s.MakeQueue();
  s.Submit(before, 'b');
  const auto queue = s.MakeQueue();
  s.scheduler.Wait(queue, s.scheduler.Record(before));
  s.SubmitLong(queue, 3);
  s.Submit(queue, '>');
  const auto other = s.MakeQueue();
  int looks = 0;
  while (s.log.empty()) {
    ASSERT_LT(++looks, 100);
    s.scheduler.Finish(s.Submit(other, '|'));
    if (s.log == "|") s.log.clear();
  }
  EXPECT_GT(looks, 50);
  for (int i = 0; i < 5; ++i) s.scheduler.Finish(s.scheduler.Record(other));
  EXPECT_EQ(s.log, "b|ppp");
}

// Whoever waits for a kernel waits for what the CPU is to do, too.
TEST(StreamSchedulerTest, AKernelMayWaitForTheCpu) {
  for (const StreamPolicy policy : kPolicies) {
    Scenario s(policy);
    std::atomic<bool> flag = false;
    const auto point = s.SubmitWaiting(s.MakeQueue(), 'k', flag);
    std::thread cpu([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      flag = true;
    });
    s.scheduler.Finish(point);
    EXPECT_EQ(s.log, "k");
    cpu.join();
  }
}

// Kernels, and what they wait for, run while the program makes no call at all; after Stop they do
// not.
TEST(StreamSchedulerTest, KernelsRunWithoutCalls) {
  for (const StreamPolicy policy : kPolicies) {
    Scenario s(policy);
    std::atomic<bool> flag = false;
    std::atomic<bool> done = false;
    const auto queue = s.MakeQueue();
    s.SubmitWaiting(queue, 'k', flag);
    s.SubmitFlag(queue, done);
    flag = true;
    while (!done) std::this_thread::yield();
    flag = false;
    s.SubmitWaiting(queue, 'l', flag);
    s.scheduler.Stop();
    flag = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    EXPECT_EQ(s.log, "k");
    s.scheduler.FinishDevice(kDevice);
    EXPECT_EQ(s.log, "kl");
  }
}

// A call in between does not keep it from that.
TEST(StreamSchedulerTest, WhatIsBehindAWaitRunsWithoutCalls) {
  Scenario s(StreamPolicy::kDeferred);
  std::atomic<bool> flag = false;
  std::atomic<bool> ended = false;
  std::atomic<bool> done = false;
  StreamScheduler::Work wait;
  wait.kernel = true;
  wait.needs_streams = [] { return false; };
  wait.run = [&](Turn) {
    if (!flag) return Progress::kWaiting;
    ended = true;
    return Progress::kDone;
  };
  const auto queue = s.MakeQueue();
  s.scheduler.Submit(queue, std::move(wait));
  s.SubmitFlag(queue, done);
  flag = true;
  while (!ended) std::this_thread::yield();
  s.Submit(s.MakeQueue(), 'x');
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!done && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_TRUE(done);
}

// What runs without a call may end its thread; the rest runs without a call all the same.
TEST(StreamSchedulerTest, KernelsRunOnWhereOneEndsTheThread) {
  Scenario s(StreamPolicy::kDeferred);
  const auto queue = s.MakeQueue();
  StreamScheduler::Work work;
  work.kernel = true;
  work.run = [](Turn turn) {
    if (turn == Turn::kUnasked) pthread_exit(nullptr);
    return Progress::kWaiting;
  };
  s.scheduler.Submit(queue, std::move(work));
  std::atomic<bool> flag = true;
  std::atomic<bool> done = false;
  s.SubmitWaiting(queue, 'k', flag);
  s.SubmitFlag(queue, done);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!done && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_TRUE(done);
}

// Threads that queue, wait for each other's queues, and finish them at the same time all get
// through, and each piece of work runs once.
TEST(StreamSchedulerTest, ServesThreads) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  for (const StreamPolicy policy : {StreamPolicy::kDeferred, StreamPolicy::kSeeded}) {
    StreamScheduler scheduler(policy, 7);
    std::vector<StreamScheduler::Queue> queues;
    for (int i = 0; i < kThreads; ++i) queues.push_back(scheduler.MakeQueue(kDevice));
    std::atomic<int> done = 0;
    std::vector<std::thread> threads;
    for (int id = 0; id < kThreads; ++id) {
      threads.emplace_back([&, id] {
        for (int round = 0; round < kRounds; ++round) {
          const auto& next = queues[static_cast<size_t>((id + 1) % kThreads)];
          scheduler.Wait(queues[static_cast<size_t>(id)], scheduler.Record(next));
          StreamScheduler::Work work;
          work.run = [&done](Turn) {
            ++done;
            return Progress::kDone;
          };
          const auto point = scheduler.Submit(queues[static_cast<size_t>(id)], std::move(work));
          if (round % 3 == 0) scheduler.Finish(point);
          if (round % 7 == 0) scheduler.FinishDevice(kDevice);
          scheduler.Query(point);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    scheduler.FinishDevice(kDevice);
    EXPECT_EQ(done, kThreads * kRounds);
  }
}

}  // namespace
}  // namespace twinmmu
