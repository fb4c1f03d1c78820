// All programs of a few calls on two streams and two events: each order of their work that the
// rules allow is produced by some seed of the scheduler, and no other by any.

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/streams/stream_scheduler.h"

namespace twinmmu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr DeviceOrdinal kDevice(0);

struct StreamCall {
  enum Kind { kWork, kRecord, kWait } kind;
  size_t stream;
  size_t event;  // not of work
};
using Program = std::vector<StreamCall>;

std::vector<StreamCall> AllCalls() {
  std::vector<StreamCall> calls;
  for (const size_t stream : {0, 1}) {
    calls.push_back({StreamCall::kWork, stream, 0});
    for (const size_t event : {0, 1}) {
      calls.push_back({StreamCall::kRecord, stream, event});
      calls.push_back({StreamCall::kWait, stream, event});
    }
  }
  return calls;
}

// Whether stream 0 comes before stream 1, and event 0 before event 1: the names do not matter.
bool IsOfItsKindTheFirst(const Program& program) {
  const auto first = [&](bool of_event) -> size_t {
    for (const StreamCall& call : program) {
      if (!of_event) return call.stream;
      if (call.kind != StreamCall::kWork) return call.event;
    }
    return 0;
  };
  return first(false) == 0 && first(true) == 0;
}

// The orders of work, which has the letters a, b, c ..., that the rules allow.
class AllowedOrders {
 public:
  explicit AllowedOrders(const Program& program) {
    for (const StreamCall& call : program) {
      uint32_t& stream = streams_[call.stream];
      switch (call.kind) {
        case StreamCall::kWork:
          before_.push_back(stream);
          stream |= 1u << (before_.size() - 1);
          break;
        case StreamCall::kRecord:
          events_[call.event] = stream;
          break;
        case StreamCall::kWait:
          stream |= events_[call.event];
          break;
      }
    }
    Extend("", 0);
  }
  const std::set<std::string>& orders() const { return orders_; }

 private:
  void Extend(const std::string& order, uint32_t done) {
    if (order.size() == before_.size()) orders_.insert(order);
    for (size_t i = 0; i < before_.size(); ++i) {
      const bool is_next = (done >> i & 1) == 0 && (before_[i] & ~done) == 0;
      if (is_next) Extend(order + static_cast<char>('a' + i), done | 1u << i);
    }
  }

  std::array<uint32_t, 2> streams_{};  // the work after which later work of each stream comes
  std::array<uint32_t, 2> events_{};
  std::vector<uint32_t> before_;  // of each work, what comes before it
  std::set<std::string> orders_;
};

std::string OrderOf(const Program& program, StreamPolicy policy, uint64_t seed) {
  std::string order;
  StreamScheduler scheduler(policy, seed);
  const std::array queues{scheduler.MakeQueue(kDevice), scheduler.MakeQueue(kDevice)};
  std::array<StreamScheduler::Point, 2> events;
  char letter = 'a';
  for (const StreamCall& call : program) {
    const StreamScheduler::Queue& queue = queues[call.stream];
    switch (call.kind) {
      case StreamCall::kWork: {
        StreamScheduler::Work work;
        work.run = [&order, letter](Turn) {
          order += letter;
          return Progress::kDone;
        };
        ++letter;
        scheduler.Submit(queue, std::move(work));
        break;
      }
      case StreamCall::kRecord:
        events[call.event] = scheduler.Record(queue);
        break;
      case StreamCall::kWait:
        scheduler.Wait(queue, events[call.event]);
        break;
    }
  }
  scheduler.FinishDevice(kDevice);
  return order;
}

std::string Print(const Program& program) {
  std::string text;
  for (const StreamCall& call : program) {
    text += std::string(call.kind == StreamCall::kWork     ? "work"
                        : call.kind == StreamCall::kRecord ? "record"
                                                           : "wait") +
            " s" + std::to_string(call.stream) +
            (call.kind == StreamCall::kWork ? "" : " e" + std::to_string(call.event)) + "; ";
  }
  return text;
}

// visit(program) for each of so many calls, but for those that differ only in names.
template <typename Visit>
void ForEachProgram(size_t length, const Visit& visit) {
  const std::vector<StreamCall> calls = AllCalls();
  std::vector<size_t> numbers(length, 0);
  while (true) {
    Program program;
    for (const size_t number : numbers) program.push_back(calls[number]);
    if (IsOfItsKindTheFirst(program)) visit(program);
    size_t at = 0;
    while (at < length && ++numbers[at] == calls.size()) numbers[at++] = 0;
    if (at == length) return;
  }
}

class StreamOrdersTest : public testing::TestWithParam<size_t> {};

TEST_P(StreamOrdersTest, SeedsProduceAllThatTheRulesAllowAndNoOther) {
  constexpr uint64_t kMostSeeds = 3000;
  uint64_t programs = 0;
  uint64_t orders = 0;
  ForEachProgram(GetParam(), [&](const Program& program) {
    if (HasFailure()) return;
    const AllowedOrders allowed(program);
    std::set<std::string> missing = allowed.orders();
    for (uint64_t seed = 0; seed < kMostSeeds && !missing.empty(); ++seed) {
      const std::string order = OrderOf(program, StreamPolicy::kSeeded, seed);
      missing.erase(order);
      ASSERT_EQ(allowed.orders().count(order), 1u) << order << " of " << Print(program);
    }
    ASSERT_THAT(missing, IsEmpty()) << Print(program);
    for (const StreamPolicy policy : {StreamPolicy::kEager, StreamPolicy::kDeferred}) {
      ASSERT_EQ(allowed.orders().count(OrderOf(program, policy, 0)), 1u) << Print(program);
    }
    ++programs;
    orders += allowed.orders().size();
  });
  RecordProperty("programs", static_cast<int>(programs));
  RecordProperty("orders", static_cast<int>(orders));
  EXPECT_GT(orders, programs);
}

INSTANTIATE_TEST_SUITE_P(Calls, StreamOrdersTest, testing::Values(2, 3, 4, 5));

// What the rules allow is not all: an event orders what comes before its record and behind a wait.
TEST(AllowedOrdersTest, AnEventOrdersTwoStreams) {
  const Program program = {{StreamCall::kWork, 0, 0},
                           {StreamCall::kRecord, 0, 0},
                           {StreamCall::kWait, 1, 0},
                           {StreamCall::kWork, 1, 0},
                           {StreamCall::kWork, 0, 0}};
  EXPECT_THAT(AllowedOrders(program).orders(), ElementsAre("abc", "acb"));
}

}  // namespace
}  // namespace twinmmu
