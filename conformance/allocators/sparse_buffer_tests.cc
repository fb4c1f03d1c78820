// SparseBuffer: which tiles have memory, what is in it, what that takes.

#include <limits>
#include <memory>
#include <vector>

#include "api/allocators/sparse_buffer.h"
#include "api/testing/matchers.h"
#include "conformance/allocators/buffer_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace twinmmu::conformance {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kTiles = 16;

// Of kTiles tiles; offsets and sizes here are in tiles.
class SparseBufferTest : public BufferTest {
 protected:
  std::unique_ptr<SparseBuffer> Make(Bytes cache_limit = Bytes(0)) {
    PageOptions options;
    options.cache_limit = cache_limit;
    return SparseBuffer::Make(&faulty_vmm(), &faulty_executor(), kTiles * granule(), options)
        .value();
  }
  absl::Status Commit(SparseBuffer& buffer, uint64_t first, uint64_t count) {
    return buffer.Commit(first * granule(), count * granule());
  }
  absl::Status Decommit(SparseBuffer& buffer, uint64_t first, uint64_t count,
                        absl::Span<const LastUse> after = {}) {
    return buffer.Decommit(first * granule(), count * granule(), after);
  }
  AddressRange Tile(const SparseBuffer& buffer, uint64_t tile) {
    return Page(buffer.address(), tile);
  }
  bool IsResident(const SparseBuffer& buffer, uint64_t first, uint64_t count) {
    return buffer.IsResident(first * granule(), count * granule());
  }
  std::vector<AddressRange> Tiles(const SparseBuffer& buffer, uint64_t first, uint64_t count) {
    return {AddressRange{buffer.address() + first * granule(), count * granule(), Bytes(0)}};
  }
  // Tiles 1, 2, 5 and 8 with contents; the last of accessors() may read them.
  std::unique_ptr<SparseBuffer> MakeWithThreeRuns(Bytes cache_limit = Bytes(0)) {
    std::unique_ptr<SparseBuffer> buffer = Make(cache_limit);
    for (const uint64_t tile : {1, 2, 5, 8}) {
      EXPECT_THAT(Commit(*buffer, tile, 1), IsOk());
      Write(Tile(*buffer, tile), tile);
    }
    if (Peer() != device()) {
      EXPECT_THAT(buffer->Grant(Peer(), Access::kRead), IsOk());
    }
    return buffer;
  }
  void ExpectThreeRuns(const SparseBuffer& buffer) {
    EXPECT_EQ(buffer.resident_size(), 4 * granule());
    EXPECT_EQ(buffer.ResidentRanges().size(), 3U);
    for (const uint64_t tile : {1, 2, 5, 8}) {
      EXPECT_TRUE(IsResident(buffer, tile, 1));
      ExpectHolds(Tile(buffer, tile), tile);
      ExpectAccess(Tile(buffer, tile), device(), Access::kReadWrite);
      if (Peer() != device()) ExpectAccess(Tile(buffer, tile), Peer(), Access::kRead);
    }
    for (const uint64_t hole : {0, 3, 4, 6, 7, 9}) ExpectUnmapped(Tile(buffer, hole));
  }
};

TEST_P(SparseBufferTest, ReservesAddressesAndNoMemory) {
  PageOptions options;
  TWINMMU_ASSERT_OK_AND_ASSIGN(
      const auto buffer, SparseBuffer::Make(&faulty_vmm(), nullptr, TiB(1) + Bytes(1), options));
  EXPECT_EQ(buffer->tile_size(), granule());
  EXPECT_EQ(buffer->size(), TiB(1) + granule());
  EXPECT_EQ(buffer->resident_size(), Bytes(0));
  EXPECT_THAT(buffer->ResidentRanges(), IsEmpty());
  EXPECT_FALSE(buffer->IsResident(Bytes(0), granule()));
  ExpectTaken(Bytes(0));
}

TEST_P(SparseBufferTest, RefusesSizesThatNoAddressesHave) {
  const Bytes most(std::numeric_limits<uint64_t>::max());
  const auto make = [&](Bytes size) {
    return SparseBuffer::Make(&faulty_vmm(), nullptr, size).status();
  };
  EXPECT_THAT(make(Bytes(0)), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(make(most), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(make(most - 2 * granule()), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(SparseBuffer::Make(nullptr, nullptr, granule()).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_P(SparseBufferTest, RefusesTilesThatAreNoPowerOfTwoOrTooSmall) {
  for (const Bytes size : {Bytes(0), KiB(32), MiB(3)}) {
    PageOptions options;
    options.page_size = size;
    EXPECT_THAT(SparseBuffer::Make(&faulty_vmm(), nullptr, granule(), options).status(),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << size;
  }
}

TEST_P(SparseBufferTest, GivesMemoryToWhatIsCommittedOnly) {
  const auto buffer = Make();
  ASSERT_THAT(Commit(*buffer, 3, 2), IsOk());
  Write(Tile(*buffer, 3), 3);
  Write(Tile(*buffer, 4), 4);
  ExpectHolds(Tile(*buffer, 3), 3);
  ExpectHolds(Tile(*buffer, 4), 4);
  ExpectUnmapped(Tile(*buffer, 2));
  ExpectUnmapped(Tile(*buffer, 5));
  EXPECT_EQ(buffer->ResidentRanges(), Tiles(*buffer, 3, 2));
  EXPECT_EQ(buffer->resident_size(), 2 * granule());
  ExpectTaken(2 * granule());
}

TEST_P(SparseBufferTest, NoBytesAreNotResident) {
  const auto buffer = Make();
  ASSERT_THAT(Commit(*buffer, 3, 2), IsOk());
  EXPECT_TRUE(buffer->IsResident(3 * granule() + Bytes(1), Bytes(1)));
  EXPECT_FALSE(buffer->IsResident(3 * granule() + Bytes(1), Bytes(0)));
  EXPECT_FALSE(buffer->IsResident(3 * granule(), Bytes(0)));
}

TEST_P(SparseBufferTest, CommitsWhatIsResidentWithoutACallAndKeepsItsContents) {
  const auto buffer = MakeWithThreeRuns();
  const DriverCallCounts before = buffer->stats().calls;
  ASSERT_THAT(Commit(*buffer, 1, 2), IsOk());
  ASSERT_THAT(Commit(*buffer, 5, 1), IsOk());
  EXPECT_EQ(buffer->stats().calls, before);
  ExpectThreeRuns(*buffer);
}

TEST_P(SparseBufferTest, CommitsOnlyTheHolesWithOneSetAccessForEach) {
  const auto buffer = MakeWithThreeRuns();
  const DriverCallCounts before = buffer->stats().calls;
  const uint64_t asked = faults().asked();
  ASSERT_THAT(Commit(*buffer, 0, 10), IsOk());
  EXPECT_EQ(buffer->stats().calls - before, (DriverCallCounts{6, 0, 6, 0, 4}));
  EXPECT_EQ(faults().asked() - asked, 16U) << "of the driver";
  EXPECT_EQ(buffer->ResidentRanges(), Tiles(*buffer, 0, 10));
  for (const uint64_t tile : {1, 2, 5, 8}) ExpectHolds(Tile(*buffer, tile), tile);
  for (const uint64_t tile : {0, 3, 4, 6, 7, 9}) Write(Tile(*buffer, tile), tile);
  for (uint64_t tile = 0; tile < 10; ++tile) ExpectHolds(Tile(*buffer, tile), tile);
}

TEST_P(SparseBufferTest, RefusesWhatIsNotWholeTilesOfTheBuffer) {
  const auto buffer = MakeWithThreeRuns();
  const Bytes most(std::numeric_limits<uint64_t>::max());
  const Bytes wraps = Bytes(0) - granule();
  struct Case {
    Bytes offset, size;
    absl::StatusCode code;
  };
  const uint64_t calls = faults().asked();
  for (const Case& wrong : {
           Case{Bytes(0), Bytes(0), absl::StatusCode::kInvalidArgument},
           {Bytes(1), granule(), absl::StatusCode::kInvalidArgument},
           {granule(), granule() - Bytes(1), absl::StatusCode::kInvalidArgument},
           {most, most, absl::StatusCode::kInvalidArgument},
           {kTiles * granule(), granule(), absl::StatusCode::kOutOfRange},
           {Bytes(0), (kTiles + 1) * granule(), absl::StatusCode::kOutOfRange},
           {wraps, granule(), absl::StatusCode::kOutOfRange},
           {granule(), wraps, absl::StatusCode::kOutOfRange},
       }) {
    EXPECT_THAT(buffer->Commit(wrong.offset, wrong.size), StatusIs(wrong.code));
    EXPECT_THAT(buffer->Decommit(wrong.offset, wrong.size), StatusIs(wrong.code));
    EXPECT_THAT(buffer->Decommit(wrong.offset, wrong.size, {stream()}), StatusIs(wrong.code));
  }
  EXPECT_EQ(faults().asked(), calls);
  ExpectThreeRuns(*buffer);
}

TEST_P(SparseBufferTest, TakesTheMemoryOfWhatIsDecommittedOnly) {
  const auto buffer = Make();
  ASSERT_THAT(Commit(*buffer, 0, 4), IsOk());
  for (uint64_t tile = 0; tile < 4; ++tile) Write(Tile(*buffer, tile), tile);
  const DriverCallCounts before = buffer->stats().calls;
  ASSERT_THAT(Decommit(*buffer, 1, 2), IsOk());
  EXPECT_EQ(buffer->stats().calls - before, (DriverCallCounts{0, 2, 0, 1, 0}));
  EXPECT_FALSE(IsResident(*buffer, 1, 1));
  ExpectUnmapped(Tile(*buffer, 1));
  ExpectUnmapped(Tile(*buffer, 2));
  ExpectHolds(Tile(*buffer, 0), 0);
  ExpectHolds(Tile(*buffer, 3), 3);
  ExpectTaken(2 * granule());
}

TEST_P(SparseBufferTest, DecommitsAcrossHolesWithOneUnmapForEachRun) {
  const auto buffer = MakeWithThreeRuns();
  const DriverCallCounts before = buffer->stats().calls;
  ASSERT_THAT(Decommit(*buffer, 0, kTiles), IsOk());
  EXPECT_EQ(buffer->stats().calls - before, (DriverCallCounts{0, 4, 0, 3, 0}));
  EXPECT_THAT(buffer->ResidentRanges(), IsEmpty());
  EXPECT_EQ(buffer->stats().in_use, Bytes(0));
}

TEST_P(SparseBufferTest, DecommitsWhatIsNotResidentWithoutACall) {
  const auto buffer = MakeWithThreeRuns();
  const uint64_t calls = faults().asked();
  EXPECT_THAT(Decommit(*buffer, 10, 6), IsOk());
  EXPECT_EQ(faults().asked(), calls);
  ExpectThreeRuns(*buffer);
}

TEST_P(SparseBufferTest, ResidencyIsOfAllBytesAndNeverOfNone) {
  const auto buffer = MakeWithThreeRuns();
  EXPECT_TRUE(IsResident(*buffer, 1, 2));
  EXPECT_TRUE(buffer->IsResident(2 * granule() - Bytes(1), Bytes(2))) << "parts of two tiles";
  EXPECT_FALSE(buffer->IsResident(3 * granule() - Bytes(1), Bytes(2)));
  EXPECT_FALSE(buffer->IsResident(granule() - Bytes(1), Bytes(2)));
  EXPECT_FALSE(IsResident(*buffer, 1, 0));
  EXPECT_FALSE(IsResident(*buffer, 1, kTiles));
  EXPECT_FALSE(buffer->IsResident(kTiles * granule(), Bytes(1)));
  EXPECT_FALSE(buffer->IsResident(granule(), Bytes(0) - granule()));
  EXPECT_FALSE(buffer->IsResident(Bytes(0) - granule(), granule()));
}

TEST_P(SparseBufferTest, ListsWhatIsResidentInOrderAndMerged) {
  const auto buffer = MakeWithThreeRuns();
  ASSERT_THAT(Commit(*buffer, 7, 1), IsOk());
  EXPECT_THAT(
      buffer->ResidentRanges(),
      ElementsAre(Tiles(*buffer, 1, 2)[0], Tiles(*buffer, 5, 1)[0], Tiles(*buffer, 7, 2)[0]));
}

TEST_P(SparseBufferTest, DecommitsAfterTheWorkOfAStream) {
  const auto buffer = MakeWithThreeRuns();
  Queue(Tile(*buffer, 5), 55);
  ASSERT_THAT(Decommit(*buffer, 1, 5, {stream()}), IsOk());
  EXPECT_FALSE(IsResident(*buffer, 5, 1));
  EXPECT_EQ(buffer->resident_size(), granule());
  EXPECT_EQ(buffer->stats().leaving, 3 * granule());
  ASSERT_THAT(Commit(*buffer, 10, 1), IsOk());
  if (WorkIsLate()) {
    EXPECT_EQ(buffer->stats().leaving, 3 * granule());
  }
  ASSERT_THAT(executor().SynchronizeStream(stream()), IsOk());
  const DriverCallCounts before = buffer->stats().calls;
  if (WorkIsLate()) {
    EXPECT_EQ(before.unmap, 0U);
  }
  ASSERT_THAT(Decommit(*buffer, 12, 1), IsOk());
  EXPECT_EQ(buffer->stats().leaving, Bytes(0));
  EXPECT_LE(buffer->stats().calls.unmap, 2U);
  EXPECT_EQ(buffer->stats().calls.release, 3U);
  ExpectTaken(2 * granule());
}

TEST_P(SparseBufferTest, DecommitsAfterTheWorkThatAnEventStoodForAtTheCall) {
  const auto buffer = MakeWithThreeRuns();
  Queue(Tile(*buffer, 5), 55);
  TWINMMU_ASSERT_OK_AND_ASSIGN(const Event theirs, executor().CreateEvent(device()));
  ASSERT_THAT(executor().RecordEvent(theirs, stream()), IsOk());
  ASSERT_THAT(Decommit(*buffer, 5, 1, {theirs}), IsOk());
  ASSERT_THAT(executor().DestroyEvent(theirs), IsOk());
  EXPECT_THAT(Commit(*buffer, 12, 1), IsOk());
  if (WorkIsLate()) {
    EXPECT_EQ(buffer->stats().leaving, granule());
  }
  EXPECT_THAT(executor().SynchronizeStream(stream()), IsOk());
  EXPECT_THAT(buffer->Close(), IsOk());
}

TEST_P(SparseBufferTest, LeavingTilesThatAreCommittedAgainKeepTheirContents) {
  const auto buffer = MakeWithThreeRuns();
  Queue(Tile(*buffer, 5), 55);
  ASSERT_THAT(Decommit(*buffer, 5, 4, {stream()}), IsOk());
  if (!WorkIsLate()) {
    ASSERT_THAT(executor().SynchronizeStream(stream()), IsOk());
  }
  const DriverCallCounts before = buffer->stats().calls;
  ASSERT_THAT(Commit(*buffer, 5, 1), IsOk());
  ASSERT_THAT(executor().SynchronizeStream(stream()), IsOk());
  if (WorkIsLate()) {
    EXPECT_EQ(buffer->stats().calls, before);
    ExpectFilled({Tile(*buffer, 5).base, Bytes(256), Bytes(0)}, 55);
  }
  ASSERT_THAT(Commit(*buffer, 12, 1), IsOk());
  EXPECT_TRUE(IsResident(*buffer, 5, 1)) << "the former end of the work does not take it";
  EXPECT_FALSE(IsResident(*buffer, 8, 1));
  ExpectUnmapped(Tile(*buffer, 8));
}

TEST_P(SparseBufferTest, DecommitsAfterWorkOnlyWithAnExecutor) {
  TWINMMU_ASSERT_OK_AND_ASSIGN(const auto buffer,
                               SparseBuffer::Make(&faulty_vmm(), nullptr, 4 * granule()));
  ASSERT_THAT(Commit(*buffer, 0, 2), IsOk());
  Write(Tile(*buffer, 0), 7);
  EXPECT_THAT(Decommit(*buffer, 0, 1, {stream()}), StatusIs(absl::StatusCode::kFailedPrecondition));
  ExpectHolds(Tile(*buffer, 0), 7);
  EXPECT_TRUE(IsResident(*buffer, 0, 2));
  EXPECT_THAT(Decommit(*buffer, 0, 2), IsOk());
}

TEST_P(SparseBufferTest, ReusesCachedTilesAndReturnsThemWhenAsked) {
  const auto buffer = Make(2 * granule());
  ASSERT_THAT(Commit(*buffer, 0, 4), IsOk());
  ASSERT_THAT(Decommit(*buffer, 0, 4), IsOk());
  EXPECT_EQ(buffer->stats().cached, 2 * granule());
  EXPECT_EQ(buffer->stats().calls.release, 2U);
  ASSERT_THAT(Commit(*buffer, 9, 1), IsOk());
  EXPECT_EQ(buffer->stats().calls.create, 4U);
  EXPECT_THAT(buffer->Compact(), IsOkAndHolds(granule()));
  EXPECT_THAT(buffer->Compact(), IsOkAndHolds(Bytes(0)));
  ExpectTaken(granule());
}

TEST_P(SparseBufferTest, GrantsWhatIsResidentAndWhatComesLater) {
  const auto buffer = MakeWithThreeRuns();
  const DriverCallCounts before = buffer->stats().calls;
  ASSERT_THAT(buffer->Grant(Peer(), Access::kReadWrite), IsOk());
  EXPECT_EQ(buffer->stats().calls - before, (DriverCallCounts{0, 0, 0, 0, 3}));
  ASSERT_THAT(Commit(*buffer, 12, 1), IsOk());
  for (const uint64_t tile : {1, 2, 5, 8, 12}) {
    ExpectAccess(Tile(*buffer, tile), Peer(), Access::kReadWrite);
  }
  ASSERT_THAT(buffer->Grant(Peer(), Access::kNone), IsOk());
  ASSERT_THAT(Commit(*buffer, 14, 1), IsOk());
  for (const uint64_t tile : {1, 2, 5, 8, 12, 14}) {
    ExpectAccess(Tile(*buffer, tile), Peer(), Access::kNone);
  }
  ASSERT_THAT(buffer->Grant(device(), Access::kRead), IsOk());
  ExpectAccess(Tile(*buffer, 14), device(), Access::kRead);
}

TEST_P(SparseBufferTest, RefusesGrantsThatMakeNoSense) {
  const auto buffer = MakeWithThreeRuns();
  EXPECT_THAT(buffer->Grant(device(), static_cast<Access>(2)),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(buffer->Grant(DeviceOrdinal(99), Access::kRead),
              HasDriverCode(DriverCode::kInvalidDevice));
  EXPECT_THAT(buffer->Grant(DeviceOrdinal(-1), Access::kRead),
              StatusIs(absl::StatusCode::kNotFound));
  ExpectThreeRuns(*buffer);
}

TEST_P(SparseBufferTest, CountsWhatItWasAskedAndTheMostThatWasInUse) {
  const auto buffer = MakeWithThreeRuns();
  ASSERT_THAT(Decommit(*buffer, 1, 2), IsOk());
  ASSERT_THAT(Commit(*buffer, 8, 2), IsOk());
  EXPECT_THAT(Commit(*buffer, kTiles, 1), StatusIs(absl::StatusCode::kOutOfRange));
  const MemoryStats stats = buffer->stats();
  EXPECT_EQ(stats.in_use, 3 * granule());
  EXPECT_EQ(stats.peak, 4 * granule());
  EXPECT_EQ(stats.commits, 5U);
  EXPECT_EQ(stats.decommits, 1U);
  EXPECT_EQ(stats.calls.total(), faults().asked() - 2 - (Peer() != device()))
      << "granularity, addresses and peers are asked for without being counted";
}

TEST_P(SparseBufferTest, CloseWaitsForTheWorkAndReturnsEverything) {
  const auto buffer = MakeWithThreeRuns(4 * granule());
  ASSERT_THAT(Decommit(*buffer, 8, 1), IsOk());
  Queue(Tile(*buffer, 5), 55);
  ASSERT_THAT(Decommit(*buffer, 5, 1, {stream()}), IsOk());
  ASSERT_THAT(buffer->Close(), IsOk());
  EXPECT_THAT(executor().QueryStream(stream()), IsOkAndHolds(true));
  EXPECT_EQ(buffer->stats().in_use, Bytes(0));
  EXPECT_FALSE(IsResident(*buffer, 1, 1));
  ExpectTaken(Bytes(0));
}

TEST_P(SparseBufferTest, DoesNothingOnceItIsClosed) {
  const auto buffer = MakeWithThreeRuns();
  ASSERT_THAT(buffer->Close(), IsOk());
  EXPECT_THAT(buffer->Close(), IsOk());
  EXPECT_THAT(Commit(*buffer, 0, 1), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(Decommit(*buffer, 0, 1), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(buffer->Grant(device(), Access::kRead),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(buffer->Compact(), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_P(SparseBufferTest, OutOfMemoryAtAnyTileLeavesAllAsItWas) {
  const auto buffer = MakeWithThreeRuns();
  for (uint64_t tiles = 0; tiles < 6; ++tiles) {
    SetMemoryBudget((4 + tiles) * granule());
    EXPECT_THAT(Commit(*buffer, 0, 10), HasDriverError(DriverCode::kOutOfMemory, "cuMemCreate"));
    ExpectThreeRuns(*buffer);
    ExpectTaken(4 * granule());
  }
  SetMemoryBudget(10 * granule());
  EXPECT_THAT(Commit(*buffer, 0, 10), IsOk());
}

// --- Any one call of the driver fails ----------------------------------------------------------

TEST_P(SparseBufferTest, AFailureInMakeLeavesNothing) {
  FailEachCall([&] {
    absl::StatusOr<std::unique_ptr<SparseBuffer>> made;
    WithFailure([&] {
      made = SparseBuffer::Make(&faulty_vmm(), &faulty_executor(), kTiles * granule());
      return made.status();
    }).IgnoreError();
  });
}

TEST_P(SparseBufferTest, AFailureInCommitLeavesAllAsItWas) {
  FailEachCall([&] {
    const auto buffer = MakeWithThreeRuns(4 * granule());
    ASSERT_THAT(Commit(*buffer, 10, 2), IsOk());
    ASSERT_THAT(Decommit(*buffer, 10, 2), IsOk());  // cached
    const absl::Status status = WithFailure([&] { return Commit(*buffer, 0, 10); });
    if (!status.ok()) {
      ExpectThreeRuns(*buffer);
      EXPECT_EQ(buffer->stats().cached, 2 * granule());
      ExpectTaken(6 * granule());
      ASSERT_THAT(Commit(*buffer, 0, 10), IsOk());
    }
    EXPECT_TRUE(IsResident(*buffer, 0, 10));
    for (const uint64_t tile : {1, 2, 5, 8}) ExpectHolds(Tile(*buffer, tile), tile);
  });
}

TEST_P(SparseBufferTest, AFailureInDecommitLeavesAllAsItWas) {
  FailEachCall([&] {
    const auto buffer = MakeWithThreeRuns();
    const absl::Status status = WithFailure([&] { return Decommit(*buffer, 0, kTiles); });
    if (!status.ok()) {
      ExpectThreeRuns(*buffer);
      ASSERT_THAT(Decommit(*buffer, 0, kTiles), IsOk());
    }
    EXPECT_EQ(buffer->resident_size(), Bytes(0));
    // What could not be released is kept, and used again.
    ASSERT_THAT(buffer->Compact(), IsOk());
    ExpectTaken(Bytes(0));
  });
}

TEST_P(SparseBufferTest, AFailureInDecommitAfterWorkLeavesAllAsItWas) {
  FailEachCall([&] {
    const auto buffer = MakeWithThreeRuns();
    ASSERT_THAT(executor().RecordEvent(event(), stream()), IsOk());
    const absl::Status status = WithFailure([&] {
      return Decommit(*buffer, 0, kTiles, {stream(), event()});
    });
    if (!status.ok()) {
      ExpectThreeRuns(*buffer);
      ASSERT_THAT(Decommit(*buffer, 0, kTiles, {stream(), event()}), IsOk());
    }
    EXPECT_EQ(buffer->resident_size(), Bytes(0));
    ASSERT_THAT(buffer->Close(), IsOk());
  });
}

TEST_P(SparseBufferTest, AFailureWhileMemoryLeavesIsMadeUpForLater) {
  FailEachCall([&] {
    const auto buffer = MakeWithThreeRuns();
    ASSERT_THAT(Decommit(*buffer, 1, 5, {stream()}), IsOk());
    ASSERT_THAT(executor().SynchronizeStream(stream()), IsOk());
    // It takes what is leaving, and nothing else.
    EXPECT_THAT(WithFailure([&] { return Decommit(*buffer, 12, 1); }), IsOk());
    EXPECT_FALSE(IsResident(*buffer, 1, 1));
    ASSERT_THAT(Commit(*buffer, 1, 5), IsOk());
    EXPECT_EQ(buffer->stats().leaving, Bytes(0));
    Write(Tile(*buffer, 1), 11);
    ExpectHolds(Tile(*buffer, 1), 11);
    ExpectHolds(Tile(*buffer, 8), 8);
    ASSERT_THAT(buffer->Compact(), IsOk());
    ExpectTaken(6 * granule());
  });
}

TEST_P(SparseBufferTest, AFailureInGrantLeavesAllAsItWas) {
  FailEachCall([&] {
    const auto buffer = MakeWithThreeRuns();
    const absl::Status status =
        WithFailure([&] { return buffer->Grant(Peer(), Access::kReadWrite); });
    if (!status.ok()) {
      ExpectThreeRuns(*buffer);
      ASSERT_THAT(Commit(*buffer, 12, 1), IsOk());
      ExpectAccess(Tile(*buffer, 12), Peer(),
                   Peer() == device() ? Access::kReadWrite : Access::kRead);
      ASSERT_THAT(buffer->Grant(Peer(), Access::kReadWrite), IsOk());
    }
    for (const uint64_t tile : {1, 2, 5, 8}) {
      ExpectAccess(Tile(*buffer, tile), Peer(), Access::kReadWrite);
    }
  });
}

TEST_P(SparseBufferTest, AFailureInCompactKeepsTheRestCached) {
  FailEachCall([&] {
    const auto buffer = MakeWithThreeRuns(4 * granule());
    ASSERT_THAT(Decommit(*buffer, 1, 8), IsOk());
    const absl::Status status = WithFailure([&] { return buffer->Compact().status(); });
    if (!status.ok()) {
      EXPECT_GT(buffer->stats().cached, Bytes(0));
      ASSERT_THAT(buffer->Compact(), IsOk());
    }
    EXPECT_EQ(buffer->stats().cached, Bytes(0));
    ExpectTaken(Bytes(0));
  });
}

TEST_P(SparseBufferTest, CloseCanBeCalledAgainAfterAFailure) {
  FailEachCall([&] {
    const auto buffer = MakeWithThreeRuns(4 * granule());
    ASSERT_THAT(Decommit(*buffer, 8, 1), IsOk());
    Queue(Tile(*buffer, 5), 55);
    ASSERT_THAT(Decommit(*buffer, 5, 1, {stream()}), IsOk());
    const absl::Status status = WithFailure([&] { return buffer->Close(); });
    if (!status.ok()) {
      ASSERT_THAT(buffer->Close(), IsOk());
    }
    EXPECT_THAT(buffer->Close(), IsOk());
    ExpectTaken(Bytes(0));
  });
}

TEST_P(SparseBufferTest, TheHookHearsOfADestructorThatCouldNotClose) {
  auto buffer = MakeWithThreeRuns();
  ASSERT_THAT(Decommit(*buffer, 0, kTiles), IsOk());
  const AddressRange range{buffer->address(), buffer->size(), Bytes(0)};
  faults().FailEvery(1, DriverCode::kUnknown, {DriverCall::kAddressFree});
  buffer.reset();
  faults().Clear();
  EXPECT_THAT(TakeDestructorErrors(),
              ElementsAre(HasDriverError(DriverCode::kUnknown, "cuMemAddressFree")));
  EXPECT_THAT(vmm().AddressFree(range), IsOk());
}

INSTANTIATE_TEST_SUITE_P(On, SparseBufferTest, testing::ValuesIn(Implementations()),
                         NameOfImplementation);

}  // namespace
}  // namespace twinmmu::conformance
