#include "sim/state/pooled_order.h"

#include <cstdint>
#include <optional>
#include <ostream>

#include "api/address.h"
#include "api/allocation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/streams/stream_clocks.h"

namespace twinmmu {

bool operator==(const OrderFinding& a, const OrderFinding& b) {
  return a.kind == b.kind && a.cause == b.cause;
}
void PrintTo(const OrderFinding& finding, std::ostream* out) {
  *out << "kind " << finding.kind << ", call " << finding.cause;
}

namespace {

using ::testing::Optional;

constexpr auto kNothing = std::nullopt;
constexpr AddressRange kRange{DeviceAddress(0x1000), Bytes(512), Bytes(0)};

auto Finds(OrderFinding::Kind kind, const PooledWork& cause) {
  return Optional(OrderFinding{kind, cause.call_id});
}

class PooledOrderTest : public testing::Test {
 protected:
  PooledOrderTest() { clocks_.Start(); }

  PooledWork Submit(const StreamClocks::Line& stream) {
    PooledWork work;
    work.place = clocks_.Submit(stream, &work.before);
    work.call_id = ++calls_;
    return work;
  }
  void Order(const StreamClocks::Line& waiting, const StreamClocks::Line& before) {
    clocks_.Wait(waiting, clocks_.Record(before));
  }
  // In stream a.
  PooledWork Allocate(uint64_t piece, const AddressRange& range = kRange) {
    const PooledWork work = Submit(a_);
    order_.Allocated(piece, work);
    order_.Place(piece, range);
    return work;
  }
  // In stream a, while work is queued.
  PooledWork FreeAndForget(uint64_t piece) {
    const PooledWork work = Submit(a_);
    EXPECT_EQ(order_.Freed(piece, work), kNothing);
    order_.Forget(piece, true);
    return work;
  }

  StreamClocks clocks_{1};
  const StreamClocks::Line a_ = clocks_.MakeLine(DeviceOrdinal(0));
  const StreamClocks::Line b_ = clocks_.MakeLine(DeviceOrdinal(0));
  const StreamClocks::Line c_ = clocks_.MakeLine(DeviceOrdinal(0));
  uint64_t calls_ = 0;
  PooledOrder order_;
};

TEST_F(PooledOrderTest, OneStreamIsInOrder) {
  Allocate(1);
  EXPECT_EQ(order_.Used(1, Submit(a_)), kNothing);
  EXPECT_EQ(order_.Freed(1, Submit(a_)), kNothing);
}

TEST_F(PooledOrderTest, AnotherStreamHasToWaitForTheAllocation) {
  const PooledWork allocation = Allocate(1);
  EXPECT_THAT(order_.Used(1, Submit(b_)), Finds(OrderFinding::kUseBeforeAllocation, allocation));
  Allocate(2);
  Order(b_, a_);
  EXPECT_EQ(order_.Used(2, Submit(b_)), kNothing);
  const PooledWork third = Allocate(3);
  EXPECT_THAT(order_.Freed(3, Submit(c_)), Finds(OrderFinding::kUnorderedFree, third));
}

TEST_F(PooledOrderTest, AUseComesBeforeTheFree) {
  Allocate(1);
  const PooledWork early = Submit(a_);
  const PooledWork free = Submit(a_);
  EXPECT_EQ(order_.Freed(1, free), kNothing);
  EXPECT_EQ(order_.Used(1, early), kNothing);  // it runs late
  EXPECT_THAT(order_.Used(1, Submit(a_)), Finds(OrderFinding::kUseAfterFree, free));
}

TEST_F(PooledOrderTest, AFreeWaitsForTheLastUseOfEachStream) {
  Allocate(1);
  Order(b_, a_);
  EXPECT_EQ(order_.Used(1, Submit(b_)), kNothing);
  Order(a_, b_);
  const PooledWork last = Submit(b_);
  EXPECT_EQ(order_.Used(1, last), kNothing);
  EXPECT_THAT(order_.Freed(1, Submit(a_)), Finds(OrderFinding::kUnorderedFree, last));
}

TEST_F(PooledOrderTest, AFreeWaitsForEveryStream) {
  Allocate(1);
  Order(b_, a_);
  Order(c_, a_);
  const PooledWork of_b = Submit(b_);
  EXPECT_EQ(order_.Used(1, of_b), kNothing);
  EXPECT_EQ(order_.Used(1, Submit(c_)), kNothing);
  Order(a_, c_);
  EXPECT_THAT(order_.Freed(1, Submit(a_)), Finds(OrderFinding::kUnorderedFree, of_b));
}

TEST_F(PooledOrderTest, AUseThatNothingOrdersWithTheFreeIsFound) {
  Allocate(1);
  Order(b_, a_);
  const PooledWork free = Submit(a_);
  EXPECT_EQ(order_.Freed(1, free), kNothing);
  EXPECT_THAT(order_.Used(1, Submit(b_)), Finds(OrderFinding::kUnorderedFree, free));
}

TEST_F(PooledOrderTest, WhatIsWrongIsFoundOnce) {
  Allocate(1);
  EXPECT_NE(order_.Used(1, Submit(b_)), kNothing);
  EXPECT_EQ(order_.Used(1, Submit(b_)), kNothing);
  EXPECT_EQ(order_.Freed(1, Submit(c_)), kNothing);
}

// --- Pieces at one address, one after the other

// Work that was submitted before a piece was allocated means the one that was there.
TEST_F(PooledOrderTest, LateWorkMeansThePieceOfItsTime) {
  Allocate(1);
  const PooledWork in_time = Submit(a_);
  const PooledWork free = FreeAndForget(1);
  const PooledWork late = Submit(a_);
  Allocate(2);
  EXPECT_EQ(order_.Used(2, in_time), kNothing);
  EXPECT_THAT(order_.Used(2, late), Finds(OrderFinding::kUseAfterFree, free));
}

TEST_F(PooledOrderTest, OfSeveralPiecesItIsTheLastOneBefore) {
  Allocate(1);
  FreeAndForget(1);
  Allocate(2);
  const PooledWork free = FreeAndForget(2);
  const PooledWork late = Submit(a_);
  Allocate(3);
  FreeAndForget(3);
  Allocate(4);
  EXPECT_THAT(order_.Used(4, late), Finds(OrderFinding::kUseAfterFree, free));
}

// A piece elsewhere is never meant, and one of other borders could be a neighbour.
TEST_F(PooledOrderTest, WorkMeansNoPieceOfOtherBorders) {
  Allocate(1, {kRange.end(), Bytes(512), Bytes(0)});
  Allocate(2, kRange.subrange(Bytes(0), Bytes(256)));
  FreeAndForget(1);
  FreeAndForget(2);
  const PooledWork late = Submit(a_);
  Allocate(3);
  EXPECT_EQ(order_.Used(3, late), kNothing);
}

TEST_F(PooledOrderTest, NothingIsRememberedWithoutQueuedWork) {
  Allocate(1);
  FreeAndForget(1);
  Allocate(2, {kRange.end(), Bytes(512), Bytes(0)});
  order_.Forget(2, false);
  const PooledWork late = Submit(a_);
  Allocate(3);
  EXPECT_EQ(order_.Used(3, late), kNothing);
}

// What is before the last 4096 is forgotten: of other streams, too, it finds nothing.
TEST_F(PooledOrderTest, TheLast4096AreRemembered) {
  constexpr uint64_t kRemembered = 4096;
  const auto range_of = [](uint64_t i) {
    return AddressRange{kRange.base + i * kRange.size, kRange.size, Bytes(0)};
  };
  for (uint64_t i = 0; i <= kRemembered; ++i) {
    Allocate(i, range_of(i));
    FreeAndForget(i);
  }
  const PooledWork late = Submit(a_);
  const PooledWork unordered = Submit(b_);
  Allocate(10'000, range_of(0));
  Allocate(10'001, range_of(1));
  EXPECT_EQ(order_.Used(10'000, late), kNothing);
  EXPECT_EQ(order_.Used(10'000, unordered), kNothing);
  EXPECT_NE(order_.Used(10'001, late), kNothing);
}

TEST_F(PooledOrderTest, APieceThatIsForgottenHasNoOrder) {
  Allocate(1);
  order_.Forget(1, true);
  order_.Forget(1, true);
  EXPECT_EQ(order_.Used(1, Submit(b_)), kNothing);
  EXPECT_EQ(order_.Freed(1, Submit(b_)), kNothing);
}

}  // namespace
}  // namespace twinmmu
