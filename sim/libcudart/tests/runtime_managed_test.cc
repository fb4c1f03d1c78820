// Managed memory, and variables that are managed.

#include "gtest/gtest.h"
#include "sim/libcudart/testing/managed_kernels.h"

// As CUDA 13 has them.
extern "C" cudaError_t cudaMemAdvise(const void*, size_t, int, cudaMemLocation);
extern "C" cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned int,
                                            cudaStream_t);

namespace {

constexpr int kReadMostly = 1;            // cudaMemAdviseSetReadMostly, cudaMemRangeAttribute...
constexpr int kLastPrefetchLocation = 4;  // cudaMemRangeAttributeLastPrefetchLocation
constexpr cudaMemLocation kDevice0 = {1, 0};

class RuntimeManaged : public testing::Test {
 protected:
  RuntimeManaged() { EXPECT_EQ(cudaMallocManaged(&memory_, kSize, 1), cudaSuccess); }
  ~RuntimeManaged() override { EXPECT_EQ(cudaFree(memory_), cudaSuccess); }

  int Attribute(int attribute) {
    int value = -99;
    EXPECT_EQ(cudaMemRangeGetAttribute(&value, sizeof(value), attribute, memory_, kSize),
              cudaSuccess);
    return value;
  }

  static constexpr size_t kSize = 4096;
  void* memory_ = nullptr;
};

TEST_F(RuntimeManaged, MemoryIsSeenByTheCpu) {
  EXPECT_EQ(cudaMemset(memory_, 3, kSize), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(static_cast<char*>(memory_)[kSize - 1], 3);
}

TEST_F(RuntimeManaged, MemoryTellsWhatItIs) {
  cudaPointerAttributes attributes = {};
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, memory_), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeManaged);
  EXPECT_EQ(attributes.devicePointer, memory_);
  EXPECT_EQ(attributes.hostPointer, memory_);
}

TEST_F(RuntimeManaged, PrefetchSaysWhereTheMemoryIs) {
  EXPECT_EQ(Attribute(kLastPrefetchLocation), -2) << "nowhere yet";
  EXPECT_EQ(cudaMemPrefetchAsync(memory_, kSize, kDevice0, 0, nullptr), cudaSuccess);
  EXPECT_EQ(Attribute(kLastPrefetchLocation), 0);
}

TEST_F(RuntimeManaged, AdviceIsReadBack) {
  EXPECT_EQ(Attribute(kReadMostly), 0);
  EXPECT_EQ(cudaMemAdvise(memory_, kSize, kReadMostly, kDevice0), cudaSuccess);
  EXPECT_EQ(Attribute(kReadMostly), 1);
}

TEST_F(RuntimeManaged, MemoryIsAttachedToAStream) {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  EXPECT_EQ(cudaStreamAttachMemAsync(stream, memory_, 0, 4), cudaSuccess);
  EXPECT_EQ(cudaStreamAttachMemAsync(stream, memory_, 0, 100), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(RuntimeManaged, ManyRangesGoAtOnce) {
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  size_t size = kSize;
  size_t first = 0;
  cudaMemLocation to_device = kDevice0;
  cudaMemLocation to_host = {2, 0};
  EXPECT_EQ(cudaMemPrefetchBatchAsync(&memory_, &size, 1, &to_device, &first, 1, 0, stream),
            cudaSuccess);
  EXPECT_EQ(Attribute(kLastPrefetchLocation), 0);
  EXPECT_EQ(cudaMemDiscardBatchAsync(&memory_, &size, 1, 0, stream), cudaSuccess);
  EXPECT_EQ(cudaMemDiscardBatchAsync(&memory_, &size, 1, 1, stream), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemDiscardAndPrefetchBatchAsync(&memory_, &size, 1, &to_host, &first, 1, 0, stream),
            cudaSuccess);
  EXPECT_EQ(Attribute(kLastPrefetchLocation), -1);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

class RuntimeManagedVariables : public testing::Test {
 protected:
  ~RuntimeManagedVariables() override { __cudaUnregisterFatBinary(module_); }

  void** const module_ = RegisterManagedKernels();
};

TEST_F(RuntimeManagedVariables, AreSharedByTheCpuAndKernels) {
  ASSERT_EQ(__cudaInitModule(module_), 1);  // as the compilers' code does before each use
  ASSERT_NE(total, nullptr);
  EXPECT_EQ(*total, 3) << "as the device code says";
  *total = 10;
  int* values = nullptr;
  ASSERT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&values), 100 * sizeof(int), 1),
            cudaSuccess);
  for (int i = 0; i < 100; ++i) values[i] = i;
  int count = 100;
  void* arguments[] = {&values, &count};
  EXPECT_EQ(cudaLaunchKernel(&Sum, {1, 1, 1}, {128, 1, 1}, arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(*total, 10 + 99 * 100 / 2);
  EXPECT_EQ(cudaFree(values), cudaSuccess);
}

}  // namespace
