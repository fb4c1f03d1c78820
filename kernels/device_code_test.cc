// The arithmetic of the device code, run on the host: the .cu files are compiled as C++, and a grid
// is run one thread after the other. What the PTX does on a GPU is for the conformance suite.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/common.h"

// What nvcc declares by itself, as far as the kernels use it.
#define __global__
#define __device__
#define __forceinline__ inline

namespace {

struct ThreadPosition {
  uint32_t x = 0;
};
ThreadPosition blockIdx, threadIdx, blockDim, gridDim;

struct alignas(16) uint4 {
  uint32_t x, y, z, w;
};

template <typename T>
T atomicAdd(T* address, T value) {
  const T before = *address;
  *address += value;
  return before;
}

template <typename T>
T atomicAdd_system(T* address, T value) {
  return atomicAdd(address, value);
}

template <typename T>
T atomicMin(T* address, T value) {
  const T before = *address;
  *address = std::min(before, value);
  return before;
}

}  // namespace

#include "kernels/access.cu"
#include "kernels/fill_verify.cu"

namespace twinmmu {
namespace {

template <typename Function, typename... Arguments>
void RunGrid(uint32_t blocks, uint32_t threads, Function kernel, Arguments... arguments) {
  gridDim.x = blocks;
  blockDim.x = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) kernel(arguments...);
  }
}

constexpr uint64_t kSeed = 0x123456789abcdef0;
constexpr uint32_t kUntouched = 0xcccccccc;
constexpr uint64_t kGuard = 8;  // words before and after a range

// Memory with a range in it that starts `shift` words after a 16-byte boundary.
class Memory {
 public:
  Memory(uint64_t shift, uint64_t count)
      : vectors_((shift + count + 2 * kGuard) / 4 + 1,
                 uint4{kUntouched, kUntouched, kUntouched, kUntouched}),
        all_(&vectors_[0].x),
        begin_(kGuard + shift),
        count_(count) {}

  uint32_t* range() { return all_ + begin_; }
  uint64_t count() const { return count_; }
  // Words outside the range that were written.
  uint64_t Touched() const {
    uint64_t touched = 0;
    for (uint64_t i = 0; i < 4 * vectors_.size(); ++i) {
      const bool inside = i >= begin_ && i - begin_ < count_;
      if (!inside && all_[i] != kUntouched) ++touched;
    }
    return touched;
  }

 private:
  std::vector<uint4> vectors_;
  uint32_t* all_;
  uint64_t begin_;
  uint64_t count_;
};

void Fill(Memory& memory, uint32_t blocks, uint32_t threads) {
  RunGrid(blocks, threads, twinmmu_fill, memory.range(), memory.count(), kSeed);
}

VerifyResult Verify(Memory& memory, uint32_t blocks, uint32_t threads, uint64_t seed = kSeed) {
  VerifyResult result{99, 99};
  RunGrid(1, 1, twinmmu_verify_reset, &result);
  RunGrid(blocks, threads, twinmmu_verify, memory.range(), memory.count(), seed, &result);
  return result;
}

struct Grid {
  uint32_t blocks;
  uint32_t threads;
};

// A start of every alignment, sizes with and without head and tail, and grids with too few, enough
// and too many threads.
template <typename Body>
void ForEachCase(Body body) {
  for (const Grid grid : {Grid{1, 3}, Grid{2, 2}, Grid{3, 8}}) {
    for (uint64_t shift = 0; shift < 4; ++shift) {
      for (uint64_t count = 0; count < 150; ++count) {
        SCOPED_TRACE(testing::Message() << "blocks " << grid.blocks << ", threads " << grid.threads
                                        << ", shift " << shift << ", words " << count);
        body(grid, shift, count);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

// Fill writes FillWord(seed, i) to word i of the range, for every word.
TEST(FillTest, WritesEachWord) {
  ForEachCase([](Grid grid, uint64_t shift, uint64_t count) {
    Memory memory(shift, count);
    Fill(memory, grid.blocks, grid.threads);
    for (uint64_t i = 0; i < count; ++i) ASSERT_EQ(memory.range()[i], FillWord(kSeed, i)) << i;
  });
}

// Fill writes nothing outside the range.
TEST(FillTest, WritesNothingElse) {
  ForEachCase([](Grid grid, uint64_t shift, uint64_t count) {
    Memory memory(shift, count);
    Fill(memory, grid.blocks, grid.threads);
    ASSERT_EQ(memory.Touched(), 0u);
  });
}

// Verify finds nothing wrong with what fill wrote, whatever the result held before.
TEST(VerifyTest, FilledRangeHasNoMismatch) {
  ForEachCase([](Grid grid, uint64_t shift, uint64_t count) {
    Memory memory(shift, count);
    Fill(memory, grid.blocks, grid.threads);
    const VerifyResult result = Verify(memory, grid.blocks, grid.threads);
    ASSERT_EQ(result.mismatches, 0u);
    ASSERT_EQ(result.first_index, kNoMismatch);
  });
}

// Verify finds a single wrong word wherever it is, and gives its index.
TEST(VerifyTest, FindsEachSingleWrongWord) {
  for (uint64_t shift = 0; shift < 4; ++shift) {
    Memory memory(shift, 103);
    Fill(memory, 2, 2);
    for (uint64_t bad = 0; bad < memory.count(); ++bad) {
      memory.range()[bad] ^= 0x80;
      const VerifyResult result = Verify(memory, 2, 2);
      memory.range()[bad] ^= 0x80;
      ASSERT_EQ(result.mismatches, 1u) << bad;
      ASSERT_EQ(result.first_index, bad);
    }
  }
}

// Verify counts every wrong word and gives the smallest index, though threads see them out of
// order.
TEST(VerifyTest, CountsAllAndGivesTheSmallest) {
  ForEachCase([](Grid grid, uint64_t shift, uint64_t count) {
    if (count == 0) return;
    Memory memory(shift, count);
    Fill(memory, grid.blocks, grid.threads);
    const uint64_t first = count / 3;
    for (uint64_t i = first; i < count; ++i) memory.range()[i] = ~memory.range()[i];
    const VerifyResult result = Verify(memory, grid.blocks, grid.threads);
    ASSERT_EQ(result.mismatches, count - first);
    ASSERT_EQ(result.first_index, first);
  });
}

// Memory filled with another seed does not pass.
TEST(VerifyTest, AnotherSeedIsAllWrong) {
  Memory memory(1, 1000);
  Fill(memory, 2, 8);
  const VerifyResult result = Verify(memory, 2, 8, kSeed + 1);
  EXPECT_EQ(result.mismatches, 1000u);
  EXPECT_EQ(result.first_index, 0u);
}

// Load32 stores the word that it found.
TEST(AccessTest, LoadCopiesTheWord) {
  const uint32_t word = 0x12345678;
  uint32_t out = 0;
  RunGrid(1, 1, twinmmu_load32, &word, &out);
  EXPECT_EQ(out, 0x12345678u);
}

// Store32 stores the value.
TEST(AccessTest, StoreWritesTheValue) {
  uint32_t word = 0;
  RunGrid(1, 1, twinmmu_store32, &word, 0xfeedf00du);
  EXPECT_EQ(word, 0xfeedf00du);
}

// AtomicAdd32 adds modulo 2^32 and gives the value from before.
TEST(AccessTest, AtomicAddGivesTheOldValue) {
  uint32_t word = 0xfffffffe;
  uint32_t out = 0;
  RunGrid(1, 1, twinmmu_atomic_add32, &word, 3u, &out);
  EXPECT_EQ(word, 1u);
  EXPECT_EQ(out, 0xfffffffeu);
}

// Count adds 1 a thread and round, half at each address, and all where they are one.
TEST(AccessTest, CountAddsHalfAtEachAddress) {
  uint32_t words[2] = {10, 20};
  RunGrid(3, 8, twinmmu_count, &words[0], &words[1], 5u);
  EXPECT_EQ(words[0], 10u + 3 * 4 * 5);
  EXPECT_EQ(words[1], 20u + 3 * 4 * 5);
  RunGrid(3, 8, twinmmu_count, &words[0], &words[0], 5u);
  EXPECT_EQ(words[0], 10u + 3 * 4 * 5 + 3 * 8 * 5);
}

}  // namespace
}  // namespace twinmmu
