// Many ranges of managed memory prefetched or discarded at once. The functions are newer than our
// cuda.h.

#include <cstdint>
#include <memory>
#include <vector>

#include "conformance/abi/managed/managed_memory.h"

namespace twinmmu::abi {
namespace {

using PrefetchBatch = Function<CUresult(CUdeviceptr*, size_t*, size_t, CUmemLocation*, size_t*,
                                        size_t, unsigned long long, CUstream)>;
const PrefetchBatch prefetch("cuMemPrefetchBatchAsync");
const PrefetchBatch discard_and_prefetch("cuMemDiscardAndPrefetchBatchAsync");
const Function<CUresult(CUdeviceptr*, size_t*, size_t, unsigned long long, CUstream)> discard(
    "cuMemDiscardBatchAsync");

constexpr size_t kSize = 4 * kMiB;
constexpr CUmemLocation kHost = {CU_MEM_LOCATION_TYPE_HOST, 0};
constexpr CUmemLocation kDevice0 = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
constexpr Where kOnHost = {CU_DEVICE_CPU, CU_MEM_LOCATION_TYPE_HOST, 0};
constexpr Where kOnDevice0 = {0, CU_MEM_LOCATION_TYPE_DEVICE, 0};

class ManagedBatchesTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    if (HasFatalFailure()) return;
    if (DriverVersion() < 13000) GTEST_SKIP() << "the driver is older than these functions";
    EXPECT_EQ(cuStreamCreate(&stream_, 0), CUDA_SUCCESS);
    first_ = std::make_unique<Managed>(kSize);
    second_ = std::make_unique<Managed>(kSize);
    addresses_[0] = first_->address();
    addresses_[1] = second_->address();
  }
  void TearDown() override {
    if (stream_ != nullptr) {
      EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
      EXPECT_EQ(cuStreamDestroy(stream_), CUDA_SUCCESS);
      first_.reset();
      second_.reset();
    }
    ContextTest::TearDown();
  }

  // Of both, by each of the two functions that prefetch.
  void ExpectPrefetch(CUresult expected, std::vector<CUmemLocation> locations,
                      std::vector<size_t> first) {
    for (const PrefetchBatch& function : {prefetch, discard_and_prefetch}) {
      EXPECT_EQ(function(addresses_, sizes_, 2, locations.data(), first.data(), locations.size(), 0,
                         stream_),
                expected)
          << function.symbol();
    }
  }

  CUstream stream_ = nullptr;
  std::unique_ptr<Managed> first_;
  std::unique_ptr<Managed> second_;
  CUdeviceptr addresses_[2] = {};
  size_t sizes_[2] = {kSize, kSize};
};

TEST_F(ManagedBatchesTest, EachRangeGoesToItsLocation) {
  ExpectPrefetch(CUDA_SUCCESS, {kDevice0, kHost}, {0, 1});
  EXPECT_EQ(LastPrefetch(*first_), kOnDevice0);
  EXPECT_EQ(LastPrefetch(*second_), kOnHost);
}

TEST_F(ManagedBatchesTest, ALocationIsForAllRangesUpToTheNext) {
  ExpectPrefetch(CUDA_SUCCESS, {kDevice0}, {0});
  EXPECT_EQ(LastPrefetch(*first_), kOnDevice0);
  EXPECT_EQ(LastPrefetch(*second_), kOnDevice0);
}

TEST_F(ManagedBatchesTest, TwoLocationsMayBeginAtOneRange) {
  ExpectPrefetch(CUDA_SUCCESS, {kDevice0, kHost}, {0, 0});
}

TEST_F(ManagedBatchesTest, LocationsBeginAtTheFirstRangeAndBeforeTheEnd) {
  ExpectPrefetch(CUDA_ERROR_INVALID_VALUE, {kDevice0, kHost}, {1, 0});
  ExpectPrefetch(CUDA_ERROR_INVALID_VALUE, {kDevice0}, {1});
  ExpectPrefetch(CUDA_ERROR_INVALID_VALUE, {kDevice0, kHost}, {0, 2});
  ExpectPrefetch(CUDA_ERROR_INVALID_VALUE, {kDevice0, kHost, kHost}, {0, 1, 1});
}

TEST_F(ManagedBatchesTest, ALocationThatComesTooLateIsForNothing) {
  const Managed third(kSize);
  CUdeviceptr addresses[] = {addresses_[0], addresses_[1], third.address()};
  size_t sizes[] = {kSize, kSize, kSize};
  CUmemLocation locations[] = {kHost, kDevice0, kHost};
  size_t first[] = {0, 2, 1};
  EXPECT_EQ(prefetch(addresses, sizes, 3, locations, first, 3, 0, stream_), CUDA_SUCCESS);
  EXPECT_EQ(LastPrefetch(*second_), kOnHost);
  EXPECT_EQ(LastPrefetch(third), kOnDevice0);
}

TEST_F(ManagedBatchesTest, NothingIsDoneWhereALocationIsNotThere) {
  ExpectPrefetch(CUDA_ERROR_INVALID_VALUE, {kHost, {CU_MEM_LOCATION_TYPE_DEVICE, 99}}, {0, 1});
  EXPECT_EQ(LastPrefetch(*first_), kNeverPrefetched);
}

TEST_F(ManagedBatchesTest, LocationsMustBeThere) {
  for (const CUmemLocation& none : {CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, 99},
                                    CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, -1},
                                    CUmemLocation{CU_MEM_LOCATION_TYPE_HOST_NUMA, 99},
                                    CUmemLocation{CU_MEM_LOCATION_TYPE_INVALID, 0}}) {
    ExpectPrefetch(CUDA_ERROR_INVALID_VALUE, {kDevice0, none}, {0, 1});
  }
}

TEST_F(ManagedBatchesTest, NothingIsNull) {
  CUmemLocation locations[] = {kDevice0};
  size_t first[] = {0};
  for (const PrefetchBatch& function : {prefetch, discard_and_prefetch}) {
    EXPECT_EQ(function(nullptr, sizes_, 2, locations, first, 1, 0, stream_),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(function(addresses_, nullptr, 2, locations, first, 1, 0, stream_),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(function(addresses_, sizes_, 2, nullptr, first, 1, 0, stream_),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(function(addresses_, sizes_, 2, locations, nullptr, 1, 0, stream_),
              CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(discard(nullptr, sizes_, 2, 0, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(discard(addresses_, nullptr, 2, 0, stream_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ManagedBatchesTest, NothingIsEmpty) {
  CUmemLocation locations[] = {kDevice0};
  size_t first[] = {0};
  size_t no_bytes[] = {kSize, 0};
  for (const PrefetchBatch& function : {prefetch, discard_and_prefetch}) {
    EXPECT_EQ(function(addresses_, sizes_, 0, locations, first, 1, 0, stream_),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(function(addresses_, sizes_, 2, locations, first, 0, 0, stream_),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(function(addresses_, no_bytes, 2, locations, first, 1, 0, stream_),
              CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(discard(addresses_, sizes_, 0, 0, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(discard(addresses_, no_bytes, 2, 0, stream_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ManagedBatchesTest, ThereAreNoFlags) {
  CUmemLocation locations[] = {kDevice0};
  size_t first[] = {0};
  for (const PrefetchBatch& function : {prefetch, discard_and_prefetch}) {
    EXPECT_EQ(function(addresses_, sizes_, 2, locations, first, 1, 1, stream_),
              CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(discard(addresses_, sizes_, 2, 1, stream_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ManagedBatchesTest, TheLegacyStreamIsRefusedBeforeAnythingElse) {
  CUmemLocation locations[] = {kDevice0};
  size_t first[] = {0};
  auto* const of_thread = reinterpret_cast<CUstream>(2);
  for (const PrefetchBatch& function : {prefetch, discard_and_prefetch}) {
    for (const uintptr_t legacy : {0, 1}) {
      EXPECT_EQ(function(addresses_, sizes_, 2, locations, first, 1, 0,
                         reinterpret_cast<CUstream>(legacy)),
                CUDA_ERROR_INVALID_VALUE);
    }
    EXPECT_EQ(function(addresses_, sizes_, 2, locations, first, 1, 0, of_thread), CUDA_SUCCESS);
  }
  EXPECT_EQ(discard(addresses_, sizes_, 2, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(discard(addresses_, sizes_, 2, 0, of_thread), CUDA_SUCCESS);
  EmptyStack();
  EXPECT_EQ(discard(addresses_, sizes_, 2, 0, nullptr), CUDA_ERROR_INVALID_VALUE)
      << "no matter that there is no context";
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
}

TEST_F(ManagedBatchesTest, RangesBeforeTheOneThatFailsAreDone) {
  const Buffer buffer(kSize);
  for (const CUdeviceptr wrong : {buffer.address(), CUdeviceptr{0}, CUdeviceptr{0x1000},
                                  second_->address() + 1, second_->address() + 2 * kMiB}) {
    EXPECT_EQ(cuMemPrefetchAsync(first_->address(), kSize, 0, nullptr), CUDA_SUCCESS);
    addresses_[1] = wrong;
    ExpectPrefetch(CUDA_ERROR_INVALID_VALUE, {kHost}, {0});
    EXPECT_EQ(LastPrefetch(*first_), kOnHost);
  }
  EXPECT_EQ(LastPrefetch(*second_), kNeverPrefetched);
}

TEST_F(ManagedBatchesTest, ARangeMayBeThereTwice) {
  addresses_[1] = addresses_[0];
  ExpectPrefetch(CUDA_SUCCESS, {kDevice0}, {0});
}

TEST_F(ManagedBatchesTest, DiscardLeavesTheHints) {
  ExpectPrefetch(CUDA_SUCCESS, {kDevice0}, {0});
  EXPECT_EQ(discard(addresses_, sizes_, 2, 0, stream_), CUDA_SUCCESS);
  EXPECT_EQ(LastPrefetch(*first_), kOnDevice0);
}

TEST_F(ManagedBatchesTest, WhatIsWrittenAfterADiscardIsRead) {
  EXPECT_EQ(discard(addresses_, sizes_, 2, 0, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  first_->ints()[5] = 8;
  int read = 0;
  EXPECT_EQ(cuMemcpyDtoH(&read, first_->address() + 20, 4), CUDA_SUCCESS);
  EXPECT_EQ(read, 8);
}

TEST_F(ManagedBatchesTest, OnlyManagedMemoryIsDiscarded) {
  const Buffer buffer(kSize);
  for (const CUdeviceptr wrong : {buffer.address(), CUdeviceptr{0}, first_->address() + 1}) {
    addresses_[0] = wrong;
    EXPECT_EQ(discard(addresses_, sizes_, 1, 0, stream_), CUDA_ERROR_INVALID_VALUE);
  }
}

}  // namespace
}  // namespace twinmmu::abi
