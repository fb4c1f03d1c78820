// Limits, cache configuration and priorities of a context. A context of its own for each test, so
// that none sees another's.

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

constexpr auto kSharedMemory = static_cast<CUlimit>(7);  // CU_LIMIT_SHMEM_SIZE, of CUDA 12.5

class LimitsTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    ASSERT_EQ(cuCtxCreate(&context_, 0, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuCtxDestroy(context_), CUDA_SUCCESS);
    DriverTest::TearDown();
  }

  static size_t LimitOf(CUlimit limit) {
    size_t value = 77;
    EXPECT_EQ(cuCtxGetLimit(&value, limit), CUDA_SUCCESS);
    return value;
  }

 private:
  CUcontext context_ = nullptr;
};

TEST_F(LimitsTest, HaveTheirDefaults) {
  EXPECT_EQ(LimitOf(CU_LIMIT_STACK_SIZE), 1024u);
  EXPECT_EQ(LimitOf(CU_LIMIT_MALLOC_HEAP_SIZE), 8u << 20);
  EXPECT_GT(LimitOf(CU_LIMIT_PRINTF_FIFO_SIZE), 0u);
}

TEST_F(LimitsTest, SetOnesAreKept) {
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048), CUDA_SUCCESS);
  EXPECT_EQ(LimitOf(CU_LIMIT_STACK_SIZE), 2048u);
}

TEST_F(LimitsTest, HeapHasASmallestSize) {
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 1), CUDA_SUCCESS);
  EXPECT_EQ(LimitOf(CU_LIMIT_MALLOC_HEAP_SIZE), 4u << 20);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 5000000), CUDA_SUCCESS);
  EXPECT_EQ(LimitOf(CU_LIMIT_MALLOC_HEAP_SIZE), 5046272u);  // 77 times 64 KiB
}

TEST_F(LimitsTest, SomeAreRounded) {
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1000), CUDA_SUCCESS);
  EXPECT_EQ(LimitOf(CU_LIMIT_STACK_SIZE), 1008u);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1), CUDA_SUCCESS);
  EXPECT_EQ(LimitOf(CU_LIMIT_PRINTF_FIFO_SIZE), 512u << 10);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, (512 << 10) + 1), CUDA_SUCCESS);
  EXPECT_EQ(LimitOf(CU_LIMIT_PRINTF_FIFO_SIZE), (512u << 10) + 256);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, size_t{1} << 40), CUDA_SUCCESS);
  EXPECT_EQ(LimitOf(CU_LIMIT_PRINTF_FIFO_SIZE), size_t{2} << 30);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 1), CUDA_SUCCESS);
  EXPECT_EQ(LimitOf(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT), 32u);
}

// Of an H100 and an H200, in tenths of what the device can set aside.
TEST_F(LimitsTest, PersistingCacheIsSetAsideInTenths) {
  int most = 0;
  ASSERT_EQ(cuDeviceGetAttribute(&most, static_cast<CUdevice_attribute>(108), 0), CUDA_SUCCESS);
  const size_t part = static_cast<size_t>(most) / 10;
  EXPECT_EQ(LimitOf(CU_LIMIT_PERSISTING_L2_CACHE_SIZE), 3 * part);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, part + 1), CUDA_SUCCESS);
  EXPECT_EQ(LimitOf(CU_LIMIT_PERSISTING_L2_CACHE_SIZE), 2 * part);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 10 * part + 1),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 3 * part), CUDA_SUCCESS);
}

TEST_F(LimitsTest, AFetchIsNoLargerThan128Bytes) {
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 128), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 129), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(LimitOf(CU_LIMIT_MAX_L2_FETCH_GRANULARITY), 128u);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64), CUDA_SUCCESS);
}

TEST_F(LimitsTest, SharedMemoryIsThatOfTheDeviceAndCannotBeSet) {
  int most = 0;
  ASSERT_EQ(cuDeviceGetAttribute(&most, static_cast<CUdevice_attribute>(97), 0), CUDA_SUCCESS);
  EXPECT_EQ(LimitOf(kSharedMemory), static_cast<size_t>(most));
  EXPECT_EQ(cuCtxSetLimit(kSharedMemory, 1024), CUDA_ERROR_NOT_PERMITTED);
}

// Only what changes the stacks of threads is rounded to their sizes.
TEST_F(LimitsTest, AStackOfTheSizeThatThereIsIsAnsweredAsItWasAsked) {
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1020), CUDA_SUCCESS);
  EXPECT_EQ(LimitOf(CU_LIMIT_STACK_SIZE), 1020u);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 17), CUDA_SUCCESS);
  EXPECT_EQ(LimitOf(CU_LIMIT_STACK_SIZE), 32u);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 18), CUDA_SUCCESS);
  EXPECT_EQ(LimitOf(CU_LIMIT_STACK_SIZE), 18u);
}

TEST_F(LimitsTest, StackMayBeEmptyAndNotHuge) {
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, size_t{1} << 40), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LimitsTest, ThatTheDeviceHasNotAreUnsupported) {
  size_t value = 77;
  EXPECT_EQ(cuCtxGetLimit(&value, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH), CUDA_ERROR_UNSUPPORTED_LIMIT);
  EXPECT_EQ(value, 77u);
}

TEST_F(LimitsTest, UnknownOnesAreRefused) {
  size_t value = 77;
  EXPECT_EQ(cuCtxGetLimit(&value, static_cast<CUlimit>(99)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxSetLimit(static_cast<CUlimit>(99), 5), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(value, 77u);
}

TEST_F(LimitsTest, CacheConfigurationIsKept) {
  CUfunc_cache config = CU_FUNC_CACHE_PREFER_EQUAL;
  EXPECT_EQ(cuCtxGetCacheConfig(&config), CUDA_SUCCESS);
  EXPECT_EQ(config, CU_FUNC_CACHE_PREFER_NONE);
  EXPECT_EQ(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetCacheConfig(&config), CUDA_SUCCESS);
  EXPECT_EQ(config, CU_FUNC_CACHE_PREFER_L1);
  EXPECT_EQ(cuCtxSetCacheConfig(static_cast<CUfunc_cache>(9)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(LimitsTest, PrioritiesOfStreams) {
  int least = 7;
  int greatest = 7;
  EXPECT_EQ(cuCtxGetStreamPriorityRange(&least, &greatest), CUDA_SUCCESS);
  EXPECT_EQ(least, 0);
  EXPECT_EQ(greatest, -5);
  EXPECT_EQ(cuCtxGetStreamPriorityRange(nullptr, nullptr), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
