// Limits, cache configuration and priorities of a context. A context of its own for each test, so
// that none sees another's.

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

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
