// What an operation did to shared memory, as ranges.

#include "sim/coherence/monitor/shared_accesses.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::coherence {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr LocationId kBegin = 0x10000;
constexpr uint64_t kSize = 0x1000;
constexpr uint64_t kCall = 7;

class SharedAccessesTest : public testing::Test {
 protected:
  SharedAccessesTest() { accesses_.Add(kBegin, kSize); }

  void Note(LocationId first, uint64_t size, bool writes = true, Site site = 1) {
    accesses_.Note(kCall, {1, 1, 1, site}, first, size, writes);
  }
  // First and last byte.
  std::vector<std::pair<LocationId, LocationId>> Taken() {
    std::vector<std::pair<LocationId, LocationId>> taken;
    for (const SharedUse& use : accesses_.Take(kCall)) taken.emplace_back(use.first, use.last);
    return taken;
  }

  SharedAccesses accesses_;
};

TEST_F(SharedAccessesTest, OtherMemoryIsNotNoted) {
  Note(kBegin - 4, 4);
  Note(kBegin + kSize, 4);
  EXPECT_THAT(Taken(), IsEmpty());
}

TEST_F(SharedAccessesTest, TheFirstAndTheLastByteAre) {
  Note(kBegin, 1);
  Note(kBegin + kSize - 1, 1);
  EXPECT_THAT(Taken(),
              ElementsAre(Pair(kBegin, kBegin), Pair(kBegin + kSize - 1, kBegin + kSize - 1)));
}

TEST_F(SharedAccessesTest, NeighboursAreOneRange) {
  Note(kBegin + 4, 4);
  Note(kBegin, 4);
  Note(kBegin + 8, 4);
  EXPECT_THAT(Taken(), ElementsAre(Pair(kBegin, kBegin + 11)));
}

TEST_F(SharedAccessesTest, WhatOverlapsIsOneRange) {
  Note(kBegin + 8, 8);
  Note(kBegin + 24, 8);
  Note(kBegin + 12, 16);
  Note(kBegin + 10, 2);
  EXPECT_THAT(Taken(), ElementsAre(Pair(kBegin + 8, kBegin + 31)));
}

TEST_F(SharedAccessesTest, AGapStays) {
  Note(kBegin, 4);
  Note(kBegin + 5, 4);
  EXPECT_THAT(Taken(), ElementsAre(Pair(kBegin, kBegin + 3), Pair(kBegin + 5, kBegin + 8)));
}

TEST_F(SharedAccessesTest, AGapStaysWhicheverComesFirst) {
  Note(kBegin + 5, 4);
  Note(kBegin, 4);
  EXPECT_THAT(Taken(), ElementsAre(Pair(kBegin, kBegin + 3), Pair(kBegin + 5, kBegin + 8)));
}

TEST_F(SharedAccessesTest, NothingIsNoRange) {
  Note(kBegin + 4, 0);
  EXPECT_THAT(Taken(), IsEmpty());
}

TEST_F(SharedAccessesTest, ReadsAndWritesAreApart) {
  Note(kBegin, 4, /*writes=*/false);
  Note(kBegin + 4, 4, /*writes=*/true);
  const std::vector<SharedUse> taken = accesses_.Take(kCall);
  ASSERT_THAT(taken, SizeIs(2));
  EXPECT_FALSE(taken[0].writes);
  EXPECT_TRUE(taken[1].writes);
}

// It is told where the range begins.
TEST_F(SharedAccessesTest, TheSiteIsThatOfTheFirstByte) {
  Note(kBegin + 4, 4, true, 2);
  Note(kBegin, 4, true, 1);
  Note(kBegin + 8, 4, true, 3);
  const std::vector<SharedUse> taken = accesses_.Take(kCall);
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0].event.site, 1u);
}

TEST_F(SharedAccessesTest, OfTwoAtTheFirstByteTheSiteIsThatOfTheEarlier) {
  Note(kBegin, 4, true, 1);
  Note(kBegin, 8, true, 2);
  const std::vector<SharedUse> taken = accesses_.Take(kCall);
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0].event.site, 1u);
}

TEST_F(SharedAccessesTest, WhatWasTakenIsGone) {
  Note(kBegin, 4);
  EXPECT_THAT(Taken(), SizeIs(1));
  EXPECT_THAT(Taken(), IsEmpty());
}

TEST_F(SharedAccessesTest, CallsAreApart) {
  Note(kBegin, 4);
  EXPECT_THAT(accesses_.Take(kCall + 1), IsEmpty());
  EXPECT_THAT(Taken(), SizeIs(1));
}

TEST_F(SharedAccessesTest, OfTooManyPlacesTheFirstAreKept) {
  for (uint64_t i = 0; i < kSize / 2; ++i) Note(kBegin + 2 * i, 1);
  const auto taken = Taken();
  ASSERT_THAT(taken, SizeIs(256));
  EXPECT_THAT(taken.back(), Pair(kBegin + 510, kBegin + 510));
}

class ManyCallsTest : public SharedAccessesTest {
 protected:
  static constexpr uint64_t kMost = 1024;

  ManyCallsTest() {
    for (uint64_t call = 1; call <= kMost; ++call) NoteOf(call);
  }
  void NoteOf(uint64_t call) { accesses_.Note(call, {}, kBegin, 4, true); }
};

TEST_F(ManyCallsTest, TheLastAreKept) {
  NoteOf(kMost + 1);
  EXPECT_THAT(accesses_.Take(1), IsEmpty());
  EXPECT_THAT(accesses_.Take(2), SizeIs(1));
  EXPECT_THAT(accesses_.Take(kMost + 1), SizeIs(1));
}

TEST_F(ManyCallsTest, MoreOfOneTakesNoPlace) {
  NoteOf(kMost);
  EXPECT_THAT(accesses_.Take(1), SizeIs(1));
}

TEST_F(SharedAccessesTest, MemoryIsSharedUntilItIsRemoved) {
  accesses_.Add(kBegin + 2 * kSize, kSize);
  accesses_.Remove(kBegin);
  EXPECT_FALSE(accesses_.empty());
  Note(kBegin, 4);
  EXPECT_THAT(Taken(), IsEmpty());
  accesses_.Remove(kBegin + 2 * kSize);
  EXPECT_TRUE(accesses_.empty());
}

}  // namespace
}  // namespace twinmmu::coherence
