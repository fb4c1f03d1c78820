// Functions that streams call: calls that hang a driver there are refused, and the report says so.

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "api/diagnostics.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/libcuda/report/report_reader.h"
#include "sim/libcuda/tests/own_report.h"
#include "third_party/cuda_abi/cuda_abi.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace twinmmu::libcuda {

extern "C" {
CUresult cuCheckpointProcessLock(int, void*);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuEventCreate(CUevent*, unsigned int);
CUresult cuEventDestroy_v2(CUevent);
CUresult cuEventRecord(CUevent, CUstream);
CUresult cuEventSynchronize(CUevent);
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuMemAllocAsync(CUdeviceptr*, size_t, CUstream);
CUresult cuMemFreeAsync(CUdeviceptr, CUstream);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t, CUstream);
CUresult cuGraphDestroy(CUgraph);
CUresult cuGraphExecDestroy(CUgraphExec);
CUresult cuGraphInstantiateWithFlags(CUgraphExec*, CUgraph, unsigned long long);
CUresult cuGraphLaunch(CUgraphExec, CUstream);
CUresult cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode);
CUresult cuStreamEndCapture(CUstream, CUgraph*);
CUresult cuLaunchHostFunc(CUstream, void (*)(void*), void*);
CUresult cuStreamCreate(CUstream*, unsigned int);
CUresult cuStreamDestroy_v2(CUstream);
CUresult cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t);
CUresult cuStreamGetFlags(CUstream, unsigned int*);
CUresult cuStreamSynchronize(CUstream);
CUresult cuStreamWaitValue32_v2(CUstream, CUdeviceptr, uint32_t, unsigned int);
CUresult cuStreamWriteValue32_v2(CUstream, CUdeviceptr, uint32_t, unsigned int);
}

namespace {

constexpr CUresult kNotPermitted = static_cast<CUresult>(800);
constexpr CUresult kInvalidHandle = static_cast<CUresult>(400);

// What the report says of calls that functions of streams made.
std::string Reported() {
  std::string words;
  for (const ReportedDiagnostic& found : ReportedOf(DiagnosticKind::kCallInHostFunction)) {
    words += found.words;
  }
  return words;
}

class CallsOfHostFunctionsTest : public testing::Test {
 protected:
  CallsOfHostFunctionsTest() {
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc_v2(&memory_, 64), CUDA_SUCCESS);
    EXPECT_EQ(cuEventCreate(&event_, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamCreate(&stream_, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamCreate(&other_, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamCreate(&third_, 0), CUDA_SUCCESS);
  }
  ~CallsOfHostFunctionsTest() override {
    EXPECT_EQ(cuStreamDestroy_v2(third_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamDestroy_v2(other_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuEventDestroy_v2(event_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree_v2(memory_), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  }

  // What `call` gives in a function that the stream calls.
  CUresult ResultOf(std::function<CUresult()> call) {
    call_ = std::move(call);
    EXPECT_EQ(cuLaunchHostFunc(
                  stream_,
                  [](void* test) {
                    auto& self = *static_cast<CallsOfHostFunctionsTest*>(test);
                    self.result_ = self.call_();
                  },
                  this),
              CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    return result_;
  }

  CUcontext context_ = nullptr;
  CUdeviceptr memory_ = 0;
  CUevent event_ = nullptr;
  CUstream stream_ = nullptr;
  CUstream other_ = nullptr;
  CUstream third_ = nullptr;
  std::function<CUresult()> call_;
  CUresult result_ = CUDA_SUCCESS;
};

TEST_F(CallsOfHostFunctionsTest, CallsThatADriverRefusesAreReported) {
  EXPECT_EQ(ResultOf([&] { return cuMemFree_v2(memory_); }), kNotPermitted);
  EXPECT_THAT(Reported(), testing::HasSubstr("cuMemFree"));
}

TEST_F(CallsOfHostFunctionsTest, WaitsForTheirOwnStreamAreRefused) {
  EXPECT_EQ(ResultOf([&] { return cuStreamSynchronize(stream_); }), kNotPermitted);
  EXPECT_THAT(Reported(), testing::HasSubstr("cuStreamSynchronize"));
}

TEST_F(CallsOfHostFunctionsTest, WaitsForAnEventBehindThemAreRefused) {
  EXPECT_EQ(ResultOf([&] {
              EXPECT_EQ(cuEventRecord(event_, stream_), CUDA_SUCCESS);
              return cuEventSynchronize(event_);
            }),
            kNotPermitted);
  EXPECT_THAT(Reported(), testing::HasSubstr("cuEventSynchronize"));
}

TEST_F(CallsOfHostFunctionsTest, WaitsForWhatIsDoneAreAllowed) {
  EXPECT_EQ(cuEventRecord(event_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(ResultOf([&] { return cuEventSynchronize(event_); }), CUDA_SUCCESS);
}

// It may have told the thread that frees the memory.
TEST_F(CallsOfHostFunctionsTest, WhatIsAheadOfAFunctionIsOverForAllThreads) {
  CUdeviceptr memory = 0;
  std::atomic<bool> told{false};
  EXPECT_EQ(cuMemAllocAsync(&memory, 64, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(memory, 1, 64, stream_), CUDA_SUCCESS);
  EXPECT_EQ(
      cuLaunchHostFunc(
          stream_, [](void* tells) { *static_cast<std::atomic<bool>*>(tells) = true; }, &told),
      CUDA_SUCCESS);
  while (!told) std::this_thread::yield();
  EXPECT_EQ(cuMemFreeAsync(memory, other_), CUDA_SUCCESS);
  EXPECT_THAT(ReportedOf(DiagnosticKind::kUnorderedFreeInStream), testing::IsEmpty());
}

// They are of the current context, which there is none of.
TEST_F(CallsOfHostFunctionsTest, DefaultStreamsAreGivenNoWork) {
  EXPECT_EQ(ResultOf([&] { return cuEventRecord(event_, nullptr); }), kNotPermitted);
  EXPECT_THAT(Reported(), testing::HasSubstr("cuEventRecord"));
  EXPECT_EQ(ResultOf([&] {
              unsigned int flags = 0;
              return cuStreamGetFlags(nullptr, &flags);
            }),
            kNotPermitted);
}

TEST_F(CallsOfHostFunctionsTest, StreamsThatAreDestroyedAreGivenNoWork) {
  CUstream dead = nullptr;
  EXPECT_EQ(cuStreamCreate(&dead, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy_v2(dead), CUDA_SUCCESS);
  EXPECT_EQ(ResultOf([&] { return cuMemsetD8Async(memory_, 1, 64, dead); }), kInvalidHandle);
  EXPECT_EQ(ResultOf([&] { return cuEventRecord(event_, dead); }), kInvalidHandle);
}

// As it waits for the device.
TEST_F(CallsOfHostFunctionsTest, MemoryOfTheDeviceIsNotFreedInStreamOrder) {
  EXPECT_EQ(ResultOf([&] { return cuMemFreeAsync(memory_, other_); }), kNotPermitted);
}

// Here such a launch may wait for the device, too.
TEST_F(CallsOfHostFunctionsTest, GraphsThatAllocateAreNotLaunched) {
  CUdeviceptr memory = 0;
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuStreamBeginCapture_v2(other_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAllocAsync(&memory, 64, other_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(memory, other_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamEndCapture(other_, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(ResultOf([&] { return cuGraphLaunch(executable, other_); }), kNotPermitted);
  EXPECT_THAT(Reported(), testing::HasSubstr("a graph that decides something, or allocates"));
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(CallsOfHostFunctionsTest, ProcessesAreNotLocked) {
  EXPECT_EQ(ResultOf([] { return cuCheckpointProcessLock(getpid(), nullptr); }), kNotPermitted);
}

TEST_F(CallsOfHostFunctionsTest, AWaitForAnotherStreamIsAWait) {
  EXPECT_EQ(ResultOf([&] {
              EXPECT_EQ(cuMemsetD8Async(memory_, 1, 64, other_), CUDA_SUCCESS);
              return cuStreamSynchronize(other_);
            }),
            CUDA_SUCCESS);
}

TEST_F(CallsOfHostFunctionsTest, StreamsGoOnWhileAFunctionRuns) {
  std::atomic<bool> go{false};
  CUdeviceptr word = 0;
  EXPECT_EQ(cuMemAlloc_v2(&word, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8_v2(word, 0, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitValue32_v2(other_, word, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(event_, other_), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchHostFunc(
                stream_,
                [](void* goes) {
                  while (!*static_cast<std::atomic<bool>*>(goes)) std::this_thread::yield();
                },
                &go),
            CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWriteValue32_v2(third_, word, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(event_), CUDA_SUCCESS);
  go = true;
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree_v2(word), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  setenv("TWINMMU_REPORT", (testing::TempDir() + "report.jsonl").c_str(), 1);
  return RUN_ALL_TESTS();
}
