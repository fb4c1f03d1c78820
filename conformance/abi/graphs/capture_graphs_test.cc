// Captures into graphs that the program has, and what a program changes while it captures. Measured
// on an H100 with driver 580.159.

#include "conformance/abi/graphs/graph_fixture.h"

namespace twinmmu::abi {
namespace {

using CaptureGraphsTest = GraphTest;
using Edges = std::vector<Edge>;

const Function<CUresult(CUstream, CUgraph, const CUgraphNode*, const EdgeData*, size_t,
                        CUstreamCaptureMode)>
    begin_to_graph("cuStreamBeginCaptureToGraph");
const Function<CUresult(CUstream, const CUgraphNode*, const EdgeData*, size_t, unsigned int)>
    update_dependencies("cuStreamUpdateCaptureDependencies_v2");

constexpr unsigned int kAdd = 0;
constexpr unsigned int kSet = 1;
constexpr CUstreamCaptureMode kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;

// The graph that grows, and what the next node of the stream will wait for.
CUgraph GraphOf(CUstream stream) {
  CUstreamCaptureStatus status;
  CUgraph graph = nullptr;
  EXPECT_EQ(capture_info(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr),
            CUDA_SUCCESS);
  return graph;
}
Nodes DependenciesOf(CUstream stream) {
  CUstreamCaptureStatus status;
  const CUgraphNode* nodes = nullptr;
  const EdgeData* data = nullptr;
  size_t count = 0;
  EXPECT_EQ(capture_info(stream, &status, nullptr, nullptr, &nodes, &data, &count), CUDA_SUCCESS);
  return Nodes(nodes, nodes + count);
}

TEST_F(CaptureGraphsTest, ACaptureGoesOnBehindNodesOfAGraph) {
  const CUgraphNode a = AddEmpty();
  AddEmpty({a});
  EXPECT_EQ(begin_to_graph(stream_, graph_, &a, nullptr, 1, kGlobal), CUDA_SUCCESS);
  EXPECT_EQ(DependenciesOf(stream_), Nodes{a});
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  EXPECT_EQ(graph, graph_);
  EXPECT_EQ(EdgesOf(graph_), (Edges{{0, 1}, {0, 2}}));
}

TEST_F(CaptureGraphsTest, ItsNodesAreOfTheGraph) {
  const CUgraphNode there = AddEmpty(MakeGraph());
  EXPECT_EQ(begin_to_graph(stream_, nullptr, nullptr, nullptr, 0, kGlobal),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(begin_to_graph(stream_, graph_, &there, nullptr, 1, kGlobal), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(begin_to_graph(stream_, graph_, nullptr, nullptr, 1, kGlobal),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(begin_to_graph(nullptr, graph_, nullptr, nullptr, 0, kGlobal),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(StatusOf(stream_), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(CaptureGraphsTest, AStreamWhoseDependenciesWereSetNeedNotJoin) {
  const CUstream other = MakeStream();
  CUevent event = nullptr;
  CUgraph graph = nullptr;
  EXPECT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBeginCapture(stream_, kGlobal), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(event, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(other, event, 0), CUDA_SUCCESS);
  EXPECT_EQ(Launch(other), CUDA_SUCCESS);
  const Nodes nodes = DependenciesOf(other);
  EXPECT_EQ(update_dependencies(other, nodes.data(), nullptr, nodes.size(), kSet), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuEventDestroy(event), CUDA_SUCCESS);
}

TEST_F(CaptureGraphsTest, DependenciesAreAddedAndSet) {
  EXPECT_EQ(cuStreamBeginCapture(stream_, kGlobal), CUDA_SUCCESS);
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  const Nodes nodes = NodesOf(GraphOf(stream_));
  EXPECT_EQ(update_dependencies(stream_, &nodes[0], nullptr, 1, kAdd), CUDA_SUCCESS);
  EXPECT_EQ(DependenciesOf(stream_), (Nodes{nodes[1], nodes[0]}));
  const Nodes twice = {nodes[0], nodes[0]};
  EXPECT_EQ(update_dependencies(stream_, twice.data(), nullptr, 2, kSet), CUDA_SUCCESS);
  EXPECT_EQ(DependenciesOf(stream_), Nodes{nodes[0]});
  EXPECT_EQ(update_dependencies(stream_, nullptr, nullptr, 0, kSet), CUDA_SUCCESS);
  EXPECT_TRUE(DependenciesOf(stream_).empty());
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  EXPECT_EQ(EdgesOf(GraphOf(stream_)), (Edges{{0, 1}}));
  EXPECT_EQ(update_dependencies(stream_, &nodes[1], nullptr, 1, kAdd), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamEndCapture(stream_, nullptr), CUDA_SUCCESS);
}

TEST_F(CaptureGraphsTest, WrongDependenciesChangeNothing) {
  const CUgraphNode there = AddEmpty();
  EXPECT_EQ(update_dependencies(stream_, &there, nullptr, 1, kAdd), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuStreamBeginCapture(stream_, kGlobal), CUDA_SUCCESS);
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  const Nodes before = DependenciesOf(stream_);
  EXPECT_EQ(update_dependencies(stream_, &there, nullptr, 1, kSet), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(update_dependencies(stream_, nullptr, nullptr, 1, kSet), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(update_dependencies(stream_, &before[0], nullptr, 1, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(DependenciesOf(stream_), before);
  EXPECT_EQ(cuStreamEndCapture(stream_, nullptr), CUDA_SUCCESS);
}

TEST_F(CaptureGraphsTest, AGraphThatGrowsIsNotDestroyed) {
  EXPECT_EQ(cuStreamBeginCapture(stream_, kGlobal), CUDA_SUCCESS);
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  const CUgraph graph = GraphOf(stream_);
  EXPECT_EQ(cuGraphDestroyNode(NodesOf(graph)[0]), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_ERROR_ILLEGAL_STATE);
  AddEmpty(graph);  // but it may grow otherwise
  CUgraph ended = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &ended), CUDA_SUCCESS);
  EXPECT_EQ(NodesOf(ended).size(), 2u);
  EXPECT_EQ(cuGraphDestroy(ended), CUDA_SUCCESS);
}

TEST_F(CaptureGraphsTest, AGraphWhoseChildGrowsIsNotDestroyed) {
  if (!TraitsOf().survives_bad_pointers) GTEST_SKIP() << "this driver may end the process";
  const CUgraph parent = MakeGraph();
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddChildGraphNode(&node, parent, nullptr, 0, graph_), CUDA_SUCCESS);
  CUgraph child = nullptr;
  EXPECT_EQ(cuGraphChildGraphNodeGetGraph(node, &child), CUDA_SUCCESS);
  EXPECT_EQ(begin_to_graph(stream_, child, nullptr, nullptr, 0, kGlobal), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(parent), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuGraphDestroyNode(node), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  CUgraph ended = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &ended), CUDA_SUCCESS);
  EXPECT_EQ(ended, child);
}

TEST_F(CaptureGraphsTest, ACaptureOfTheStreamOfAThreadGoesWithItsContext) {
  CUcontext context = nullptr;
  EXPECT_EQ(cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBeginCapture(reinterpret_cast<CUstream>(2), kGlobal), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc(&memory, 64), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(CaptureGraphsTest, DataOfDependenciesIsNotLost) {
  const EdgeData programmatic = {1, 0, 1, {}};
  EXPECT_EQ(cuStreamBeginCapture(stream_, kGlobal), CUDA_SUCCESS);
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  const Nodes nodes = DependenciesOf(stream_);
  EXPECT_EQ(update_dependencies(stream_, nodes.data(), &programmatic, 1, kSet), CUDA_SUCCESS);
  CUstreamCaptureStatus status;
  const CUgraphNode* told = nullptr;
  size_t count = 0;
  EXPECT_EQ(capture_info(stream_, &status, nullptr, nullptr, &told, nullptr, &count),
            static_cast<CUresult>(402));  // CUDA_ERROR_LOSSY_QUERY
  EXPECT_EQ(Launch(stream_), CUDA_SUCCESS);
  const CUgraph graph = GraphOf(stream_);
  Nodes from(1);
  Nodes to(1);
  EdgeData data = {};
  count = 1;
  EXPECT_EQ(get_edges(graph, from.data(), to.data(), &data, &count), CUDA_SUCCESS);
  EXPECT_EQ(data.type, programmatic.type);
  EXPECT_EQ(cuStreamEndCapture(stream_, nullptr), CUDA_SUCCESS);
}

TEST_F(CaptureGraphsTest, ACaptureGoesWithItsStream) {
  CUstream stream = nullptr;
  EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBeginCapture(stream, kGlobal), CUDA_SUCCESS);
  EXPECT_EQ(Launch(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);  // which a capture would forbid
}

TEST_F(CaptureGraphsTest, WhatIsMissingDoesNotMakeTheCaptureInvalid) {
  EXPECT_EQ(cuStreamBeginCapture(stream_, kGlobal), CUDA_SUCCESS);
  EXPECT_EQ(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream_, nullptr, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLaunchKernel(add_, 1, 1, 1, 1, 1, 1, 0, stream_, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD32Async(memory_ + 1, 1, 4, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoDAsync(memory_, nullptr, 4, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuEventRecord(nullptr, stream_), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(StatusOf(stream_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(cuStreamWaitEvent(stream_, nullptr, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(StatusOf(stream_), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  EXPECT_EQ(cuStreamEndCapture(stream_, nullptr), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureGraphsTest, AChildGraphIsItsParents) {
  const CUgraph child = MakeGraph();
  AddKernel(child, add_, 1);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddChildGraphNode(&node, graph_, nullptr, 0, child), CUDA_SUCCESS);
  CUgraph inside = nullptr;
  EXPECT_EQ(cuGraphChildGraphNodeGetGraph(node, &inside), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, inside, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuGraphDestroy(inside), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CaptureGraphsTest, AnExecutableCopyKeepsItsShape) {
  CUDA_MEMCPY3D copy = CopyOf(memory_ + 256, memory_, 64);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddMemcpyNode(&node, graph_, nullptr, 0, &copy, context_), CUDA_SUCCESS);
  const CUgraphExec executable = Instantiate();
  copy = CopyOf(memory_ + 512, memory_, 128);
  EXPECT_EQ(cuGraphExecMemcpyNodeSetParams(executable, node, &copy, context_), CUDA_SUCCESS);
  copy.Height = 2;
  copy.srcPitch = copy.dstPitch = 256;
  copy.srcHeight = copy.dstHeight = 2;
  EXPECT_EQ(cuGraphExecMemcpyNodeSetParams(executable, node, &copy, context_),
            CUDA_ERROR_INVALID_VALUE);
  char host[64] = {};
  copy = CopyOf(memory_, 0, sizeof(host));
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host;
  EXPECT_EQ(cuGraphExecMemcpyNodeSetParams(executable, node, &copy, context_),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace twinmmu::abi
