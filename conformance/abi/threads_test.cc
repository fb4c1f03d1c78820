// Calls from many threads at once.

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 20;

// Runs body(thread) in each of several threads, with `context` current.
void InThreads(CUcontext context, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      if (context != nullptr) {
        EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
      }
      body(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Writes what only this round writes, and reads it again.
void WriteAndRead(CUdeviceptr address, int thread, int round) {
  const int written = thread * kRounds + round;
  int read = -1;
  EXPECT_EQ(cuMemcpyHtoD(address, &written, sizeof(written)), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoH(&read, address, sizeof(read)), CUDA_SUCCESS);
  EXPECT_EQ(read, written);
}

using ThreadsTest = ContextTest;

TEST_F(ThreadsTest, AllMayInitialiseAtOnce) {
  InThreads(nullptr, [](int) { EXPECT_EQ(cuInit(0), CUDA_SUCCESS); });
}

TEST_F(ThreadsTest, MapWriteAndUnmap) {
  InThreads(context_, [](int thread) {
    for (int round = 0; round < kRounds; ++round) {
      const Mapping mapping;
      WriteAndRead(mapping.address(), thread, round);
    }
  });
}

TEST_F(ThreadsTest, AllocateWriteAndFree) {
  InThreads(context_, [](int thread) {
    for (int round = 0; round < kRounds; ++round) {
      const Buffer small(100);
      const Buffer large(3 << 20);
      WriteAndRead(small.address(), thread, round);
      WriteAndRead(large.address(), thread, round);
    }
  });
}

TEST_F(ThreadsTest, AllocateHostMemory) {
  const Buffer buffer(kThreads * sizeof(int));
  InThreads(context_, [&](int thread) {
    for (int round = 0; round < kRounds; ++round) {
      void* memory = nullptr;
      unsigned int flags = 0;
      EXPECT_EQ(cuMemAllocHost(&memory, 4096), CUDA_SUCCESS);
      *static_cast<int*>(memory) = round;
      EXPECT_EQ(cuMemcpyHtoD(buffer.address() + sizeof(int) * static_cast<size_t>(thread), memory,
                             sizeof(int)),
                CUDA_SUCCESS);
      EXPECT_EQ(cuMemHostGetFlags(&flags, memory), CUDA_SUCCESS);
      EXPECT_EQ(cuMemFreeHost(memory), CUDA_SUCCESS);
    }
  });
}

TEST_F(ThreadsTest, WorkOnStreamsOfTheirOwn) {
  InThreads(context_, [](int thread) {
    const Buffer buffer(sizeof(int));
    for (int round = 0; round < kRounds; ++round) {
      CUstream stream = nullptr;
      CUevent event = nullptr;
      const int written = thread * kRounds + round;
      int read = -1;
      EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
      EXPECT_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
      EXPECT_EQ(cuMemcpyHtoDAsync(buffer.address(), &written, sizeof(int), stream), CUDA_SUCCESS);
      EXPECT_EQ(cuEventRecord(event, stream), CUDA_SUCCESS);
      EXPECT_EQ(cuStreamWaitEvent(stream, event, 0), CUDA_SUCCESS);
      EXPECT_EQ(cuMemcpyDtoHAsync(&read, buffer.address(), sizeof(int), stream), CUDA_SUCCESS);
      EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
      EXPECT_EQ(read, written);
      EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
      EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
    }
  });
}

TEST_F(ThreadsTest, CallOnOneStream) {
  CUstream stream = nullptr;
  std::atomic<int> called{0};
  EXPECT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  InThreads(context_, [&](int) {
    for (int round = 0; round < kRounds; ++round) {
      EXPECT_EQ(
          cuLaunchHostFunc(
              stream, [](void* argument) { ++*static_cast<std::atomic<int>*>(argument); }, &called),
          CUDA_SUCCESS);
    }
  });
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(called, kThreads * kRounds);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

TEST_F(ThreadsTest, CreateAndDestroyContextsOfTheirOwn) {
  constexpr int kContexts = 3;  // take long on a GPU
  InThreads(nullptr, [](int thread) {
    for (int round = 0; round < kContexts; ++round) {
      CUcontext context = nullptr;
      CUdeviceptr left_over = 0;
      EXPECT_EQ(cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
      EXPECT_EQ(cuMemAlloc(&left_over, 100), CUDA_SUCCESS);
      {
        const Mapping mapping;
        WriteAndRead(mapping.address(), thread, round);
      }
      EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
    }
  });
}

TEST_F(ThreadsTest, RetainAndReleaseOnePrimaryContext) {
  InThreads(nullptr, [this](int) {
    for (int round = 0; round < kRounds; ++round) {
      CUcontext context = nullptr;
      EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
      EXPECT_EQ(context, context_);
      EXPECT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    }
  });
}

TEST_F(ThreadsTest, AskWhileOthersMap) {
  const Mapping asked;
  InThreads(context_, [&](int thread) {
    for (int round = 0; round < kRounds; ++round) {
      unsigned int type = 0;
      size_t size = 0;
      if (thread % 2 == 0) {
        const Mapping mapping;
        continue;
      }
      EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, asked.address()),
                CUDA_SUCCESS);
      EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
      EXPECT_EQ(cuMemGetAddressRange(nullptr, &size, asked.address()), CUDA_SUCCESS);
      EXPECT_EQ(size, kChunk);
      EXPECT_GT(FreeMemory(), 0u);
    }
  });
}

}  // namespace
}  // namespace twinmmu::abi
