// Batches of operations on words of memory.

#include <cstdint>
#include <vector>

#include "conformance/abi/streams/memory_words.h"

namespace twinmmu::abi {
namespace {

using MemoryBatchesTest = MemoryWordsTest;

TEST_F(MemoryBatchesTest, OperationsAreDoneInOrder) {
  CUstreamBatchMemOpParams batch[] = {
      Write(Word(0), 81),
      Wait(Word(0), 81),
      Write(Word(1), 82),
      Fence(CU_STREAM_MEM_OP_BARRIER, CU_STREAM_MEMORY_BARRIER_TYPE_SYS),
      Operation(CU_STREAM_MEM_OP_WAIT_VALUE_64, Word(1), 82, kEqual),
      Operation(CU_STREAM_MEM_OP_WRITE_VALUE_64, Word(2), 83),
      Fence(CU_STREAM_MEM_OP_BARRIER, CU_STREAM_MEMORY_BARRIER_TYPE_GPU)};
  EXPECT_EQ(cuStreamBatchMemOp(stream_, 7, batch, 0), CUDA_SUCCESS);
  EXPECT_EQ(Settled(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Read(Word(0)), 81u);
  EXPECT_EQ(Read(Word(1)), 82u);
  EXPECT_EQ(Read(Word(2)), 83u);
}

// What comes before the wait is done, what comes after it is not.
TEST_F(MemoryBatchesTest, AWaitHoldsTheRest) {
  CUstreamBatchMemOpParams batch[] = {Write(Word(1), 6), Wait(OnHost(0), 9), Write(Word(2), 7)};
  EXPECT_EQ(cuStreamBatchMemOp(stream_, 3, batch, 0), CUDA_SUCCESS);
  EXPECT_EQ(SettledSoon(stream_), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(Read(Word(1)), 6u);
  EXPECT_EQ(Read(Word(2)), 0u);
  host_[0] = 9;
  EXPECT_EQ(Settled(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Read(Word(2)), 7u);
}

TEST_F(MemoryBatchesTest, OfAWordOf32BitsHalfOfTheValueCounts) {
  CUstreamBatchMemOpParams write = Write(Word(0), 0xffff'ffff'0000'0005);
  EXPECT_EQ(cuStreamBatchMemOp(stream_, 1, &write, 0), CUDA_SUCCESS);
  EXPECT_EQ(Settled(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Read(Word(0)), 5u);
  EXPECT_EQ(Read(Word(0) + 4), 0u);
}

TEST_F(MemoryBatchesTest, TheyHaveFewerThan256Operations) {
  std::vector<CUstreamBatchMemOpParams> batch;
  for (uint64_t i = 1; i <= 1024; ++i) batch.push_back(Write(Word(0), i));
  EXPECT_EQ(cuStreamBatchMemOp(stream_, 255, batch.data(), 0), CUDA_SUCCESS);
  EXPECT_EQ(Settled(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Read(Word(0)), 255u);
  for (const unsigned int count : {256u, 257u, 1024u}) {
    EXPECT_EQ(cuStreamBatchMemOp(stream_, count, batch.data(), 0), CUDA_ERROR_INVALID_VALUE)
        << count;
  }
  EXPECT_EQ(Settled(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Read(Word(0)), 255u);
}

TEST_F(MemoryBatchesTest, AnEmptyOneIsNothing) {
  CUstreamBatchMemOpParams write = Write(Word(0), 1);
  EXPECT_EQ(cuStreamBatchMemOp(stream_, 0, &write, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBatchMemOp(stream_, 0, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBatchMemOp(stream_, 0, &write, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Read(Word(0)), 0u);
}

TEST_F(MemoryBatchesTest, TheyHaveNoFlags) {
  CUstreamBatchMemOpParams write = Write(Word(0), 1);
  for (const unsigned int flags : {1u, 2u}) {
    EXPECT_EQ(cuStreamBatchMemOp(stream_, 1, &write, flags), CUDA_ERROR_INVALID_VALUE) << flags;
  }
  EXPECT_EQ(Read(Word(0)), 0u);
}

TEST_F(MemoryBatchesTest, TheArrayMustBeThere) {
  if (!TraitsOf().survives_bad_pointers) GTEST_SKIP() << "the driver ends the process";
  EXPECT_EQ(cuStreamBatchMemOp(stream_, 1, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

// Where one is invalid, nothing is done.
TEST_F(MemoryBatchesTest, AllOfThemMustBePossible) {
  const CUstreamBatchMemOpParams invalid[] = {
      Operation(0, Word(1), 1),
      Operation(7, Word(1), 1),
      Operation(99, Word(1), 1),
      Operation(-1, Word(1), 1),
      Write(Word(1) + 2, 1),
      Write(4096, 1),
      Write(Word(1), 1, 1),
      Write(Word(1), 1, 4),
      Wait(Word(1), 1, 4),
      Operation(CU_STREAM_MEM_OP_WRITE_VALUE_64, Word(1) + 4, 1),
      Fence(CU_STREAM_MEM_OP_BARRIER, 2),
  };
  for (const CUstreamBatchMemOpParams& operation : invalid) {
    CUstreamBatchMemOpParams batch[] = {Write(Word(0), 9), operation};
    EXPECT_EQ(cuStreamBatchMemOp(stream_, 2, batch, 0), CUDA_ERROR_INVALID_VALUE)
        << operation.operation << " at " << operation.waitValue.address;
    EXPECT_EQ(Settled(stream_), CUDA_SUCCESS);
    EXPECT_EQ(Read(Word(0)), 0u);
  }
}

TEST_F(MemoryBatchesTest, AFlushIsNotSupported) {
  int flushes = -1;
  ASSERT_EQ(cuDeviceGetAttribute(&flushes, static_cast<CUdevice_attribute>(98), 0), CUDA_SUCCESS);
  if (flushes != 0) GTEST_SKIP() << "this device can flush remote writes";
  for (const unsigned int flags : {0u, 1u}) {
    CUstreamBatchMemOpParams batch[] = {Write(Word(0), 9),
                                        Fence(CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES, flags)};
    EXPECT_EQ(cuStreamBatchMemOp(stream_, 2, batch, 0), CUDA_ERROR_NOT_SUPPORTED) << flags;
  }
  EXPECT_EQ(Settled(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Read(Word(0)), 0u);
}

// Source: an H200 with driver 580.159.
TEST_F(MemoryBatchesTest, AWordThatIsNotAlignedCountsBeforeAFlush) {
  CUstreamBatchMemOpParams batch[] = {Write(Word(0) + 1, 9),
                                      Fence(CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES, 0)};
  EXPECT_EQ(cuStreamBatchMemOp(stream_, 2, batch, 0), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace twinmmu::abi
