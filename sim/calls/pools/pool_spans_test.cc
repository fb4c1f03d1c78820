#include "sim/calls/pools/pool_spans.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

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
  uint64_t Take(Bytes size) { return TakeWhatWasFound(size, spans_.FindCommitted(size)); }
  uint64_t TakeFreed(Bytes size, PoolSpans::MayUse may_use = Everybody) {
    return TakeWhatWasFound(size, spans_.FindFreed(size, may_use));
  }
  uint64_t TakeWhatWasFound(Bytes size, std::optional<DeviceAddress> found) {
    if (!found.has_value()) return ~uint64_t{0};
    spans_.Take(AddressRange{*found, size, Bytes(0)}, PoolSpans::Prepare());
    return (*found - kBase).value();
  }
  std::optional<AddressRange> TakeFreeChunk() {
    const std::vector<AddressRange> chunks = spans_.FreeChunks();
    if (chunks.empty()) return std::nullopt;
    spans_.Uncommit(chunks.front());
    return chunks.front();
  }
  // The next free of a stream.
  StreamOrderedFreePtr FreeOn(const StreamClocks::Line& line) {
    const auto free = std::make_shared<StreamOrderedFree>();
    StreamClocks::Clock before;
    free->line = line;
    free->place = clocks_.Submit(line, &before);
    free->freed_by = ++last_call_;
    return free;
  }

  void Give(const AddressRange& range, StreamOrderedFreePtr free) {
    spans_.Give(range, std::move(free), PoolSpans::Prepare());
  }

  PoolSpans spans_;
  StreamClocks clocks_{1};
  const StreamClocks::Line stream_ = clocks_.MakeLine(DeviceOrdinal(0));
  const StreamClocks::Line other_ = clocks_.MakeLine(DeviceOrdinal(0));

 private:
  uint64_t last_call_ = 0;
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
  const StreamOrderedFreePtr free = FreeOn(stream_);
  Give(At(Bytes(0), MiB(64)), free);
  EXPECT_EQ(Take(MiB(8)), ~uint64_t{0});
  EXPECT_EQ(TakeFreed(MiB(8), Nobody), ~uint64_t{0});
  EXPECT_EQ(TakeFreed(MiB(8)), 0u);
  EXPECT_EQ(spans_.FreeAt(kBase + MiB(8)), free);
}

// By the last free: who comes behind the first one only has neither.
TEST_F(PoolSpansTest, WhatAStreamHasFreedSideBySideIsOneRoom) {
  EXPECT_EQ(Take(MiB(32)), 0u);
  EXPECT_EQ(Take(MiB(32)), MiB(32).value());
  Give(At(MiB(32), MiB(32)), FreeOn(stream_));
  const StreamOrderedFreePtr last = FreeOn(stream_);
  Give(At(Bytes(0), MiB(32)), last);
  EXPECT_EQ(spans_.FreeAt(kBase), last);
  EXPECT_EQ(TakeFreed(MiB(64)), 0u);
}

TEST_F(PoolSpansTest, WhatTwoStreamsHaveFreedIsNotOneRoom) {
  EXPECT_EQ(Take(MiB(32)), 0u);
  EXPECT_EQ(Take(MiB(32)), MiB(32).value());
  Give(At(Bytes(0), MiB(32)), FreeOn(stream_));
  Give(At(MiB(32), MiB(32)), FreeOn(other_));
  EXPECT_EQ(TakeFreed(MiB(64)), ~uint64_t{0});
}

TEST_F(PoolSpansTest, WhatIsFreedIsNotOneRoomWithWhatIsForEverybody) {
  EXPECT_EQ(Take(MiB(32)), 0u);
  Give(At(Bytes(0), MiB(32)), FreeOn(stream_));
  EXPECT_EQ(TakeFreed(MiB(64)), ~uint64_t{0});
  EXPECT_EQ(Take(MiB(64)), ~uint64_t{0});
  EXPECT_EQ(Take(MiB(32)), MiB(32).value());
}

TEST_F(PoolSpansTest, OfRoomsOfOneSizeThatWhichWasFreedFirstIsTaken) {
  EXPECT_EQ(Take(MiB(64)), 0u);
  Give(At(MiB(16), MiB(16)), FreeOn(stream_));
  Give(At(MiB(48), MiB(8)), FreeOn(stream_));
  Give(At(Bytes(0), MiB(8)), FreeOn(stream_));
  EXPECT_EQ(TakeFreed(MiB(8)), MiB(48).value());
}

TEST_F(PoolSpansTest, SettledRoomIsForEverybody) {
  EXPECT_EQ(Take(MiB(64)), 0u);
  Give(At(Bytes(0), MiB(64)), FreeOn(stream_));
  spans_.Settle(Nobody);
  EXPECT_EQ(Take(MiB(64)), ~uint64_t{0});
  spans_.Settle(Everybody);
  EXPECT_EQ(Take(MiB(64)), 0u);
}

TEST_F(PoolSpansTest, GrowthGoesOnWhereTheFreeRoomEnds) {
  EXPECT_EQ(Take(MiB(50)), 0u);
  EXPECT_EQ(spans_.FindAbsentToo(MiB(60)), kBase + MiB(50));
  EXPECT_THAT(spans_.AbsentIn(kBase + MiB(50), MiB(40)), ElementsAre(At(2 * kChunk, kChunk)));
  EXPECT_THAT(spans_.AbsentIn(kBase + MiB(50), MiB(60)), ElementsAre(At(2 * kChunk, 2 * kChunk)));
  EXPECT_EQ(spans_.FindAbsentToo(MiB(80)), std::nullopt);
}

TEST_F(PoolSpansTest, OnlyWholeFreeChunksGo) {
  EXPECT_EQ(Take(MiB(1)), 0u);
  EXPECT_EQ(TakeFreeChunk(), At(kChunk, kChunk));
  EXPECT_EQ(TakeFreeChunk(), std::nullopt);
  EXPECT_EQ(spans_.committed(), kChunk);
}

TEST_F(PoolSpansTest, ChunksOfARoomAreNotForOthers) {
  EXPECT_THAT(spans_.FreeChunks(At(kChunk, MiB(1))), ElementsAre(At(Bytes(0), kChunk)));
  EXPECT_THAT(spans_.FreeChunks(), ElementsAre(At(kChunk, kChunk), At(Bytes(0), kChunk)));
}

TEST_F(PoolSpansTest, ChunksThatAreNotFreeForEverybodyStay) {
  EXPECT_EQ(Take(MiB(64)), 0u);
  Give(At(Bytes(0), MiB(64)), FreeOn(stream_));
  EXPECT_EQ(TakeFreeChunk(), std::nullopt);
}

TEST_F(PoolSpansTest, AChunkThatWentComesBack) {
  EXPECT_EQ(Take(MiB(1)), 0u);
  EXPECT_EQ(TakeFreeChunk(), At(kChunk, kChunk));
  EXPECT_EQ(Take(MiB(32)), ~uint64_t{0});
  spans_.Commit(At(kChunk, kChunk));
  EXPECT_EQ(Take(MiB(32)), MiB(1).value());
}

TEST_F(PoolSpansTest, AnArenaWithoutMemoryGoes) {
  EXPECT_EQ(TakeFreeChunk(), At(kChunk, kChunk));
  EXPECT_EQ(spans_.TakeAbsentArena(), std::nullopt);
  EXPECT_EQ(TakeFreeChunk(), At(Bytes(0), kChunk));
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
  EXPECT_EQ(TakeFreeChunk(), At(Bytes(0), kChunk));
  EXPECT_EQ(spans_.FindAbsentToo(MiB(1)), kBase);
  EXPECT_EQ(spans_.FindWhole(MiB(1)), std::nullopt);
  EXPECT_THAT(spans_.AbsentIn(kBase, MiB(1)), ElementsAre(At(Bytes(0), kChunk)));
}

TEST_F(PoolSpansTest, RoomThatIsAbsentAltogetherIsOneToo) {
  EXPECT_EQ(Take(MiB(32)), 0u);
  EXPECT_EQ(Take(MiB(1)), MiB(32).value());
  Give(At(Bytes(0), MiB(32)), nullptr);
  EXPECT_EQ(TakeFreeChunk(), At(Bytes(0), kChunk));
  EXPECT_EQ(spans_.FindAbsentToo(MiB(1)), kBase);
  EXPECT_EQ(spans_.FindCommitted(MiB(1)), kBase + MiB(33));
}

}  // namespace
}  // namespace twinmmu
