// Streams, events, and functions that streams call on the host.

#include <thread>
#include <utility>

#include "conformance/abi/abi_fixtures.h"

namespace twinmmu::abi {
namespace {

class StreamsTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    ASSERT_EQ(cuStreamCreate(&stream_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuEventCreate(&event_, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuEventDestroy(event_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamDestroy(stream_), CUDA_SUCCESS);
    ContextTest::TearDown();
  }

  CUstream stream_ = nullptr;
  CUevent event_ = nullptr;
};

// --- Streams -------------------------------------------------------------------------------------

TEST_F(StreamsTest, FlagsMustBeKnown) {
  CUstream stream = nullptr;
  EXPECT_EQ(cuStreamCreate(&stream, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamCreate(nullptr, 2), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(StreamsTest, FlagsAreKept) {
  CUstream other = nullptr;
  unsigned int flags = 9;
  EXPECT_EQ(cuStreamGetFlags(stream_, &flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, unsigned{CU_STREAM_DEFAULT});
  EXPECT_EQ(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamGetFlags(other, &flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, unsigned{CU_STREAM_NON_BLOCKING});
  EXPECT_EQ(cuStreamDestroy(other), CUDA_SUCCESS);
}

TEST_F(StreamsTest, PrioritiesAreBroughtIntoTheirRange) {
  for (const auto& [asked, given] : {std::pair(-1, -1), std::pair(-100, -5), std::pair(100, 0)}) {
    CUstream stream = nullptr;
    int priority = 9;
    EXPECT_EQ(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, asked), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamGetPriority(stream, &priority), CUDA_SUCCESS);
    EXPECT_EQ(priority, given);
    EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
  }
}

TEST_F(StreamsTest, HaveIdentitiesOfTheirOwn) {
  unsigned long long id = 0;
  unsigned long long of_default = 0;
  unsigned long long of_legacy = 0;
  unsigned long long of_thread = 0;
  EXPECT_EQ(cuStreamGetId(stream_, &id), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamGetId(nullptr, &of_default), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamGetId(CU_STREAM_LEGACY, &of_legacy), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamGetId(CU_STREAM_PER_THREAD, &of_thread), CUDA_SUCCESS);
  EXPECT_EQ(of_default, of_legacy);
  EXPECT_NE(of_legacy, of_thread);
  EXPECT_NE(id, of_legacy);
  EXPECT_NE(id, of_thread);
}

TEST_F(StreamsTest, NullIsTheStreamOfTheThreadInTheFormsForIt) {
  const Function<CUresult(CUstream, unsigned long long*)> get_id("cuStreamGetId_ptsz");
  unsigned long long of_null = 0;
  unsigned long long of_thread = 1;
  EXPECT_EQ(get_id(nullptr, &of_null), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamGetId(CU_STREAM_PER_THREAD, &of_thread), CUDA_SUCCESS);
  EXPECT_EQ(of_null, of_thread);
}

// Which can be captured, as the legacy one cannot.
TEST_F(StreamsTest, TheStreamOfTheThreadIsCapturedAsNull) {
  const Function<CUresult(CUstream, CUstreamCaptureMode)> begin("cuStreamBeginCapture_v2_ptsz");
  const Function<CUresult(CUdeviceptr, unsigned char, size_t, CUstream)> fill(
      "cuMemsetD8Async_ptsz");
  const Function<CUresult(CUstream, CUgraph*)> end("cuStreamEndCapture_ptsz");
  const Buffer buffer(16);
  ASSERT_EQ(begin(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(fill(buffer.address(), 1, 16, nullptr), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  EXPECT_EQ(end(nullptr, &graph), CUDA_SUCCESS);
  size_t nodes = 0;
  EXPECT_EQ(cuGraphGetNodes(graph, nullptr, &nodes), CUDA_SUCCESS);
  EXPECT_EQ(nodes, 1u);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(StreamsTest, AreOfTheirContext) {
  CUcontext context = nullptr;
  EXPECT_EQ(cuStreamGetCtx(stream_, &context), CUDA_SUCCESS);
  EXPECT_EQ(context, context_);
  EXPECT_EQ(cuStreamGetCtx(nullptr, &context), CUDA_SUCCESS);
  EXPECT_EQ(context, context_);
}

TEST_F(StreamsTest, WorkFromOtherContexts) {
  const Buffer buffer(100);
  CUcontext other = nullptr;
  CUcontext context = nullptr;
  int value = 0;
  EXPECT_EQ(cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoHAsync(&value, buffer.address(), 4, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamGetCtx(stream_, &context), CUDA_SUCCESS);
  EXPECT_EQ(context, context_);
  EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
}

TEST_F(StreamsTest, AreNotCapturing) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  EXPECT_EQ(cuStreamIsCapturing(stream_, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(StreamsTest, DefaultOnesAreUsedAndNotDestroyed) {
  unsigned int flags = 9;
  EXPECT_EQ(cuStreamGetFlags(nullptr, &flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, 0u);
  EXPECT_EQ(cuStreamGetFlags(CU_STREAM_PER_THREAD, &flags), CUDA_SUCCESS);
  EXPECT_EQ(flags, 0u);
  EXPECT_EQ(cuStreamQuery(CU_STREAM_LEGACY), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy(CU_STREAM_LEGACY), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamDestroy(CU_STREAM_PER_THREAD), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(StreamsTest, NullResultsAreRefused) {
  EXPECT_EQ(cuStreamGetFlags(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

// --- Events --------------------------------------------------------------------------------------

TEST_F(StreamsTest, EventFlagsMustBeKnown) {
  CUevent event = nullptr;
  EXPECT_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(cuEventCreate(&event, 0x80), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventCreate(nullptr, 0x80), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE)
      << "shared ones have no time";
}

TEST_F(StreamsTest, NullEventsAreRefused) {
  EXPECT_EQ(cuEventRecord(nullptr, stream_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventQuery(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventSynchronize(nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuStreamWaitEvent(stream_, nullptr, 0), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(StreamsTest, TimeIsBetweenRecordedEvents) {
  CUevent end = nullptr;
  float milliseconds = -1;
  EXPECT_EQ(cuEventCreate(&end, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event_, end), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(milliseconds, -1);
  EXPECT_EQ(cuEventRecord(event_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(end, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event_, end), CUDA_SUCCESS);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(cuEventDestroy(end), CUDA_SUCCESS);
}

TEST_F(StreamsTest, EventsWithoutTimingHaveNoTime) {
  CUevent untimed = nullptr;
  float milliseconds = -1;
  EXPECT_EQ(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(event_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(untimed, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(&milliseconds, event_, untimed), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventDestroy(untimed), CUDA_SUCCESS);
}

TEST_F(StreamsTest, TimeWithoutAResultIsAnInvalidHandle) {
  EXPECT_EQ(cuEventElapsedTime(nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuEventRecord(event_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(event_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventElapsedTime(nullptr, event_, event_), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(StreamsTest, WaitingOutsideIsForCapturesOnly) {
  EXPECT_EQ(cuStreamWaitEvent(stream_, event_, CU_EVENT_WAIT_EXTERNAL), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuStreamWaitEvent(stream_, event_, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWaitEvent(stream_, nullptr, 8), CUDA_ERROR_INVALID_VALUE)
      << "flags are looked at first";
}

TEST_F(StreamsTest, RecordingOutsideIsForCapturesOnly) {
  EXPECT_EQ(cuEventRecordWithFlags(event_, stream_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecordWithFlags(event_, stream_, 1), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuEventRecordWithFlags(event_, stream_, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventRecordWithFlags(nullptr, stream_, 4), CUDA_ERROR_INVALID_HANDLE)
      << "the event is looked at first";
}

TEST_F(StreamsTest, EventsAreRecordedInTheirContextAndWaitedForInAll) {
  EXPECT_EQ(cuEventRecord(event_, stream_), CUDA_SUCCESS);
  CUcontext other = nullptr;
  EXPECT_EQ(cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(nullptr, event_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(event_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(event_, nullptr), CUDA_ERROR_INVALID_HANDLE) << "the stream is another's";
  EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
}

// --- Functions of the host -----------------------------------------------------------------------

TEST_F(StreamsTest, CallHostFunctions) {
  int called = 0;
  EXPECT_EQ(cuLaunchHostFunc(
                stream_, [](void* argument) { ++*static_cast<int*>(argument); }, &called),
            CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(called, 1);
}

TWINMMU_ANY_TYPES void CountSuccess(CUstream, CUresult result, void* argument) {
  *static_cast<int*>(argument) += result == CUDA_SUCCESS ? 1 : 0;
}

TEST_F(StreamsTest, CallBack) {
  int called = 0;
  EXPECT_EQ(cuStreamAddCallback(stream_, CountSuccess, &called, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(called, 1);
}

TEST_F(StreamsTest, HostFunctionsMustBeThere) {
  EXPECT_EQ(cuLaunchHostFunc(stream_, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamAddCallback(stream_, nullptr, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamAddCallback(stream_, CountSuccess, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
}

// --- Capture -------------------------------------------------------------------------------------

TEST_F(StreamsTest, AThreadExchangesItsCaptureMode) {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
  std::thread([] {
    CUstreamCaptureMode other = CU_STREAM_CAPTURE_MODE_GLOBAL;
    EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&other), CUDA_SUCCESS);
    EXPECT_EQ(other, CU_STREAM_CAPTURE_MODE_GLOBAL) << "of another thread";
  }).join();
  mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

// No driver looks whether there is such a mode.
TEST_F(StreamsTest, AnyCaptureModeIsTaken) {
  const Function<CUresult(int*)> exchange("cuThreadExchangeStreamCaptureMode");
  int mode = -1;
  EXPECT_EQ(exchange(&mode), CUDA_SUCCESS);
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(exchange(&mode), CUDA_SUCCESS);
  EXPECT_EQ(mode, -1);
}

}  // namespace
}  // namespace twinmmu::abi
