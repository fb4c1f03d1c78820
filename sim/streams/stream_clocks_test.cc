#include "sim/streams/stream_clocks.h"

#include "gtest/gtest.h"

namespace twinmmu {
namespace {

constexpr DeviceOrdinal kDevice(0);

class StreamClocksTest : public testing::Test {
 protected:
  using Place = StreamClocks::Place;
  using Clock = StreamClocks::Clock;

  Place Submit(const StreamClocks::Line& line) {
    Clock before;
    return clocks_.Submit(line, &before);
  }
  // Whether what the line is given next comes after that.
  bool IsAfter(const StreamClocks::Line& line, const Place& place) {
    Clock before;
    clocks_.Submit(line, &before);
    return StreamClocks::Has(before, place);
  }

  StreamClocks clocks_{2};
  const StreamClocks::Line one_ = clocks_.MakeLine(kDevice);
  const StreamClocks::Line two_ = clocks_.MakeLine(kDevice);
  const StreamClocks::Line three_ = clocks_.MakeLine(DeviceOrdinal(1));
};

TEST_F(StreamClocksTest, AStreamOrdersItsOwnWork) {
  const Place place = Submit(one_);
  EXPECT_TRUE(IsAfter(one_, place));
}

TEST_F(StreamClocksTest, NothingOrdersTwoStreams) {
  const Place place = Submit(one_);
  EXPECT_FALSE(IsAfter(two_, place));
}

TEST_F(StreamClocksTest, WorkDoesNotComeAfterItself) {
  Clock before;
  const Place place = clocks_.Submit(one_, &before);
  EXPECT_FALSE(StreamClocks::Has(before, place));
}

TEST_F(StreamClocksTest, AnEventOrdersWhatWasGivenBeforeIt) {
  const Place early = Submit(one_);
  const Clock event = clocks_.Record(one_);
  const Place late = Submit(one_);
  clocks_.Wait(two_, event);
  EXPECT_TRUE(IsAfter(two_, early));
  EXPECT_FALSE(IsAfter(two_, late));
}

TEST_F(StreamClocksTest, EventsOrderThroughAThirdStream) {
  const Place place = Submit(one_);
  clocks_.Wait(two_, clocks_.Record(one_));
  clocks_.Wait(three_, clocks_.Record(two_));
  EXPECT_TRUE(IsAfter(three_, place));
}

TEST_F(StreamClocksTest, AWaitOfTheHostOrdersWhatIsSubmittedLater) {
  const Place place = Submit(one_);
  clocks_.HostWaited(clocks_.Record(one_));
  EXPECT_TRUE(IsAfter(two_, place));
}

TEST_F(StreamClocksTest, AWaitForADeviceIsForAllItsStreamsAndNoOthers) {
  const Place here = Submit(one_);
  const Place there = Submit(three_);
  clocks_.HostWaited(kDevice);
  EXPECT_TRUE(IsAfter(two_, here));
  EXPECT_FALSE(IsAfter(two_, there));
}

TEST_F(StreamClocksTest, NothingIsTheFirstOfAll) { EXPECT_TRUE(IsAfter(one_, Place())); }

TEST_F(StreamClocksTest, AStreamTakesTheNumberOfOneThatIsOver) {
  uint32_t line = 0;
  for (int i = 0; i < 3; ++i) {
    const StreamClocks::Line stream = clocks_.MakeLine(kDevice);
    const Place place = Submit(stream);
    EXPECT_EQ(place.number, static_cast<uint32_t>(i) + 1);
    if (line == 0) line = place.line;
    EXPECT_EQ(place.line, line);
    clocks_.HostWaited(clocks_.Record(stream));
  }
}

TEST_F(StreamClocksTest, NothingOrdersAStreamBehindADestroyedOneThatNobodyWaitedFor) {
  StreamClocks::Line destroyed = clocks_.MakeLine(kDevice);
  const Place place = Submit(destroyed);
  destroyed.reset();
  EXPECT_FALSE(IsAfter(clocks_.MakeLine(kDevice), place));
}

}  // namespace
}  // namespace twinmmu
