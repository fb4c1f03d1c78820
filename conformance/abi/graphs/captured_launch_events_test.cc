// Events that captured launches record: what waits for one depends on the node by an edge with
// data. The codes and edges are those of an H200 with driver 580.159.

#include <tuple>
#include <utility>
#include <vector>

#include "conformance/abi/graphs/graph_fixture.h"
#include "conformance/abi/streams/launch_events.h"

namespace twinmmu::abi {
namespace {

using Data = std::tuple<int, int, int>;  // the ports and the type of an edge
constexpr CUstreamCaptureMode kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

const Data kWhole = {0, 0, 0};
const Data kTriggered = {1, 0, 1};
const Data kStarted = {2, 0, 1};
const Data kOrdered = {2, 0, 0};

class CapturedLaunchEventsTest : public LaunchEventsTest {
 protected:
  // The other stream joins the first one, whose capture ends: the data of its edges.
  std::vector<Data> EndedEdges() {
    CUevent joined = nullptr;
    CUgraph graph = nullptr;
    EXPECT_EQ(cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    EXPECT_EQ(cuEventRecord(joined, other_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitEvent(stream_, joined, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
    EXPECT_EQ(cuEventDestroy(joined), CUDA_SUCCESS);
    Nodes from(8);
    Nodes to(8);
    EdgeData data[8] = {};
    size_t count = 8;
    EXPECT_EQ(get_edges(graph, from.data(), to.data(), data, &count), CUDA_SUCCESS);
    std::vector<Data> edges;
    for (size_t i = 0; i < count; ++i) {
      edges.emplace_back(data[i].from_port, data[i].to_port, data[i].type);
    }
    CUgraphExec executable = nullptr;
    EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), CUDA_SUCCESS);
    LetEnd();
    EXPECT_EQ(cuGraphLaunch(executable, stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
    return edges;
  }
};
using Edges = std::vector<Data>;

TEST_F(CapturedLaunchEventsTest, AKernelThatWaitsForOneDependsOnLessThanTheKernel) {
  for (const auto& [event, data] :
       {std::pair(Programmatic(event_, 0), kTriggered),
        std::pair(Programmatic(event_, 1), kStarted), std::pair(Completion(event_), kOrdered)}) {
    ASSERT_EQ(cuStreamBeginCapture(stream_, kRelaxed), CUDA_SUCCESS);
    EXPECT_EQ(Launch(ends_, stream_, {event}), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitEvent(other_, event_, 0), CUDA_SUCCESS);
    EXPECT_EQ(Launch(ends_, other_, {}), CUDA_SUCCESS);
    EXPECT_EQ(EndedEdges(), Edges{data});
  }
}

TEST_F(CapturedLaunchEventsTest, SoDoesWorkThatIsNoKernel) {
  ASSERT_EQ(cuStreamBeginCapture(stream_, kRelaxed), CUDA_SUCCESS);
  EXPECT_EQ(Launch(ends_, stream_, {Programmatic(event_)}), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(other_, event_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(Word(0), 1, 1, other_), CUDA_SUCCESS);
  EXPECT_EQ(EndedEdges(), Edges{kTriggered});
}

TEST_F(CapturedLaunchEventsTest, OfTwoEventsOfANodeTheOneThatWaitsForMoreCounts) {
  const EventAttribute triggered = Programmatic(event_);
  const EventAttribute started = Programmatic(event_, 1);
  const EventAttribute ordered = Completion(event_);
  for (const auto& [first, second, data] :
       {std::tuple(triggered, ordered, kTriggered), std::tuple(ordered, triggered, kTriggered),
        std::tuple(started, ordered, kStarted), std::tuple(ordered, started, kStarted)}) {
    EventAttribute other = second;
    other.event = second_;
    ASSERT_EQ(cuStreamBeginCapture(stream_, kRelaxed), CUDA_SUCCESS);
    EXPECT_EQ(Launch(ends_, stream_, {first, other}), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitEvent(other_, event_, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitEvent(other_, second_, 0), CUDA_SUCCESS);
    EXPECT_EQ(Launch(ends_, other_, {}), CUDA_SUCCESS);
    EXPECT_EQ(EndedEdges(), Edges{data});
  }
}

TEST_F(CapturedLaunchEventsTest, WhoWaitsForTheKernelTooDependsOnAllOfIt) {
  for (const bool kernel_first : {false, true}) {
    ASSERT_EQ(cuStreamBeginCapture(stream_, kRelaxed), CUDA_SUCCESS);
    EXPECT_EQ(Launch(ends_, stream_, {Completion(event_)}), CUDA_SUCCESS);
    EXPECT_EQ(cuEventRecord(second_, stream_), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitEvent(other_, kernel_first ? second_ : event_, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuStreamWaitEvent(other_, kernel_first ? event_ : second_, 0), CUDA_SUCCESS);
    EXPECT_EQ(Launch(ends_, other_, {}), CUDA_SUCCESS);
    EXPECT_EQ(EndedEdges(), Edges{kWhole});
  }
}

TEST_F(CapturedLaunchEventsTest, SerializationDecidesForItself) {
  ASSERT_EQ(cuStreamBeginCapture(stream_, kRelaxed), CUDA_SUCCESS);
  EXPECT_EQ(Launch(ends_, stream_, {Completion(event_)}), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(other_, event_, 0), CUDA_SUCCESS);
  EXPECT_EQ(Launch(ends_, other_, {Serialization()}), CUDA_SUCCESS);
  EXPECT_EQ(EndedEdges(), Edges{kTriggered});
}

TEST_F(CapturedLaunchEventsTest, TheDataIsToldOfTheStreamThatWaits) {
  ASSERT_EQ(cuStreamBeginCapture(stream_, kRelaxed), CUDA_SUCCESS);
  EXPECT_EQ(Launch(ends_, stream_, {Completion(event_)}), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(other_, event_, 0), CUDA_SUCCESS);
  CUstreamCaptureStatus status;
  const CUgraphNode* nodes = nullptr;
  const EdgeData* data = nullptr;
  size_t count = 0;
  EXPECT_EQ(capture_info(other_, &status, nullptr, nullptr, &nodes, &data, &count), CUDA_SUCCESS);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(Data(data->from_port, data->to_port, data->type), kOrdered);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(CapturedLaunchEventsTest, ARefusedEventLeavesTheCaptureAsItWas) {
  ASSERT_EQ(cuStreamBeginCapture(stream_, kRelaxed), CUDA_SUCCESS);
  EXPECT_EQ(Launch(ends_, stream_, {Completion(timed_)}), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(Launch(ends_, stream_, {Completion(event_, kExternal)}), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(Launch(ends_, stream_, {Programmatic(event_, 0, 2)}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Launch(ends_, stream_, {Programmatic(nullptr)}), CUDA_ERROR_INVALID_HANDLE);
  CUgraph graph = nullptr;
  size_t count = 0;
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphGetNodes(graph, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(CapturedLaunchEventsTest, AnEventThatStandsForANodeIsNotAskedAfter) {
  ASSERT_EQ(cuStreamBeginCapture(stream_, kRelaxed), CUDA_SUCCESS);
  EXPECT_EQ(Launch(ends_, stream_, {Completion(event_)}), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(event_), CUDA_ERROR_CAPTURED_EVENT);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CapturedLaunchEventsTest, ALaunchThatIsNotCapturedTakesTheEventBack) {
  ASSERT_EQ(cuStreamBeginCapture(stream_, kRelaxed), CUDA_SUCCESS);
  EXPECT_EQ(Launch(ends_, stream_, {Completion(event_)}), CUDA_SUCCESS);
  EXPECT_EQ(Launch(ends_, other_, {Completion(event_)}), CUDA_SUCCESS);
  EXPECT_EQ(Reached(event_), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(CapturedLaunchEventsTest, ANodeMayBeSaidNotToBeUpdatable) {
  constexpr int kDeviceUpdatable = 13;  // CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE
  ASSERT_EQ(cuStreamBeginCapture(stream_, kRelaxed), CUDA_SUCCESS);
  EXPECT_EQ(Launch(ends_, stream_, {{kDeviceUpdatable, 0, nullptr, 0, 0, {}}}), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(CapturedLaunchEventsTest, NodesHaveNoEvents) {
  ASSERT_EQ(cuStreamBeginCapture(stream_, kRelaxed), CUDA_SUCCESS);
  EXPECT_EQ(Launch(ends_, stream_, {Completion(event_), Programmatic(second_)}), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  CUgraphNode node = nullptr;
  size_t count = 1;
  ASSERT_EQ(cuGraphGetNodes(graph, &node, &count), CUDA_SUCCESS);
  using Attribute = Function<CUresult(CUgraphNode, int, void*)>;
  for (const int id : {kProgrammaticEvent, kCompletionEvent}) {
    uint64_t value[8] = {};
    EXPECT_EQ(Attribute("cuGraphKernelNodeGetAttribute")(node, id, value),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(Attribute("cuGraphKernelNodeSetAttribute")(node, id, value),
              CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
