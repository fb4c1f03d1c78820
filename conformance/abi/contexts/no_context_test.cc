// Threads without a current context: their calls are in the context of the object that they name,
// and default streams have none. Source: an H200 with driver 580.159.

#include <atomic>
#include <cstdint>
#include <thread>

#include "conformance/abi/contexts/context_objects.h"

namespace twinmmu::abi {
namespace {

constexpr Function<CUresult(CUfunction, int, int)> set_attribute("cuFuncSetAttribute");
constexpr Function<CUresult(CUfunction, int)> set_cache("cuFuncSetCacheConfig");
constexpr Function<CUresult(CUfunction, int, int, int)> set_shape("cuFuncSetBlockShape");
constexpr Function<CUresult(CUdeviceptr*, size_t*, CUmodule, const char*)> get_global(
    "cuModuleGetGlobal_v2");
constexpr Function<CUresult(int*, CUfunction, int, size_t)> count_blocks(
    "cuOccupancyMaxActiveBlocksPerMultiprocessor");
constexpr int kDynamicSize = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

class WithoutContextTest : public ContextObjectsTest {
 protected:
  void SetUp() override {
    ContextObjectsTest::SetUp();
    EmptyStack();
  }
};

TEST_F(WithoutContextTest, StreamsTakeFillsAndCopies) {
  EXPECT_EQ(cuMemsetD32Async(memory_, 5, 2, stream_), CUDA_SUCCESS);
  EXPECT_EQ(FirstWord(), 5u);
  const uint32_t word = 6;
  EXPECT_EQ(cuMemcpyHtoDAsync(memory_ + 4, &word, 4, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoDAsync(memory_, memory_ + 4, 4, stream_), CUDA_SUCCESS);
  EXPECT_EQ(FirstWord(), 6u);
}

TEST_F(WithoutContextTest, CopiesBetweenPeersAreOfTheStreamsContext) {
  EXPECT_EQ(cuMemsetD32Async(memory_ + 64, 8, 1, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyPeerAsync(memory_, nullptr, memory_ + 64, nullptr, 4, stream_), CUDA_SUCCESS);
  EXPECT_EQ(FirstWord(), 8u);
}

TEST_F(WithoutContextTest, StreamsTakeKernels) {
  EXPECT_EQ(Launch(write_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(FirstWord(), static_cast<uint32_t>(kWritten));
}

TEST_F(WithoutContextTest, StreamsCallFunctions) {
  std::atomic<bool> called{false};
  const auto call = [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; };
  EXPECT_EQ(cuLaunchHostFunc(stream_, call, &called), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_TRUE(called);
}

TEST_F(WithoutContextTest, StreamsAreAsked) {
  unsigned int flags = 0;
  CUcontext context = nullptr;
  EXPECT_EQ(cuStreamGetFlags(stream_, &flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, static_cast<unsigned int>(CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(cuStreamGetCtx(stream_, &context), CUDA_SUCCESS);
  EXPECT_EQ(context, context_);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_SUCCESS);
}

TEST_F(WithoutContextTest, EventsAreRecordedAskedAndWaitedFor) {
  float milliseconds = -1;
  EXPECT_EQ(cuEventRecord(event_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(stream_, event_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(event_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event_, event_), CUDA_SUCCESS);
  EXPECT_EQ(milliseconds, 0.0f);
}

TEST_F(WithoutContextTest, StreamsAreCapturedAndTakeGraphsMadeInAContext) {
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(memory_, 9, 1, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
  EmptyStack();
  EXPECT_EQ(cuGraphLaunch(executable, stream_), CUDA_SUCCESS);
  EXPECT_EQ(FirstWord(), 9u);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(WithoutContextTest, KernelsOfLibrariesAreLaunchedAndCaptured) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUgraph graph = nullptr;
  EXPECT_EQ(load_library(&library, kText, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(get_kernel(&kernel, library, "write"), CUDA_SUCCESS);
  const auto function = reinterpret_cast<CUfunction>(kernel);
  EXPECT_EQ(Launch(function, stream_), CUDA_SUCCESS);
  EXPECT_EQ(FirstWord(), static_cast<uint32_t>(kWritten));
  EXPECT_EQ(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(Launch(function, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(unload_library(library), CUDA_SUCCESS);
}

TEST_F(WithoutContextTest, DefaultStreamsNeedOne) {
  unsigned int flags = 0;
  for (CUstream const stream : {CUstream(nullptr), CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    EXPECT_EQ(cuMemsetD32Async(memory_, 5, 2, stream), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(Launch(write_, stream), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuEventRecord(event_, stream), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(cuStreamGetFlags(stream, &flags), CUDA_ERROR_INVALID_CONTEXT);
  }
}

TEST_F(WithoutContextTest, ModulesFunctionsAndArraysAreUsed) {
  CUfunction function = nullptr;
  CUdeviceptr variable = 0;
  CUDA_ARRAY_DESCRIPTOR row = {};
  EXPECT_EQ(cuModuleGetFunction(&function, module_, "write"), CUDA_SUCCESS);
  EXPECT_EQ(Launch(function, stream_), CUDA_SUCCESS);
  EXPECT_EQ(get_global(&variable, nullptr, module_, "variable"), CUDA_SUCCESS);
  EXPECT_EQ(set_attribute(write_, kDynamicSize, 1024), CUDA_SUCCESS);
  EXPECT_EQ(set_cache(write_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuArrayGetDescriptor(&row, array_), CUDA_SUCCESS);
  EXPECT_EQ(row.Width, 64u);
}

TEST_F(WithoutContextTest, SomeCallsForFunctionsNeedOne) {
  int blocks = 0;
  EXPECT_EQ(count_blocks(&blocks, write_, 32, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(set_shape(write_, 1, 1, 1), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(WithoutContextTest, ObjectsAreDestroyed) {
  const CUDA_ARRAY_DESCRIPTOR row = {64, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1};
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUarray array = nullptr;
  CUmodule module = nullptr;
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuArrayCreate(&array, &row), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleLoadData(&module, kText), CUDA_SUCCESS);
  EmptyStack();
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(cuArrayDestroy(array), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
}

// But for copies.
TEST_F(WithoutContextTest, ADestroyedContextIsAsNone) {
  CUcontext other = nullptr;
  std::thread made([&] { EXPECT_EQ(cuCtxCreate(&other, 0, 0), CUDA_SUCCESS); });
  made.join();
  EXPECT_EQ(cuCtxSetCurrent(other), CUDA_SUCCESS);
  std::thread([&] { EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS); }).join();
  EXPECT_EQ(cuMemsetD32Async(memory_, 5, 2, stream_), CUDA_SUCCESS);
  EXPECT_EQ(Launch(write_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoDAsync(memory_, memory_ + 4, 4, stream_), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(cuMemsetD32Async(memory_, 5, 2, nullptr), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(WithoutContextTest, WhatIsNoObjectIsWhatIsWrong) {
  float milliseconds = 0;
  CUfunction function = nullptr;
  CUDA_ARRAY_DESCRIPTOR row = {};
  EXPECT_EQ(cuEventQuery(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventSynchronize(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, nullptr, event_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventRecord(nullptr, stream_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleUnload(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuModuleGetFunction(&function, nullptr, "write"), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuArrayGetDescriptor(&row, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(Launch(nullptr, stream_), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(WithoutContextTest, WhatIsNullCountsBeforeTheContext) {
  EXPECT_EQ(cuLaunchHostFunc(nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamGetFlags(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuModuleGetFunction(nullptr, module_, "write"), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace twinmmu::abi
