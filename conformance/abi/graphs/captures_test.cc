// Stream capture: what becomes a graph. Measured on an H100 with driver 580.159.

#include <thread>

#include "conformance/abi/graphs/graph_fixture.h"

namespace twinmmu::abi {
namespace {

using CapturesTest = GraphTest;
using Edges = std::vector<Edge>;
using Types = std::vector<CUgraphNodeType>;

CUresult Begin(CUstream stream, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
  return cuStreamBeginCapture(stream, mode);
}

// The graph of a capture that ends. Destroyed at the end.
class Captured {
 public:
  explicit Captured(CUstream stream) {
    EXPECT_EQ(cuStreamEndCapture(stream, &graph_), CUDA_SUCCESS);
  }
  ~Captured() { EXPECT_EQ(cuGraphDestroy(graph_), CUDA_SUCCESS); }
  CUgraph graph() const { return graph_; }

 private:
  CUgraph graph_ = nullptr;
};

void Nothing(void*) {}

CUresult EndInAnotherThread(CUcontext context, CUstream stream, CUgraph* graph) {
  CUresult ended = CUDA_SUCCESS;
  std::thread([&] {
    EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    ended = cuStreamEndCapture(stream, graph);
  }).join();
  return ended;
}

TEST_F(CapturesTest, WorkBecomesNodesAndDoesNotRun) {
  EXPECT_EQ(Begin(stream_), CUDA_SUCCESS);
  EXPECT_EQ(StatusOf(stream_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(Launch(stream_, 4), CUDA_SUCCESS);
  const Captured captured(stream_);
  EXPECT_EQ(StatusOf(stream_), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(Number(), 0u);
  Run(Instantiate(captured.graph()));
  EXPECT_EQ(Number(), 4u);
}

TEST_F(CapturesTest, EachCallIsANodeBehindTheOneBefore) {
  char host[64] = {};
  EXPECT_EQ(Begin(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(memory_, 5, 16, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoDAsync(memory_ + 64, memory_, 64, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyHtoDAsync(memory_, host, 64, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD2D8Async(memory_, 64, 1, 16, 4, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchHostFunc(stream_, Nothing, nullptr), CUDA_SUCCESS);
  const Captured captured(stream_);
  EXPECT_EQ(TypesOf(captured.graph()),
            (Types{CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMCPY,
                   CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_HOST}));
  EXPECT_EQ(EdgesOf(captured.graph()), (Edges{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}}));
}

// Though its documentation promises them only until then; clients read them.
TEST_F(CapturesTest, WhatWasToldOfItsDependenciesIsThereOnceItHasEnded) {
  EXPECT_EQ(Begin(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  uint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* told = nullptr;
  const EdgeData* data = nullptr;
  size_t count = 0;
  EXPECT_EQ(capture_info(stream_, &status, &id, &graph, &told, &data, &count), CUDA_SUCCESS);
  const Captured captured(stream_);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddEmptyNode(&node, captured.graph(), told, count), CUDA_SUCCESS);
  EXPECT_EQ(EdgesOf(captured.graph()), (Edges{{0, 1}}));
}

TEST_F(CapturesTest, NothingIsNoNode) {
  EXPECT_EQ(Begin(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoDAsync(memory_ + 64, memory_, 0, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(memory_, 1, 0, stream_), CUDA_SUCCESS);
  const Captured captured(stream_);
  EXPECT_TRUE(NodesOf(captured.graph()).empty());
}

TEST_F(CapturesTest, ACapturedLaunchKeepsItsArguments) {
  EXPECT_EQ(Begin(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Launch(stream_, 9), CUDA_SUCCESS);
  KernelOf(add_, 0, 0);
  const Captured captured(stream_);
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  EXPECT_EQ(cuGraphKernelNodeGetParams(NodesOf(captured.graph())[0], &kernel), CUDA_SUCCESS);
  ASSERT_NE(kernel.kernelParams, nullptr);
  EXPECT_EQ(*static_cast<unsigned int*>(kernel.kernelParams[1]), 9u);
}

TEST_F(CapturesTest, TheLegacyStreamIsNotCaptured) {
  CUgraph graph = nullptr;
  EXPECT_EQ(Begin(nullptr), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamEndCapture(nullptr, &graph), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(StatusOf(nullptr), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(CapturesTest, TheStreamOfTheThreadIs) {
  const auto stream = reinterpret_cast<CUstream>(2);
  EXPECT_EQ(Begin(stream), CUDA_SUCCESS);
  EXPECT_EQ(Launch(stream), CUDA_SUCCESS);
  const Captured captured(stream);
  EXPECT_EQ(NodesOf(captured.graph()).size(), 1u);
}

TEST_F(CapturesTest, AModeIsOneOfThree) {
  // The type of the modes has no such numbers.
  const Function<CUresult(CUstream, int)> begin("cuStreamBeginCapture_v2");
  for (const int mode : {3, -1}) EXPECT_EQ(begin(stream_, mode), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(StatusOf(stream_), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(CapturesTest, ACaptureBeginsAndEndsOnce) {
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(Begin(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Begin(stream_), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(StatusOf(stream_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  const Captured captured(stream_);
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_ILLEGAL_STATE);
}

TEST_F(CapturesTest, AnotherThreadEndsACaptureInVain) {
  for (const auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
    EXPECT_EQ(Begin(stream_, mode), CUDA_SUCCESS);
    CUgraph graph = nullptr;
    const CUresult ended = EndInAnotherThread(context_, stream_, &graph);
    EXPECT_EQ(ended, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) << mode;
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(StatusOf(stream_), CU_STREAM_CAPTURE_STATUS_NONE);
    EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_ILLEGAL_STATE);
  }
}

TEST_F(CapturesTest, AnyThreadEndsARelaxedCapture) {
  EXPECT_EQ(Begin(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  EXPECT_EQ(EndInAnotherThread(context_, stream_, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(CapturesTest, NothingIsToldOfAStreamThatIsNotCaptured) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  uint64_t id = 77;
  size_t count = 99;
  EXPECT_EQ(capture_info(stream_, &status, &id, nullptr, nullptr, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(id, 77u);
  EXPECT_EQ(count, 99u);
  EXPECT_EQ(capture_info(stream_, nullptr, &id, nullptr, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CapturesTest, TheGraphIsToldWhileItGrows) {
  EXPECT_EQ(Begin(stream_), CUDA_SUCCESS);
  CUstreamCaptureStatus status;
  CUgraph graph = nullptr;
  const CUgraphNode* dependencies = nullptr;
  size_t count = 99;
  EXPECT_EQ(capture_info(stream_, &status, nullptr, &graph, &dependencies, nullptr, &count),
            CUDA_SUCCESS);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  EXPECT_EQ(capture_info(stream_, &status, nullptr, &graph, &dependencies, nullptr, &count),
            CUDA_SUCCESS);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(*dependencies, NodesOf(graph)[0]);
  const Captured captured(stream_);
  EXPECT_EQ(captured.graph(), graph);
}

// --- Forks and joins -----------------------------------------------------------------------------

// The second stream waits for the first node of the first.
class ForksTest : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    if (IsSkipped()) return;
    other_ = MakeStream();
    fork_ = MakeEvent();
    join_ = MakeEvent();
  }
  void Fork() {
    EXPECT_EQ(Begin(stream_), CUDA_SUCCESS);
    EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuEventRecord(fork_, stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitEvent(other_, fork_, 0), CUDA_SUCCESS);
  }
  void Join() {
    EXPECT_EQ(cuEventRecord(join_, other_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitEvent(stream_, join_, 0), CUDA_SUCCESS);
  }
  CUresult End(CUstream stream) {
    CUgraph graph = nullptr;
    const CUresult ended = cuStreamEndCapture(stream, &graph);
    if (ended == CUDA_SUCCESS) cuGraphDestroy(graph);
    return ended;
  }

  CUstream other_ = nullptr;
  CUevent fork_ = nullptr;
  CUevent join_ = nullptr;
};

TEST_F(ForksTest, AStreamThatWaitsForACapturedEventIsCapturedToo) {
  Fork();
  EXPECT_EQ(StatusOf(other_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(Launch(other_), CUDA_SUCCESS);
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  Join();
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  const Captured captured(stream_);
  EXPECT_EQ(EdgesOf(captured.graph()), (Edges{{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
  EXPECT_EQ(StatusOf(other_), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(ForksTest, WorkThatIsNotJoinedIsAnError) {
  Fork();
  EXPECT_EQ(Launch(other_), CUDA_SUCCESS);
  EXPECT_EQ(End(stream_), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(StatusOf(stream_), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(StatusOf(other_), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(ForksTest, WorkBehindTheJoinIsNotJoined) {
  Fork();
  EXPECT_EQ(Launch(other_), CUDA_SUCCESS);
  Join();
  EXPECT_EQ(Launch(other_), CUDA_SUCCESS);
  EXPECT_EQ(End(stream_), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
}

TEST_F(ForksTest, AForkWithoutWorkNeedsNoJoin) {
  Fork();
  EXPECT_EQ(End(stream_), CUDA_SUCCESS);
  EXPECT_EQ(StatusOf(other_), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(ForksTest, AJoinMayGoThroughAThirdStream) {
  const CUstream third = MakeStream();
  const CUevent event = MakeEvent();
  Fork();
  EXPECT_EQ(Launch(other_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(join_, other_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(third, join_, 0), CUDA_SUCCESS);
  EXPECT_EQ(Launch(third), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(event, third), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(stream_, event, 0), CUDA_SUCCESS);
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  const Captured captured(stream_);
  EXPECT_EQ(EdgesOf(captured.graph()), (Edges{{0, 1}, {0, 3}, {1, 2}, {2, 3}}));
}

TEST_F(ForksTest, ACaptureEndsWhereItBegan) {
  Fork();
  EXPECT_EQ(End(other_), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  EXPECT_EQ(StatusOf(stream_), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  EXPECT_EQ(StatusOf(other_), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  EXPECT_EQ(End(stream_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(StatusOf(other_), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(ForksTest, CapturesDoNotMerge) {
  EXPECT_EQ(Begin(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Begin(other_), CUDA_SUCCESS);
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(fork_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(other_, fork_, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  EXPECT_EQ(End(stream_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(End(other_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(ForksTest, WorkOutsideIsNotWaitedFor) {
  EXPECT_EQ(cuEventRecord(fork_, other_), CUDA_SUCCESS);
  EXPECT_EQ(Begin(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(stream_, fork_, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(End(stream_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(ForksTest, AnEventThatWasNeverRecordedIsNothingToWaitFor) {
  EXPECT_EQ(Begin(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(stream_, fork_, 0), CUDA_SUCCESS);
  EXPECT_EQ(End(stream_), CUDA_SUCCESS);
}

TEST_F(ForksTest, AnEventOfAnEndedCaptureStandsForNothing) {
  Fork();
  EXPECT_EQ(End(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(fork_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventSynchronize(fork_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamWaitEvent(other_, fork_, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventRecord(fork_, other_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventSynchronize(fork_), CUDA_SUCCESS);
}

TEST_F(ForksTest, AnEventMayBeDestroyedOnceItIsWaitedFor) {
  CUevent event = nullptr;
  EXPECT_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  EXPECT_EQ(Begin(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(event, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(other_, event, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(Launch(other_), CUDA_SUCCESS);
  Join();
  const Captured captured(stream_);
  EXPECT_EQ(EdgesOf(captured.graph()), (Edges{{0, 1}}));
}

TEST_F(ForksTest, AForkedStreamThatIsDestroyedStaysUnjoined) {
  CUstream gone = nullptr;
  EXPECT_EQ(cuStreamCreate(&gone, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  Fork();
  EXPECT_EQ(cuStreamWaitEvent(gone, fork_, 0), CUDA_SUCCESS);
  EXPECT_EQ(Launch(gone), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(gone), CUDA_SUCCESS);
  EXPECT_EQ(StatusOf(stream_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(End(stream_), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
}

TEST_F(ForksTest, OtherThreadsMayGiveWork) {
  Fork();
  std::thread([&] {
    EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    EXPECT_EQ(Launch(other_), CUDA_SUCCESS);
  }).join();
  Join();
  const Captured captured(stream_);
  EXPECT_EQ(NodesOf(captured.graph()).size(), 2u);
}

TEST_F(ForksTest, ExternalEventsAreNodes) {
  EXPECT_EQ(Begin(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecordWithFlags(fork_, stream_, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(stream_, fork_, CU_EVENT_WAIT_EXTERNAL), CUDA_SUCCESS);
  const Captured captured(stream_);
  EXPECT_EQ(TypesOf(captured.graph()),
            (Types{CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_EVENT_RECORD,
                   CU_GRAPH_NODE_TYPE_WAIT_EVENT}));
}

// Source: an H200 with driver 580.159.
TEST_F(ForksTest, AnotherThreadHearsFirstWhatElseIsWrong) {
  CUgraph graph = nullptr;
  Fork();
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(EndInAnotherThread(context_, stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  Fork();
  EXPECT_EQ(Launch(other_), CUDA_SUCCESS);
  EXPECT_EQ(EndInAnotherThread(context_, stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  Fork();
  EXPECT_EQ(EndInAnotherThread(context_, stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
}

// Source: an H200 with driver 580.159.
TEST_F(ForksTest, ANodeThatTheOriginNoLongerWaitsForNeedsNoJoinByAForkWithoutWork) {
  EXPECT_EQ(Begin(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  CUstreamCaptureStatus status = {};
  const CUgraphNode* nodes = nullptr;
  const EdgeData* data = nullptr;
  size_t count = 0;
  EXPECT_EQ(capture_info(stream_, &status, nullptr, &graph, &nodes, &data, &count), CUDA_SUCCESS);
  ASSERT_EQ(count, 1u);
  const CUgraphNode first = nodes[0];
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(fork_, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(other_, fork_, 0), CUDA_SUCCESS);
  constexpr unsigned int kSet = 1;
  const Function<CUresult(CUstream, const CUgraphNode*, const EdgeData*, size_t, unsigned)>
      wait_for("cuStreamUpdateCaptureDependencies_v2");
  EXPECT_EQ(wait_for(stream_, &first, nullptr, 1, kSet), CUDA_SUCCESS);
  EXPECT_EQ(End(stream_), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
