// Events of all streams of a context, and the older way to hold a context.

#include "conformance/abi/streams/memory_words.h"

namespace twinmmu::abi {
namespace {

using OfContext = Function<CUresult(CUcontext, CUevent)>;
using Attach = Function<CUresult(CUcontext*, unsigned int)>;
using Detach = Function<CUresult(CUcontext)>;
using GetAffinity = Function<CUresult(void*, int)>;
using GetSupport = Function<CUresult(int*, int, CUdevice)>;

constexpr auto kUnsupportedExecAffinity = static_cast<CUresult>(224);

class ContextEventsTest : public MemoryWordsTest {
 protected:
  void SetUp() override {
    MemoryWordsTest::SetUp();
    ASSERT_EQ(cuEventCreate(&event_, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cuEventDestroy(event_), CUDA_SUCCESS);
    MemoryWordsTest::TearDown();
  }

  CUevent event_ = nullptr;
};

TEST_F(ContextEventsTest, AnEventOfAContextComesAfterAllItsStreams) {
  EXPECT_EQ(cuStreamWaitValue32(stream_, OnHost(0), 1, kEqual), CUDA_SUCCESS);
  EXPECT_EQ(OfContext("cuCtxRecordEvent")(context_, event_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event_), CUDA_ERROR_NOT_READY);
  host_[0] = 1;
  EXPECT_EQ(cuEventSynchronize(event_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_SUCCESS);
}

TEST_F(ContextEventsTest, AllStreamsOfAContextWaitForAnEvent) {
  EXPECT_EQ(cuStreamWaitValue32(stream_, OnHost(0), 1, kEqual), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(event_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(OfContext("cuCtxWaitEvent")(context_, event_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD8Async(Word(1), 1, 4, other_), CUDA_SUCCESS);
  EXPECT_EQ(SettledSoon(other_), CUDA_ERROR_NOT_READY);
  host_[0] = 1;
  EXPECT_EQ(Settled(other_), CUDA_SUCCESS);
}

TEST_F(ContextEventsTest, NoContextMeansNotTheCurrentOne) {
  for (const char* call : {"cuCtxRecordEvent", "cuCtxWaitEvent"}) {
    EXPECT_EQ(OfContext(call)(nullptr, event_), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(OfContext(call)(context_, nullptr), CUDA_ERROR_INVALID_HANDLE);
  }
}

TEST_F(ContextEventsTest, TheContextNeedNotBeCurrent) {
  EmptyStack();
  EXPECT_EQ(OfContext("cuCtxRecordEvent")(context_, event_), CUDA_SUCCESS);
  EXPECT_EQ(OfContext("cuCtxWaitEvent")(context_, event_), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPushCurrent(context_), CUDA_SUCCESS);
}

TEST_F(ContextEventsTest, AContextRecordsItsOwnEventsAndWaitsForAny) {
  CUcontext other = nullptr;
  CUevent event = nullptr;
  ASSERT_EQ(cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&event, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  EXPECT_EQ(OfContext("cuCtxRecordEvent")(context_, event), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(OfContext("cuCtxWaitEvent")(context_, event), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
}

TEST_F(ContextEventsTest, ACaptureForbidsThem) {
  for (const char* call : {"cuCtxRecordEvent", "cuCtxWaitEvent"}) {
    CUstream stream = nullptr;
    CUgraph graph = nullptr;
    ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    EXPECT_EQ(OfContext(call)(context_, event_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
  }
}

TEST_F(ContextEventsTest, AnAttachedContextIsDestroyedByTheLastDetach) {
  CUcontext made = nullptr;
  CUcontext attached = nullptr;
  CUcontext current = nullptr;
  ASSERT_EQ(cuCtxCreate(&made, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(Attach("cuCtxAttach")(&attached, 0), CUDA_SUCCESS);
  EXPECT_EQ(attached, made);
  EXPECT_EQ(Detach("cuCtxDetach")(made), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, made);
  EXPECT_EQ(Detach("cuCtxDetach")(made), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, context_);
}

TEST_F(ContextEventsTest, AnAttachedContextIsDestroyedAllTheSame) {
  CUcontext made = nullptr;
  CUcontext attached = nullptr;
  ASSERT_EQ(cuCtxCreate(&made, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(Attach("cuCtxAttach")(&attached, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(made), CUDA_SUCCESS);
  EXPECT_EQ(Detach("cuCtxDetach")(made), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(ContextEventsTest, OnlyTheCurrentContextIsDetached) {
  CUcontext first = nullptr;
  CUcontext second = nullptr;
  ASSERT_EQ(cuCtxCreate(&first, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxCreate(&second, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(Detach("cuCtxDetach")(first), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(Detach("cuCtxDetach")(second), CUDA_SUCCESS);
  EXPECT_EQ(Detach("cuCtxDetach")(first), CUDA_SUCCESS);
}

TEST_F(ContextEventsTest, AttachTakesNoFlags) {
  CUcontext attached = nullptr;
  EXPECT_EQ(Attach("cuCtxAttach")(&attached, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Attach("cuCtxAttach")(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EmptyStack();
  EXPECT_EQ(Attach("cuCtxAttach")(&attached, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(Detach("cuCtxDetach")(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(cuCtxPushCurrent(context_), CUDA_SUCCESS);
}

TEST_F(ContextEventsTest, AContextHasAllMultiprocessors) {
  int multiprocessors = 0;
  ASSERT_EQ(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0),
            CUDA_SUCCESS);
  int affinity[2] = {-1, -1};
  EXPECT_EQ(GetAffinity("cuCtxGetExecAffinity")(affinity, 0), CUDA_SUCCESS);
  EXPECT_EQ(affinity[0], 0);
  EXPECT_EQ(affinity[1], multiprocessors);
  EXPECT_EQ(GetAffinity("cuCtxGetExecAffinity")(affinity, 1), kUnsupportedExecAffinity);
  EXPECT_EQ(GetAffinity("cuCtxGetExecAffinity")(affinity, -1), kUnsupportedExecAffinity);
  EXPECT_EQ(GetAffinity("cuCtxGetExecAffinity")(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ContextEventsTest, SupportOfAffinityIsOfADevice) {
  const GetSupport get("cuDeviceGetExecAffinitySupport");
  int supported = -1;
  EXPECT_EQ(get(&supported, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(get(nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get(&supported, 0, -1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(get(&supported, 0, 99), CUDA_ERROR_INVALID_DEVICE);
}

}  // namespace
}  // namespace twinmmu::abi
