// What tests of streams that wait for words of memory have in common.

#ifndef TWINMMU_CONFORMANCE_ABI_STREAMS_MEMORY_WORDS_H_
#define TWINMMU_CONFORMANCE_ABI_STREAMS_MEMORY_WORDS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/streams/batch_operations.h"

namespace twinmmu::abi {

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

}  // namespace twinmmu::abi

#endif  // TWINMMU_CONFORMANCE_ABI_STREAMS_MEMORY_WORDS_H_
