// Which freed memory a pool gives to which stream.
// Source: an H100 and an H200 with driver 580.159.

#include "conformance/abi/pools/pool_test.h"

namespace twinmmu::abi {
namespace {

constexpr size_t kChunkOfPool = size_t{32} << 20;

class PoolReuseTest : public PoolTest {
 protected:
  static constexpr size_t kSize = 8 << 20;

  void SetUp() override {
    PoolTest::SetUp();
    if (pool_ != nullptr) KeepAll(pool_);
  }
  // Frees a piece behind work of the first stream that is not done.
  CUdeviceptr FreeLater() {
    const CUdeviceptr address = Allocate(kSize, stream_);
    Block(stream_);
    EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
    return address;
  }
  void OrderBehind(CUstream waiting, CUstream before) {
    CUevent event = nullptr;
    EXPECT_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    EXPECT_EQ(cuEventRecord(event, before), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitEvent(waiting, event, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  }
};

TEST_F(PoolReuseTest, TheSameStreamGetsTheSameAddress) {
  const CUdeviceptr address = Allocate(kSize, stream_);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Allocate(kSize, stream_), address);
}

TEST_F(PoolReuseTest, EvenBehindPendingWork) {
  const CUdeviceptr address = FreeLater();
  EXPECT_EQ(Allocate(kSize, stream_), address);
}

TEST_F(PoolReuseTest, AnotherStreamDoesNotGetWhatIsNotFreedYet) {
  const CUdeviceptr address = FreeLater();
  EXPECT_NE(Allocate(kSize, other_), address);
  EXPECT_EQ(cuStreamQuery(other_), CUDA_SUCCESS) << "and waits for nobody";
}

TEST_F(PoolReuseTest, AnotherStreamGetsItBehindAnEvent) {
  const CUdeviceptr address = FreeLater();
  OrderBehind(other_, stream_);
  EXPECT_EQ(Allocate(kSize, other_), address);
}

TEST_F(PoolReuseTest, EventsAheadOfTheFreeDoNotCount) {
  const CUdeviceptr address = Allocate(kSize, stream_);
  Block(stream_);
  OrderBehind(other_, stream_);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_NE(Allocate(kSize, other_), address);
}

TEST_F(PoolReuseTest, EventsAreNotFollowedWhereThePoolMustNot) {
  SetFlag(pool_, kFollowEventDependencies, 0);
  const CUdeviceptr address = FreeLater();
  OrderBehind(other_, stream_);
  EXPECT_NE(Allocate(kSize, other_), address);
}

TEST_F(PoolReuseTest, AnotherStreamGetsWhatTheHostHasWaitedForWhateverThePoolMay) {
  for (const int flag :
       {kFollowEventDependencies, kAllowOpportunistic, kAllowInternalDependencies}) {
    SetFlag(pool_, flag, 0);
  }
  const CUdeviceptr address = Allocate(kSize, stream_);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Allocate(kSize, other_), address);
}

TEST_F(PoolReuseTest, FullPoolsWaitForTheFree) {
  PoolProps props;
  props.most = kChunkOfPool;
  pool_ = MakePool(props);
  KeepAll(pool_);
  const CUdeviceptr address = Allocate(kChunkOfPool, stream_);
  Block(stream_);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Allocate(kChunkOfPool, other_), address);
  EXPECT_EQ(cuStreamQuery(other_), CUDA_ERROR_NOT_READY);
}

TEST_F(PoolReuseTest, FullPoolsRefuseWhereTheyMustNotWait) {
  PoolProps props;
  props.most = kChunkOfPool;
  pool_ = MakePool(props);
  SetFlag(pool_, kAllowInternalDependencies, 0);
  const CUdeviceptr address = Allocate(kChunkOfPool, stream_);
  Block(stream_);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  CUdeviceptr again = 7;
  EXPECT_EQ(allocate_from(&again, kChunkOfPool, pool_, other_), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(PoolReuseTest, PoolsGrowBeforeTheyWait) {
  const CUdeviceptr address = Allocate(kChunkOfPool, stream_);
  Block(stream_);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_NE(Allocate(kChunkOfPool, other_), address);
  EXPECT_EQ(cuStreamQuery(other_), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kReserved), 2 * kChunkOfPool);
}

TEST_F(PoolReuseTest, TheSmallestRoomIsTaken) {
  CUdeviceptr pieces[6];
  const size_t sizes[6] = {kMiB, 4 * kMiB, kMiB, 2 * kMiB, kMiB, 3 * kMiB};
  for (int i = 0; i < 6; ++i) pieces[i] = Allocate(sizes[i], stream_);
  EXPECT_EQ(free_async(pieces[1], stream_), CUDA_SUCCESS);
  EXPECT_EQ(free_async(pieces[3], stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Allocate(2 * kMiB, stream_), pieces[3]);
  EXPECT_EQ(Allocate(100, stream_), pieces[1]);
}

// Its first chunk went to the device, and comes back.
TEST_F(PoolReuseTest, RoomThatHasLostPartOfItsMemoryIsOneRoom) {
  const CUdeviceptr first = Allocate(kChunkOfPool + kMiB, stream_);
  Allocate(kMiB, stream_);
  EXPECT_EQ(Get(pool_, kReserved), 2 * kChunkOfPool);
  uint64_t threshold = 0;
  EXPECT_EQ(set_attribute(pool_, kReleaseThreshold, &threshold), CUDA_SUCCESS);
  EXPECT_EQ(free_async(first, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kReserved), kChunkOfPool);
  EXPECT_EQ(Allocate(2 * kMiB, stream_), first);
  EXPECT_EQ(Get(pool_, kReserved), 2 * kChunkOfPool);
}

// Room whose memory has gone altogether is as good.
TEST_F(PoolReuseTest, TheSmallestRoomIsTakenThoughItHasNoMemory) {
  const CUdeviceptr first = Allocate(kChunkOfPool, stream_);
  Allocate(kMiB, stream_);
  uint64_t threshold = 0;
  EXPECT_EQ(set_attribute(pool_, kReleaseThreshold, &threshold), CUDA_SUCCESS);
  EXPECT_EQ(free_async(first, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kReserved), kChunkOfPool);
  EXPECT_EQ(Allocate(kMiB, stream_), first);
}

// A chunk that nobody uses goes to where one is lacked.
TEST_F(PoolReuseTest, PoolsMoveTheirMemoryBeforeTheyGrow) {
  const CUdeviceptr first = Allocate(kChunkOfPool, stream_);
  const CUdeviceptr second = Allocate(kMiB, stream_);
  uint64_t threshold = 0;
  EXPECT_EQ(set_attribute(pool_, kReleaseThreshold, &threshold), CUDA_SUCCESS);
  EXPECT_EQ(free_async(first, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  KeepAll(pool_);
  EXPECT_EQ(free_async(second, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Get(pool_, kReserved), kChunkOfPool);
  EXPECT_EQ(Allocate(kMiB, stream_), first);
  EXPECT_EQ(Get(pool_, kReserved), kChunkOfPool);
}

TEST_F(PoolReuseTest, WhatIsNotFreedYetIsNoRoomWithItsNeighbours) {
  const CUdeviceptr address = FreeLater();
  EXPECT_EQ(Allocate(kSize + 512, stream_), address + kSize);
}

TEST_F(PoolReuseTest, WhatAStreamFreesSideBySideIsOneRoomAtOnce) {
  const CUdeviceptr address = Allocate(kSize, stream_);
  const CUdeviceptr neighbour = Allocate(kSize, stream_);
  Block(stream_);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(free_async(neighbour, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Allocate(2 * kSize, stream_), address);
}

// And so the event is ahead of the free.
TEST_F(PoolReuseTest, TheLastFreeOfARoomCounts) {
  const CUdeviceptr address = Allocate(kSize, stream_);
  const CUdeviceptr neighbour = Allocate(kSize, stream_);
  Block(stream_);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  OrderBehind(other_, stream_);
  EXPECT_EQ(free_async(neighbour, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Allocate(kSize, other_), neighbour + kSize);
}

TEST_F(PoolReuseTest, AStreamTakesWhatItHasFreedItselfFirst) {
  const CUdeviceptr address = Allocate(kSize, stream_);
  const CUdeviceptr smaller = Allocate(kMiB, stream_);
  Allocate(512, stream_);
  EXPECT_EQ(free_async(smaller, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  Block(stream_);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Allocate(kMiB, stream_), address);
}

TEST_F(PoolReuseTest, FreedNeighboursBecomeOneRoom) {
  const CUdeviceptr first = Allocate(kMiB, stream_);
  const CUdeviceptr second = Allocate(kMiB, stream_);
  Allocate(kChunkOfPool - 2 * kMiB, stream_);
  EXPECT_EQ(free_async(second, stream_), CUDA_SUCCESS);
  EXPECT_EQ(free_async(first, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Allocate(2 * kMiB, stream_), first);
}

}  // namespace
}  // namespace twinmmu::abi
