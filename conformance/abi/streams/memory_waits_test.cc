// Streams that wait for words of memory: who ends a wait, and what waits.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "conformance/abi/streams/memory_words.h"

namespace twinmmu::abi {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

const char kStore[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry store(.param .u64 at, .param .u32 value) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [at];
  ld.param.u32 %r1, [value];
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

using MemoryWaitsTest = MemoryWordsTest;

// --- Who ends a wait -----------------------------------------------------------------------------

TEST_F(MemoryWaitsTest, AnotherStreamEndsAWait) {
  ExpectWaitsFor(Word(0), [&] { return cuStreamWriteValue32(other_, Word(0), 1, 0); });
  ExpectWaitsFor(Word(1), [&] { return cuStreamWriteValue64(other_, Word(1), 1, 0); });
}

TEST_F(MemoryWaitsTest, AKernelEndsAWait) {
  using Load = Function<CUresult(void**, const void*)>;
  using GetFunction = Function<CUresult(void**, void*, const char*)>;
  using Launch = Function<CUresult(void*, unsigned, unsigned, unsigned, unsigned, unsigned,
                                   unsigned, unsigned, CUstream, void**, void**)>;
  void* module = nullptr;
  void* store = nullptr;
  ASSERT_EQ(Load("cuModuleLoadData")(&module, kStore), CUDA_SUCCESS);
  ASSERT_EQ(GetFunction("cuModuleGetFunction")(&store, module, "store"), CUDA_SUCCESS);
  CUdeviceptr at = Word(0);
  unsigned int value = 1;
  void* arguments[] = {&at, &value};
  ExpectWaitsFor(at, [&] {
    return Launch("cuLaunchKernel")(store, 1, 1, 1, 1, 1, 1, 0, other_, arguments, nullptr);
  });
  EXPECT_EQ((Function<CUresult(void*)>("cuModuleUnload")(module)), CUDA_SUCCESS);
}

TEST_F(MemoryWaitsTest, ACopyEndsAWait) {
  const uint32_t one = 1;
  ExpectWaitsFor(Word(0), [&] { return cuMemcpyHtoD(Word(0), &one, 4); });
  ExpectWaitsFor(Word(1), [&] { return cuMemcpyDtoDAsync(Word(1), Word(0), 4, other_); });
}

TEST_F(MemoryWaitsTest, AFillEndsAWait) {
  ExpectWaitsFor(Word(0), [&] { return cuMemsetD32Async(Word(0), 1, 1, other_); });
}

TEST_F(MemoryWaitsTest, TheCpuEndsAWait) {
  const auto write = [](std::atomic<uint64_t>* word) {
    *word = 1;
    return CUDA_SUCCESS;
  };
  ExpectWaitsFor(OnHost(0), [&] { return write(host_); });
  const size_t size = 4096;
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(cuMemHostRegister(memory, size, 0), CUDA_SUCCESS);
  CUdeviceptr registered = 0;
  EXPECT_EQ(cuMemHostGetDevicePointer(&registered, memory, 0), CUDA_SUCCESS);
  ExpectWaitsFor(registered, [&] { return write(static_cast<std::atomic<uint64_t>*>(memory)); });
  EXPECT_EQ(cuMemHostUnregister(memory), CUDA_SUCCESS);
  munmap(memory, size);
}

// Memory that the CPU shares with another process, which knows nothing of the driver.
TEST_F(MemoryWaitsTest, AnotherProcessEndsAWait) {
  const size_t size = 4096;
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const words = static_cast<std::atomic<uint32_t>*>(memory);
  const pid_t child = fork();
  if (child == 0) {
    while (words[1] == 0) usleep(100);
    words[0] = 1;
    _exit(0);
  }
  ASSERT_EQ(cuMemHostRegister(memory, size, 0), CUDA_SUCCESS);
  ExpectWaitsFor(AddressOf(memory), [&] {
    words[1] = 1;
    return CUDA_SUCCESS;
  });
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(cuMemHostUnregister(memory), CUDA_SUCCESS);
  munmap(memory, size);
}

TEST_F(MemoryWaitsTest, MappedMemoryHasWordsToo) {
  const Mapping mapping;
  EXPECT_EQ(cuMemsetD8(mapping.address(), 0, mapping.size()), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  const CUdeviceptr last = mapping.address() + mapping.size() - 4;
  ExpectWaitsFor(last, [&] { return cuStreamWriteValue32(other_, last, 1, 0); });
}

// The CPU sees what the stream does after the wait, though it makes no call.
TEST_F(MemoryWaitsTest, TheCpuNeedsNoCallToSeeWhatComesAfterAWait) {
  for (uint64_t i = 1; i <= 10; ++i) {
    EXPECT_EQ(cuStreamWaitValue64(stream_, OnHost(0), i, kGeq), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWriteValue64(stream_, OnHost(1), i, 0), CUDA_SUCCESS);
    std::this_thread::sleep_for(milliseconds(1));
    EXPECT_EQ(host_[1], i - 1);
    host_[0] = i;
    const Clock::time_point end = Clock::now() + milliseconds(5000);
    while (host_[1] != i && Clock::now() < end) {
    }
    ASSERT_EQ(host_[1], i);
  }
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
}

// --- What waits ----------------------------------------------------------------------------------

TEST_F(MemoryWaitsTest, WhatIsBehindAWaitWaitsAndNothingElse) {
  EXPECT_EQ(cuStreamWaitValue32(stream_, OnHost(0), 1, kEqual), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(Word(1), 7, 1, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(Word(2), 8, 1, other_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(other_), CUDA_SUCCESS);
  EXPECT_EQ(Read(Word(2)), 8u);
  EXPECT_EQ(SettledSoon(stream_), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(Read(Word(1)), 0u);
  host_[0] = 1;
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Read(Word(1)), 7u);
}

// The call that asks for it returns, so that the program can write the word.
TEST_F(MemoryWaitsTest, AFunctionOfTheHostWaits) {
  std::atomic<int> called{0};
  const auto function = [](void* count) { ++*static_cast<std::atomic<int>*>(count); };
  EXPECT_EQ(cuStreamWaitValue32(stream_, OnHost(0), 1, kEqual), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchHostFunc(stream_, function, &called), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue32(stream_, Word(1), 7, 0), CUDA_SUCCESS);
  EXPECT_EQ(SettledSoon(stream_), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(called, 0);
  host_[0] = 1;
  EXPECT_EQ(Settled(stream_), CUDA_SUCCESS);
  EXPECT_EQ(called, 1);
  EXPECT_EQ(Read(Word(1)), 7u);
}

TEST_F(MemoryWaitsTest, TheDefaultStreamHoldsStreamsThatBlock) {
  CUstream blocking = nullptr;
  ASSERT_EQ(cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue32(nullptr, OnHost(0), 1, kEqual), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(Word(1), 7, 1, blocking), CUDA_SUCCESS);
  EXPECT_EQ(SettledSoon(blocking), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(Settled(other_), CUDA_SUCCESS);
  host_[0] = 1;
  EXPECT_EQ(Settled(blocking), CUDA_SUCCESS);
  EXPECT_EQ(Settled(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(blocking), CUDA_SUCCESS);
}

// A stream that is destroyed does what it has to do.
TEST_F(MemoryWaitsTest, AStreamThatWaitsCanBeDestroyed) {
  CUstream gone = nullptr;
  CUevent end = nullptr;
  ASSERT_EQ(cuStreamCreate(&gone, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&end, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue32(gone, OnHost(0), 1, kEqual), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue32(gone, Word(1), 9, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(end, gone), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(gone), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(end), CUDA_ERROR_NOT_READY);
  host_[0] = 1;
  EXPECT_EQ(cuEventSynchronize(end), CUDA_SUCCESS);
  EXPECT_EQ(Read(Word(1)), 9u);
  EXPECT_EQ(cuEventDestroy(end), CUDA_SUCCESS);
}

// A launch waits for room where 1,020 operations wait in its stream, until some are done.
TEST_F(MemoryWaitsTest, AStreamTakesNoMoreThan1020OperationsBehindAWait) {
  EXPECT_EQ(cuStreamWaitValue32(stream_, OnHost(0), 1, kEqual), CUDA_SUCCESS);
  std::atomic<int> taken{0};
  std::thread busy([&] {
    EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    for (int i = 0; i < 1100; ++i, ++taken) {
      EXPECT_EQ(cuMemsetD32Async(Word(1), 7, 1, stream_), CUDA_SUCCESS);
    }
  });
  int before = -1;
  while (taken != before) {
    before = taken;
    std::this_thread::sleep_for(milliseconds(300));
  }
  EXPECT_EQ(before, 1020);
  EXPECT_EQ(cuMemsetD32Async(Word(2), 8, 1, other_), CUDA_SUCCESS) << "which has room";
  EXPECT_EQ(Settled(other_), CUDA_SUCCESS);
  host_[0] = 1;
  busy.join();
  EXPECT_EQ(taken, 1100);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
}

// On an H100; once, beside seven other processes there, the wait was a fault.
TEST_F(MemoryWaitsTest, AWaitNeedsToReadOnly) {
  const Mapping mapping;
  EXPECT_EQ(cuMemsetD8(mapping.address(), 0, kChunk), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  CUmemAccessDesc reading = {};
  reading.location = PinnedOn(0).location;
  reading.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  ASSERT_EQ(cuMemSetAccess(mapping.address(), kChunk, &reading, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue32(stream_, mapping.address(), 0, kEqual), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
}

// --- Faults --------------------------------------------------------------------------------------

// A fault ends the context.
using MemoryWaitFaultTest = NewProcessTest;

CUstream Begin() {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
  EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  return stream;
}

TEST_F(MemoryWaitFaultTest, ACallbackBehindAWaitIsToldOfAFault) {
  if (RanInNewProcess()) return;
  const CUstream stream = Begin();
  static const auto* const mapping = new Mapping;  // never destroyed: its context is dead
  CUdeviceptr word = 0;
  EXPECT_EQ(cuMemAlloc(&word, 64), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(word, 0, 64), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue32(stream, word, 1, 0), CUDA_SUCCESS);
  static std::atomic<int> told{-1};
  EXPECT_EQ(cuStreamAddCallback(
                stream, [](CUstream, CUresult code, void*) { told = code; }, nullptr, 0),
            CUDA_SUCCESS);
  CUmemAccessDesc reading = {};
  reading.location = PinnedOn(0).location;
  reading.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  ASSERT_EQ(cuMemSetAccess(mapping->address(), kChunk, &reading, 1), CUDA_SUCCESS);
  CUstream other = nullptr;
  EXPECT_EQ(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue32(other, mapping->address(), 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  for (int i = 0; i < 500 && told == -1; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
    cuStreamQuery(stream);
  }
  EXPECT_EQ(told, CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(MemoryWaitFaultTest, AWriteNeedsToWrite) {
  if (RanInNewProcess()) return;
  const CUstream stream = Begin();
  static const auto* const mapping = new Mapping;  // never destroyed: its context is dead
  CUmemAccessDesc reading = {};
  reading.location = PinnedOn(0).location;
  reading.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  ASSERT_EQ(cuMemSetAccess(mapping->address(), kChunk, &reading, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue32(stream, mapping->address(), 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(Settled(stream), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(MemoryWaitFaultTest, AWordIsUnmappedUnderAWait) {
  if (RanInNewProcess()) return;
  const CUstream stream = Begin();
  static const auto* const mapping = new Mapping;  // never destroyed: its context is dead
  EXPECT_EQ(cuMemsetD8(mapping->address(), 0, kChunk), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue32(stream, mapping->address(), 1, kEqual), CUDA_SUCCESS);
  EXPECT_EQ(SettledSoon(stream), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuMemUnmap(mapping->address(), kChunk), CUDA_SUCCESS);
  EXPECT_EQ(Settled(stream), CUDA_ERROR_LAUNCH_FAILED);
}

// --- Two devices ---------------------------------------------------------------------------------

using MemoryWaitsOfTwoDevicesTest = TwoDevicesTest;

TEST_F(MemoryWaitsOfTwoDevicesTest, EachSeesWhatTheOtherWrites) {
  CUmemAccessDesc both[2] = {};
  for (int i = 0; i < 2; ++i) {
    both[i].location = PinnedOn(i).location;
    both[i].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  const Mapping mapping;
  ASSERT_EQ(cuMemSetAccess(mapping.address(), kChunk, both, 2), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8(mapping.address(), 0, kChunk), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  CUstream stream = nullptr;
  CUstream other = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPushCurrent(second_), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  CUstreamBatchMemOpParams answer[] = {Wait(mapping.address(), 1), Write(mapping.address() + 8, 2)};
  EXPECT_EQ(cuStreamBatchMemOp(other, 2, answer, 0), CUDA_SUCCESS);
  EXPECT_EQ(SettledSoon(other), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuStreamWriteValue32(stream, mapping.address(), 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue32(stream, mapping.address() + 8, 2, kEqual), CUDA_SUCCESS);
  EXPECT_EQ(Settled(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(other), CUDA_SUCCESS);
  CUcontext popped = nullptr;
  EXPECT_EQ(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
