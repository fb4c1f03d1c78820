// What tests of streams that wait for words of memory have in common.

#ifndef TWINMMU_CONFORMANCE_ABI_STREAMS_MEMORY_WORDS_H_
#define TWINMMU_CONFORMANCE_ABI_STREAMS_MEMORY_WORDS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {

inline constexpr unsigned int kGeq = CU_STREAM_WAIT_VALUE_GEQ;
inline constexpr unsigned int kEqual = CU_STREAM_WAIT_VALUE_EQ;
inline constexpr unsigned int kAnd = CU_STREAM_WAIT_VALUE_AND;
inline constexpr unsigned int kNor = CU_STREAM_WAIT_VALUE_NOR;
inline constexpr unsigned int kFlush = CU_STREAM_WAIT_VALUE_FLUSH;

// What a stream says in the end, or after this time.
inline CUresult Settled(CUstream stream,
                        std::chrono::milliseconds limit = std::chrono::milliseconds(5000)) {
  const std::chrono::steady_clock::time_point end = std::chrono::steady_clock::now() + limit;
  CUresult result = cuStreamQuery(stream);
  while (result == CUDA_ERROR_NOT_READY && std::chrono::steady_clock::now() < end)
    result = cuStreamQuery(stream);
  return result;
}
inline CUresult SettledSoon(CUstream stream) {
  return Settled(stream, std::chrono::milliseconds(20));
}

// Words that are 0, of the device and of the host, and two streams that wait for nobody else.
class MemoryWordsTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    if (HasFatalFailure()) return;
    if (DriverVersion() < 11070) GTEST_SKIP() << "the driver is older than these functions";
    void* pinned = nullptr;
    ASSERT_EQ(cuMemAlloc(&words_, kBytes), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAllocHost(&pinned, kBytes), CUDA_SUCCESS);
    host_ = static_cast<std::atomic<uint64_t>*>(pinned);
    for (size_t i = 0; i < kBytes / 8; ++i) host_[i] = 0;
    ASSERT_EQ(cuMemsetD8(words_, 0, kBytes), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamCreate(&other_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (stream_ != nullptr) {
      EXPECT_EQ(cuStreamDestroy(stream_), CUDA_SUCCESS);
      EXPECT_EQ(cuStreamDestroy(other_), CUDA_SUCCESS);
      EXPECT_EQ(cuMemFree(words_), CUDA_SUCCESS);
      EXPECT_EQ(cuMemFreeHost(host_), CUDA_SUCCESS);
    }
    ContextTest::TearDown();
  }

  CUdeviceptr Word(int i) const { return words_ + 8 * static_cast<CUdeviceptr>(i); }
  CUdeviceptr OnHost(int i) const { return AddressOf(host_ + i); }
  uint32_t Read(CUdeviceptr word) const {
    void* const landing = host_ + kBytes / 8 - 1;
    EXPECT_EQ(cuMemcpyDtoHAsync(landing, word, 4, other_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(other_), CUDA_SUCCESS);
    return static_cast<uint32_t>(host_[kBytes / 8 - 1]);
  }
  // The stream waits until the word, whose address is passed, is 1; and goes on after write().
  void ExpectWaitsFor(CUdeviceptr word, const std::function<CUresult()>& write) {
    EXPECT_EQ(cuStreamWaitValue32(stream_, word, 1, kEqual), CUDA_SUCCESS);
    EXPECT_EQ(SettledSoon(stream_), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(write(), CUDA_SUCCESS);
    EXPECT_EQ(Settled(stream_), CUDA_SUCCESS);
  }

  static constexpr size_t kBytes = 4096;
  CUdeviceptr words_ = 0;
  std::atomic<uint64_t>* host_ = nullptr;
  CUstream stream_ = nullptr;
  CUstream other_ = nullptr;
};

inline CUstreamBatchMemOpParams Operation(int type, CUdeviceptr address, uint64_t value,
                                          unsigned int flags = 0) {
  CUstreamBatchMemOpParams operation = {};
  operation.waitValue.operation = static_cast<CUstreamBatchMemOpType>(type);
  operation.waitValue.address = address;
  operation.waitValue.value64 = value;
  operation.waitValue.flags = flags;
  return operation;
}
inline CUstreamBatchMemOpParams Write(CUdeviceptr address, uint64_t value, unsigned int flags = 0) {
  return Operation(CU_STREAM_MEM_OP_WRITE_VALUE_32, address, value, flags);
}
inline CUstreamBatchMemOpParams Wait(CUdeviceptr address, uint64_t value,
                                     unsigned int flags = kEqual) {
  return Operation(CU_STREAM_MEM_OP_WAIT_VALUE_32, address, value, flags);
}
inline CUstreamBatchMemOpParams Fence(CUstreamBatchMemOpType type, unsigned int flags) {
  CUstreamBatchMemOpParams operation = {};
  operation.memoryBarrier.operation = type;
  operation.memoryBarrier.flags = flags;
  return operation;
}

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_STREAMS_MEMORY_WORDS_H_
