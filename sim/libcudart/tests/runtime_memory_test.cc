// Memory, copies in all directions, and the last error of a thread.

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "third_party/cuda_abi/cudart_abi.h"

namespace {

class RuntimeMemory : public testing::Test {
 protected:
  RuntimeMemory() { EXPECT_EQ(cudaMalloc(&memory_, kSize), cudaSuccess); }
  ~RuntimeMemory() override {
    EXPECT_EQ(cudaFree(memory_), cudaSuccess);
    cudaGetLastError();
  }
  std::string Read() const {
    std::string text(kSize, '?');
    EXPECT_EQ(cudaMemcpy(&text[0], memory_, kSize, cudaMemcpyDeviceToHost), cudaSuccess);
    return text;
  }

  static constexpr size_t kSize = 8;
  void* memory_ = nullptr;
};

TEST_F(RuntimeMemory, OfNoBytesIsNowhere) {
  void* none = memory_;
  EXPECT_EQ(cudaMalloc(&none, 0), cudaSuccess);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaMallocHost(&none, 0), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(nullptr), cudaSuccess);
  EXPECT_EQ(cudaMalloc(nullptr, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMalloc(&none, size_t{1} << 60), cudaErrorMemoryAllocation);
}

TEST_F(RuntimeMemory, IsCopiedInEachDirection) {
  char host[] = "abcdefg";
  EXPECT_EQ(cudaMemcpy(memory_, host, kSize, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(Read(), std::string(host, kSize));
  void* other = nullptr;
  ASSERT_EQ(cudaMalloc(&other, kSize), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(other, memory_, kSize, cudaMemcpyDeviceToDevice), cudaSuccess);
  char back[kSize] = "";
  EXPECT_EQ(cudaMemcpy(back, other, kSize, cudaMemcpyDefault), cudaSuccess);
  EXPECT_STREQ(back, host);
  std::memset(back, 0, kSize);
  EXPECT_EQ(cudaMemcpy(back, host, kSize, cudaMemcpyHostToHost), cudaSuccess);
  EXPECT_STREQ(back, host);
  EXPECT_EQ(cudaMemset(memory_, 0, kSize), cudaSuccess);
  EXPECT_EQ(cudaMemcpyPeer(memory_, 0, other, 0, kSize), cudaSuccess);
  EXPECT_EQ(Read(), std::string(host, kSize));
  EXPECT_EQ(cudaFree(other), cudaSuccess);
}

TEST_F(RuntimeMemory, IsNotCopiedInAnyOtherDirection) {
  EXPECT_EQ(cudaMemcpy(memory_, memory_, 1, 5), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpyAsync(memory_, memory_, 1, -1, nullptr), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy2D(memory_, 1, memory_, 1, 1, 1, 7), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy2D(memory_, 1, memory_, 1, 2, 1, cudaMemcpyDefault), cudaErrorInvalidValue);
}

TEST_F(RuntimeMemory, IsFilled) {
  EXPECT_EQ(cudaMemset(memory_, 'x', kSize), cudaSuccess);
  EXPECT_EQ(Read(), std::string(kSize, 'x'));
  EXPECT_EQ(cudaMemsetAsync(memory_, 'y' + 256, 4, nullptr), cudaSuccess);
  EXPECT_EQ(Read(), "yyyyxxxx") << "by the lowest byte, as memset";
}

TEST_F(RuntimeMemory, OfTheHostIsPinned) {
  void* host = nullptr;
  void* device = nullptr;
  ASSERT_EQ(cudaHostAlloc(&host, kSize, cudaHostAllocMapped), cudaSuccess);
  EXPECT_EQ(cudaHostGetDevicePointer(&device, host, 0), cudaSuccess);
  EXPECT_EQ(device, host);
  EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
  std::vector<char> own(4096);
  EXPECT_EQ(cudaHostRegister(own.data(), own.size(), cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(own.data(), own.size(), cudaHostRegisterDefault),
            cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(cudaHostUnregister(own.data()), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(own.data()), cudaErrorHostMemoryNotRegistered);
}

TEST_F(RuntimeMemory, OfTheHostKeepsItsFlags) {
  void* host = nullptr;
  unsigned int flags = 0;
  ASSERT_EQ(cudaHostAlloc(&host, kSize, cudaHostAllocPortable), cudaSuccess);
  EXPECT_EQ(cudaHostGetFlags(&flags, host), cudaSuccess);
  EXPECT_EQ(flags, static_cast<unsigned int>(cudaHostAllocPortable | cudaHostAllocMapped));
  EXPECT_EQ(cudaHostGetFlags(nullptr, host), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostGetFlags(&flags, this), cudaErrorInvalidValue) << "is not pinned";
  EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
}

TEST_F(RuntimeMemory, IsToldByItsAddress) {
  cudaPointerAttributes attributes = {};
  attributes.reserved[0] = 77;
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, static_cast<char*>(memory_) + 1), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 0);
  EXPECT_EQ(attributes.devicePointer, static_cast<char*>(memory_) + 1);
  EXPECT_EQ(attributes.hostPointer, nullptr);
  EXPECT_EQ(attributes.reserved[0], 77) << "programs for CUDA 12 have no room for it";
  int own = 0;
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, &own), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(attributes.device, cudaInvalidDeviceId);
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 4), cudaSuccess);
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, pinned), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes.hostPointer, pinned);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(RuntimeMemory, IsOrderedByStreamsAndEvents) {
  cudaStream_t stream = nullptr;
  cudaEvent_t start = nullptr;
  cudaEvent_t end = nullptr;
  float milliseconds = -1;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&end, cudaEventDefault), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(start, stream), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(memory_, 'z', kSize, stream), cudaSuccess);
  int called = 0;
  EXPECT_EQ(cudaLaunchHostFunc(
                stream, [](void* argument) { ++*static_cast<int*>(argument); }, &called),
            cudaSuccess);
  EXPECT_EQ(cudaEventRecord(end, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(nullptr, end, 0), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(end), cudaSuccess);
  EXPECT_EQ(called, 1);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaSuccess);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  EXPECT_EQ(Read(), std::string(kSize, 'z'));
  EXPECT_EQ(cudaEventDestroy(start), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(end), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

// --- Errors

TEST_F(RuntimeMemory, ErrorsAreTheLastOfTheThread) {
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaFree(this), cudaErrorInvalidValue);
  std::thread([] { EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess); }).join();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << "a success leaves the last error";
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(RuntimeMemory, ErrorsHaveNamesAndWords) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidDeviceFunction), "invalid device function");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidConfiguration), "invalid configuration argument");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorAssert), "device-side assert triggered");
  EXPECT_STREQ(cudaGetErrorString(cudaSuccess), "no error");
  EXPECT_STREQ(cudaGetErrorName(12345), "unrecognized error code");
  EXPECT_STREQ(cudaGetErrorString(12345), "unrecognized error code");
}

TEST_F(RuntimeMemory, OfAPoolIsUsedInTheOrderOfItsStream) {
  cudaStream_t stream = nullptr;
  void* piece = nullptr;
  std::string text(kSize, '?');
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaMallocAsync(&piece, kSize, stream), cudaSuccess);
  EXPECT_EQ(cudaMemsetAsync(piece, 'p', kSize, stream), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(&text[0], piece, kSize, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(piece, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(text, std::string(kSize, 'p'));
  EXPECT_EQ(cudaFreeAsync(piece, stream), cudaErrorInvalidValue) << "a second time";
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(RuntimeMemory, ComesFromThePoolOfTheDevice) {
  constexpr int kReserved = 5;  // cudaMemPoolAttrReservedMemCurrent
  cudaMemPool_t usual = nullptr;
  cudaMemPool_t current = nullptr;
  cudaMemLocation location = {1, 0};
  void* piece = nullptr;
  unsigned long long reserved = 0;
  EXPECT_EQ(cudaDeviceGetDefaultMemPool(&usual, 0), cudaSuccess);
  EXPECT_EQ(cudaMemGetMemPool(&current, &location, 1), cudaSuccess);
  EXPECT_EQ(current, usual);
  EXPECT_EQ(cudaMallocFromPoolAsync(&piece, kSize, usual, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemPoolGetAttribute(usual, kReserved, &reserved), cudaSuccess);
  EXPECT_EQ(reserved, 32ull << 20);
  EXPECT_EQ(cudaFree(piece), cudaSuccess);
  EXPECT_EQ(cudaMemPoolTrimTo(nullptr, 0), cudaErrorInvalidValue);
}

TEST_F(RuntimeMemory, ComesFromAPoolEvenIfItHasNoBytes) {
  cudaMemPool_t usual = nullptr;
  void* piece = &usual;
  EXPECT_EQ(cudaDeviceGetDefaultMemPool(&usual, 0), cudaSuccess);
  EXPECT_EQ(cudaMallocFromPoolAsync(&piece, 0, nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocFromPoolAsync(&piece, 0, usual, nullptr), cudaSuccess);
  EXPECT_EQ(piece, nullptr);
}

TEST_F(RuntimeMemory, OfNoBytesIsCopiedBetweenAnyDevices) {
  EXPECT_EQ(cudaMemcpyPeer(nullptr, 100, nullptr, 0, 0), cudaSuccess);
  EXPECT_EQ(cudaMemcpyPeerAsync(nullptr, 0, nullptr, 100, 1, nullptr), cudaErrorInvalidDevice);
}

}  // namespace
