// Functions of the program that streams call: when, in which thread, and what they may call.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "conformance/abi/streams/memory_words.h"

namespace twinmmu::abi {
namespace {

class HostFunctionsTest : public MemoryWordsTest {
 protected:
  // Lets `stream` call `function`, which must stay there until it is called.
  static void Call(CUstream stream, std::function<void()>& function) {
    const auto call = [](void* called) { (*static_cast<std::function<void()>*>(called))(); };
    EXPECT_EQ(cuLaunchHostFunc(stream, call, &function), CUDA_SUCCESS);
  }
  // The same, and waits for it.
  static void CallNow(CUstream stream, std::function<void()> function) {
    Call(stream, function);
    EXPECT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  }
};

// --- When, and where -----------------------------------------------------------------------------

TEST_F(HostFunctionsTest, TheCallDoesNotWaitForTheFunction) {
  std::atomic<bool> returned{false};
  std::function<void()> function = [&] {
    while (!returned) std::this_thread::yield();
  };
  Call(stream_, function);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  returned = true;
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
}

TEST_F(HostFunctionsTest, WhatIsBehindAFunctionWaitsForIt) {
  std::atomic<bool> go{false};
  std::function<void()> function = [&] {
    while (!go) std::this_thread::yield();
  };
  Call(stream_, function);
  EXPECT_EQ(cuMemsetD8Async(words_, 7, 4, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Read(words_), 0u);
  go = true;
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Read(words_), 0x07070707u);
}

TEST_F(HostFunctionsTest, TheCallerMayHoldALockThatTheFunctionTakes) {
  std::mutex mutex;
  bool called = false;
  std::function<void()> function = [&] {
    const std::lock_guard lock(mutex);
    called = true;
  };
  {
    const std::lock_guard lock(mutex);
    Call(stream_, function);
    EXPECT_EQ(SettledSoon(stream_), CUDA_ERROR_NOT_READY);
    EXPECT_EQ(Read(words_), 0u);  // waits for another stream
    EXPECT_FALSE(called);
  }
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_TRUE(called);
}

TEST_F(HostFunctionsTest, OneThreadCallsThoseOfAllStreams) {
  std::thread::id first;
  std::thread::id second;
  CallNow(stream_, [&] { first = std::this_thread::get_id(); });
  CallNow(other_, [&] { second = std::this_thread::get_id(); });
  EXPECT_EQ(first, second);
  EXPECT_NE(first, std::this_thread::get_id());
}

TEST_F(HostFunctionsTest, AFunctionHoldsUpThoseOfOtherStreams) {
  std::atomic<bool> go{false};
  std::atomic<bool> called{false};
  std::function<void()> waits = [&] {
    while (!go) std::this_thread::yield();
  };
  std::function<void()> other = [&] { called = true; };
  Call(stream_, waits);
  Call(other_, other);
  EXPECT_EQ(SettledSoon(other_), CUDA_ERROR_NOT_READY);
  EXPECT_FALSE(called);
  go = true;
  EXPECT_EQ(cuStreamSynchronize(other_), CUDA_SUCCESS);
  EXPECT_TRUE(called);
}

TEST_F(HostFunctionsTest, ThoseOfADestroyedStreamAreCalled) {
  CUstream stream = nullptr;
  std::atomic<bool> go{false};
  std::atomic<bool> called{false};
  std::function<void()> function = [&] {
    while (!go) std::this_thread::yield();
    called = true;
  };
  EXPECT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  Call(stream, function);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_FALSE(called);
  go = true;
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_TRUE(called);
}

// --- What they may call --------------------------------------------------------------------------

TEST_F(HostFunctionsTest, NearlyNothingMayBeCalled) {
  std::map<std::string, CUresult> results;
  CallNow(stream_, [&] {
    int count = 0;
    size_t free = 0;
    size_t total = 0;
    char name[64] = {};
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUdeviceptr address = 0;
    CUmemGenericAllocationHandle handle = 0;
    CUevent event = nullptr;
    CUstream stream = nullptr;
    CUgraph graph = nullptr;
    const CUmemAllocationProp prop = PinnedOn(0);
    results["cuDeviceGetCount"] = cuDeviceGetCount(&count);
    results["cuDeviceGetName"] = cuDeviceGetName(name, sizeof(name), 0);
    results["cuCtxGetCurrent"] = cuCtxGetCurrent(&context);
    results["cuCtxSetCurrent"] = cuCtxSetCurrent(context_);
    results["cuCtxGetDevice"] = cuCtxGetDevice(&device);
    results["cuCtxSynchronize"] = cuCtxSynchronize();
    results["cuMemAlloc"] = cuMemAlloc(&address, 64);
    results["cuMemFree"] = cuMemFree(words_);
    results["cuMemGetInfo"] = cuMemGetInfo(&free, &total);
    results["cuMemCreate"] = cuMemCreate(&handle, kChunk, &prop, 0);
    results["cuMemAddressReserve"] = cuMemAddressReserve(&address, kChunk, 0, 0, 0);
    results["cuMemUnmap"] = cuMemUnmap(words_, kChunk);
    results["cuMemRelease"] = cuMemRelease(handle);
    results["cuMemsetD8"] = cuMemsetD8(words_, 1, 4);
    results["cuStreamCreate"] = cuStreamCreate(&stream, 0);
    results["cuEventCreate"] = cuEventCreate(&event, 0);
    results["cuGraphCreate"] = cuGraphCreate(&graph, 0);
  });
  for (const auto& [name, result] : results) EXPECT_EQ(result, CUDA_ERROR_NOT_PERMITTED) << name;
  EXPECT_EQ(results.size(), 17u);
  EXPECT_EQ(Read(words_), 0u);
}

TEST_F(HostFunctionsTest, StreamsMayBeAskedAndGivenWork) {
  std::map<std::string, CUresult> results;
  CUevent event = nullptr;
  std::function<void()> none = [] {};
  EXPECT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  CallNow(stream_, [&] {
    int version = 0;
    unsigned int flags = 0;
    results["cuDriverGetVersion"] = cuDriverGetVersion(&version);
    results["cuStreamQuery"] = cuStreamQuery(other_);
    results["cuStreamGetFlags"] = cuStreamGetFlags(other_, &flags);
    results["cuEventQuery"] = cuEventQuery(event);
    results["cuEventRecord"] = cuEventRecord(event, other_);
    results["cuStreamWaitEvent"] = cuStreamWaitEvent(other_, event, 0);
    results["cuMemsetD8Async"] = cuMemsetD8Async(words_, 7, 4, other_);
    Call(other_, none);
  });
  for (const auto& [name, result] : results) EXPECT_EQ(result, CUDA_SUCCESS) << name;
  EXPECT_EQ(cuStreamSynchronize(other_), CUDA_SUCCESS);
  EXPECT_EQ(Read(words_), 0x07070707u);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
}

TEST_F(HostFunctionsTest, StreamsTakeNoKernelsCopiesOrAllocations) {
  constexpr char kText[] =
      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }\n";
  std::map<std::string, CUresult> results;
  CUmodule module = nullptr;
  CUfunction nothing = nullptr;
  EXPECT_EQ(cuModuleLoadData(&module, kText), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetFunction(&nothing, module, "nothing"), CUDA_SUCCESS);
  CallNow(stream_, [&] {
    const Function<CUresult(CUdeviceptr*, size_t, CUstream)> allocate("cuMemAllocAsync");
    uint32_t word = 5;
    CUdeviceptr address = 0;
    results["cuLaunchKernel"] =
        cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, other_, nullptr, nullptr);
    results["cuMemcpyHtoDAsync"] = cuMemcpyHtoDAsync(words_, &word, 4, other_);
    results["cuMemcpyDtoDAsync"] = cuMemcpyDtoDAsync(words_, words_ + 8, 4, other_);
    results["cuMemcpyPeerAsync"] =
        cuMemcpyPeerAsync(words_, context_, words_ + 8, context_, 4, other_);
    results["cuMemAllocAsync"] = allocate(&address, 64, other_);
  });
  for (const auto& [name, result] : results) EXPECT_EQ(result, CUDA_ERROR_NOT_PERMITTED) << name;
  EXPECT_EQ(results.size(), 5u);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

TEST_F(HostFunctionsTest, GraphsMayBeLaunchedOnStreamsThatWereCreated) {
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuStreamBeginCapture(other_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(words_, 9, 4, other_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamEndCapture(other_, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
  CallNow(stream_, [&] {
    EXPECT_EQ(cuGraphLaunch(executable, nullptr), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_EQ(cuGraphLaunch(executable, other_), CUDA_SUCCESS);
  });
  EXPECT_EQ(cuStreamSynchronize(other_), CUDA_SUCCESS);
  EXPECT_EQ(Read(words_), 0x09090909u);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(HostFunctionsTest, DefaultStreamsAreNotPermittedBeforeTheySpoilACapture) {
  CUgraph graph = nullptr;
  CUevent event = nullptr;
  CUstream blocking = nullptr;
  EXPECT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  CallNow(stream_, [&] {
    EXPECT_EQ(cuMemsetD8Async(words_, 9, 4, nullptr), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_EQ(cuEventRecord(event, nullptr), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_PERMITTED);
  });
  EXPECT_EQ(cuStreamEndCapture(blocking, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(blocking), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
}

TEST_F(HostFunctionsTest, StreamsThatWereCreatedMayBeCaptured) {
  CUgraph graph = nullptr;
  CallNow(stream_, [&] {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_EQ(cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED),
              CUDA_ERROR_NOT_PERMITTED);
    EXPECT_EQ(cuStreamIsCapturing(nullptr, &status), CUDA_ERROR_NOT_PERMITTED);
    EXPECT_EQ(cuStreamBeginCapture(other_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD8Async(words_, 9, 4, other_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamEndCapture(other_, &graph), CUDA_SUCCESS);
  });
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(Read(words_), 0u);
}

TEST_F(HostFunctionsTest, ObjectsMayBeDestroyedAndArraysAsked) {
  const CUDA_ARRAY_DESCRIPTOR row = {64, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1};
  CUarray array = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  EXPECT_EQ(cuArrayCreate(&array, &row), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  CallNow(stream_, [&] {
    CUDA_ARRAY_DESCRIPTOR told = {};
    EXPECT_EQ(cuArrayGetDescriptor(&told, array), CUDA_SUCCESS);
    EXPECT_EQ(told.Width, 64u);
    EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
    EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
    EXPECT_EQ(cuEventQuery(nullptr), CUDA_ERROR_INVALID_HANDLE);
  });
  EXPECT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
