// The history of calls: ids and events, of calls one after the other and beside one another.

#include "sim/state/call_history.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::ElementsAre;

CallEvent EventOf(uint64_t id) {
  CallEvent event;
  event.id = id;
  event.call = Call::kMap;
  event.detail = 10 * id;
  return event;
}

std::vector<uint64_t> IdsIn(const History& history) {
  std::vector<uint64_t> ids;
  history.ForEachBackwards([&](const CallEvent& event) {
    EXPECT_EQ(event.call, Call::kMap);
    EXPECT_EQ(event.detail, 10 * event.id);
    ids.push_back(event.id);
    return true;
  });
  return ids;
}

// The calls of one thread have one id after the other, whatever they hold.
TEST(CallHistoryTest, CountsTheCallsOfOneThread) {
  History history(8);
  EXPECT_EQ(history.NextId(), 1u);
  EXPECT_EQ(history.NextIdBeside(0b1), 2u);
  EXPECT_EQ(history.NextIdBeside(0b100), 3u);
  EXPECT_EQ(history.NextIdShared(), 4u);
  EXPECT_EQ(history.NextIdBeside(0b111), 5u);
  EXPECT_EQ(history.NextIdBeside(0b1), 6u);
}

// Events are there with all that they were written with, as many as the ring holds.
TEST(CallHistoryTest, KeepsTheLastEvents) {
  History history(4);
  for (int i = 0; i < 3; ++i) {
    history.Write(EventOf(history.NextId()));
    history.WriteBeside(EventOf(history.NextIdBeside(0b1)));
  }
  EXPECT_THAT(IdsIn(history), ElementsAre(6, 5, 4, 3));
}

// A thread that comes late finds its place taken, and leaves it.
TEST(CallHistoryTest, ALateEventTakesNoPlace) {
  History history(4);
  const uint64_t late = history.NextIdBeside(0b1);
  for (int i = 0; i < 4; ++i) history.WriteBeside(EventOf(history.NextIdBeside(0b10)));
  history.WriteBeside(EventOf(late));
  EXPECT_THAT(IdsIn(history), ElementsAre(5, 4, 3, 2));
}

// Threads beside one another: no id is given twice, and ids rise for each thread and each stripe.
// After one call that has the mutex alone there are higher ones only.
TEST(CallHistoryTest, IdsRiseForEachThreadAndStripe) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 3000;
  History history(1024);
  StripedMutex mutex;
  std::array<uint64_t, 3> last_of_stripe = {};
  std::vector<std::vector<uint64_t>> ids(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kRounds; ++i) {
        const int stripe = (thread + i / 5) % 3;
        const StripesLock lock(mutex, 1u << stripe);
        const uint64_t id = history.NextIdBeside(1u << stripe);
        EXPECT_GT(id, last_of_stripe[stripe]);
        EXPECT_GT(id, i == 0 ? 0 : ids[thread].back());
        last_of_stripe[stripe] = id;
        ids[thread].push_back(id);
        history.WriteBeside(EventOf(id));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<uint64_t> all;
  for (const std::vector<uint64_t>& of_thread : ids) {
    all.insert(all.end(), of_thread.begin(), of_thread.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  const uint64_t alone = history.NextId();
  EXPECT_GT(alone, all.back());
  for (int stripe = 0; stripe < 3; ++stripe) {
    EXPECT_GT(history.NextIdBeside(1u << stripe), alone);
  }
  EXPECT_FALSE(IdsIn(history).empty());
}

}  // namespace
}  // namespace twinmmu
