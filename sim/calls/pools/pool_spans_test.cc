#include "sim/calls/pools/pool_spans.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr DeviceAddress kBase(GiB(4).value());
constexpr Bytes kChunk = PoolSpans::kChunk;

AddressRange At(Bytes offset, Bytes size) { return AddressRange{kBase + offset, size, Bytes(0)}; }

bool Everybody(const StreamOrderedFree&) { return true; }
bool Nobody(const StreamOrderedFree&) { return false; }

// An arena of 4 chunks, two of which have memory.
class PoolSpansTest : public testing::Test {
 protected:
  PoolSpansTest() {
    spans_.AddArena(At(Bytes(0), 4 * kChunk));
    spans_.Commit(At(Bytes(0), 2 * kChunk));
  }

  // Where it is, as an offset, or ~0.
  uint64_t Take(Bytes size, PoolSpans::MayUse may_use = Nobody) {
    const auto found = spans_.Find(size, may_use);
    if (!found.has_value()) return ~uint64_t{0};
    const AddressRange range{*found, size, Bytes(0)};
    frees_ = spans_.FreesIn(range);
    spans_.Take(range, PoolSpans::Prepare());
    return (*found - kBase).value();
  }

  void Give(const AddressRange& range, StreamOrderedFreePtr free) {
    spans_.Give(range, std::move(free), PoolSpans::Prepare());
  }

  PoolSpans spans_;
  std::vector<StreamOrderedFreePtr> frees_;
  const StreamOrderedFreePtr free_ = std::make_shared<StreamOrderedFree>();
};

TEST_F(PoolSpansTest, PiecesLieOneBehindTheOther) {
  EXPECT_EQ(Take(KiB(1)), 0u);
  EXPECT_EQ(Take(MiB(40)), KiB(1).value());
  EXPECT_EQ(Take(MiB(24)), ~uint64_t{0});
}

TEST_F(PoolSpansTest, TheSmallestRoomIsTaken) {
  EXPECT_EQ(Take(MiB(4)), 0u);
  EXPECT_EQ(Take(MiB(1)), MiB(4).value());
  EXPECT_EQ(Take(MiB(2)), MiB(5).value());
  EXPECT_EQ(Take(MiB(1)), MiB(7).value());
  Give(At(Bytes(0), MiB(4)), nullptr);
  Give(At(MiB(5), MiB(2)), nullptr);
  EXPECT_EQ(Take(MiB(2)), MiB(5).value());
}

TEST_F(PoolSpansTest, WhatIsFreedIsForWhomTheFreeAllowsIt) {
  EXPECT_EQ(Take(MiB(64)), 0u);
  Give(At(Bytes(0), MiB(64)), free_);
  EXPECT_EQ(Take(MiB(8)), ~uint64_t{0});
  EXPECT_EQ(Take(MiB(8), Everybody), 0u);
  EXPECT_THAT(frees_, ElementsAre(free_));
}

TEST_F(PoolSpansTest, RoomOfSeveralFreesIsOne) {
  EXPECT_EQ(Take(MiB(32)), 0u);
  EXPECT_EQ(Take(MiB(32)), MiB(32).value());
  Give(At(Bytes(0), MiB(32)), free_);
  Give(At(MiB(32), MiB(32)), nullptr);
  EXPECT_EQ(Take(MiB(64)), ~uint64_t{0});
  EXPECT_EQ(Take(MiB(64), Everybody), 0u);
}

TEST_F(PoolSpansTest, SettledRoomIsForEverybody) {
  EXPECT_EQ(Take(MiB(64)), 0u);
  Give(At(Bytes(0), MiB(64)), free_);
  spans_.Settle(Nobody);
  EXPECT_EQ(Take(MiB(64)), ~uint64_t{0});
  spans_.Settle(Everybody);
  EXPECT_EQ(Take(MiB(64)), 0u);
}

TEST_F(PoolSpansTest, GrowthGoesOnWhereTheFreeRoomEnds) {
  EXPECT_EQ(Take(MiB(50)), 0u);
  EXPECT_THAT(spans_.FindGrowth(MiB(40), Nobody), ElementsAre(At(2 * kChunk, kChunk)));
  EXPECT_THAT(spans_.FindGrowth(MiB(60), Nobody), ElementsAre(At(2 * kChunk, 2 * kChunk)));
  EXPECT_THAT(spans_.FindGrowth(MiB(80), Nobody), IsEmpty());
}

TEST_F(PoolSpansTest, OnlyWholeFreeChunksGo) {
  EXPECT_EQ(Take(MiB(1)), 0u);
  EXPECT_EQ(spans_.TakeFreeChunk(), At(kChunk, kChunk));
  EXPECT_EQ(spans_.TakeFreeChunk(), std::nullopt);
  EXPECT_EQ(spans_.committed(), kChunk);
}

TEST_F(PoolSpansTest, ChunksThatAreNotFreeForEverybodyStay) {
  EXPECT_EQ(Take(MiB(64)), 0u);
  Give(At(Bytes(0), MiB(64)), free_);
  EXPECT_EQ(spans_.TakeFreeChunk(), std::nullopt);
}

TEST_F(PoolSpansTest, AChunkThatWentComesBack) {
  EXPECT_EQ(Take(MiB(1)), 0u);
  EXPECT_EQ(spans_.TakeFreeChunk(), At(kChunk, kChunk));
  EXPECT_EQ(Take(MiB(32)), ~uint64_t{0});
  spans_.Commit(At(kChunk, kChunk));
  EXPECT_EQ(Take(MiB(32)), MiB(1).value());
}

TEST_F(PoolSpansTest, AnArenaWithoutMemoryGoes) {
  EXPECT_EQ(spans_.TakeFreeChunk(), At(kChunk, kChunk));
  EXPECT_EQ(spans_.TakeAbsentArena(), std::nullopt);
  EXPECT_EQ(spans_.TakeFreeChunk(), At(Bytes(0), kChunk));
  EXPECT_EQ(spans_.TakeAbsentArena(), At(Bytes(0), 4 * kChunk));
  EXPECT_THAT(spans_.arenas(), IsEmpty());
}

TEST_F(PoolSpansTest, AnArenaStaysWhoseBeginOrAllIsTaken) {
  EXPECT_EQ(Take(MiB(1)), 0u);
  EXPECT_EQ(spans_.TakeAbsentArena(), std::nullopt);
  spans_.Commit(At(2 * kChunk, 2 * kChunk));
  EXPECT_EQ(Take(MiB(127)), MiB(1).value());
  EXPECT_EQ(spans_.TakeAbsentArena(), std::nullopt);
}

// The first chunk goes, and what was behind it in the same piece stays.
TEST_F(PoolSpansTest, RoomThatIsPartlyAbsentIsOneRoom) {
  EXPECT_EQ(Take(MiB(33)), 0u);
  EXPECT_EQ(Take(MiB(1)), MiB(33).value());
  Give(At(Bytes(0), MiB(33)), nullptr);
  EXPECT_EQ(spans_.TakeFreeChunk(), At(Bytes(0), kChunk));
  EXPECT_EQ(spans_.FindAbsentToo(MiB(1), Nobody), kBase);
  EXPECT_THAT(spans_.AbsentIn(kBase, MiB(1)), ElementsAre(At(Bytes(0), kChunk)));
}

TEST_F(PoolSpansTest, RoomThatIsAbsentAltogetherIsNone) {
  EXPECT_EQ(Take(MiB(32)), 0u);
  EXPECT_EQ(Take(MiB(1)), MiB(32).value());
  Give(At(Bytes(0), MiB(32)), nullptr);
  EXPECT_EQ(spans_.TakeFreeChunk(), At(Bytes(0), kChunk));
  EXPECT_EQ(spans_.FindAbsentToo(MiB(1), Nobody), kBase + MiB(33));
}

}  // namespace
}  // namespace twinmmu
