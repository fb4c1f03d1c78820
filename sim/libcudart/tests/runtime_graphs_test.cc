// Captures and graphs, as a program of the runtime of CUDA 13 uses them.

#include <vector>

#include "gtest/gtest.h"
#include "sim/libcudart/testing/vector_kernels.h"

// Those that differ from version to version.
extern "C" {
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, int* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** before,
                                     const void** data, size_t* count);
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, const cudaGraphNode_t* before,
                                                const void* data, size_t count, unsigned int flags);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo_st* result);
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              void* data, size_t* count);
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, const void* data, size_t count);
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, void* data,
                                         size_t* count);
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const void* data, size_t count);
}

namespace {

constexpr int kGlobal = 0;
constexpr unsigned int kSet = 1;
constexpr int kCount = 10;

class RuntimeGraphs : public testing::Test {
 protected:
  RuntimeGraphs() : module_(RegisterVectorKernels()) {
    const std::vector<int> ones(kCount, 1);
    for (void** const address : {&a_, &b_, &c_}) {
      EXPECT_EQ(cudaMalloc(address, kCount * sizeof(int)), cudaSuccess);
      EXPECT_EQ(cudaMemcpy(*address, ones.data(), kCount * sizeof(int), cudaMemcpyHostToDevice),
                cudaSuccess);
    }
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  ~RuntimeGraphs() override {
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    for (void* const address : {a_, b_, c_}) EXPECT_EQ(cudaFree(address), cudaSuccess);
    __cudaUnregisterFatBinary(module_);
    cudaGetLastError();
  }

  // c = 2 * (a + b)
  cudaError_t Launch() {
    int count = kCount;
    void* arguments[] = {&a_, &b_, &c_, &count};
    return cudaLaunchKernel(&Add, {1, 1, 1}, {32, 1, 1}, arguments, 0, stream_);
  }
  int Result() {
    int result = 0;
    EXPECT_EQ(cudaMemcpy(&result, c_, sizeof(result), cudaMemcpyDeviceToHost), cudaSuccess);
    return result;
  }
  // Once, to its end.
  void RunAndDestroy(cudaGraph_t graph) {
    cudaGraphExec_t exec = nullptr;
    ASSERT_EQ(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }

  void** const module_;
  cudaStream_t stream_ = nullptr;
  void* a_ = nullptr;
  void* b_ = nullptr;
  void* c_ = nullptr;
};

TEST_F(RuntimeGraphs, ACapturedKernelRunsWithTheGraph) {
  ASSERT_EQ(cudaStreamBeginCapture(stream_, kGlobal), cudaSuccess);
  EXPECT_EQ(Launch(), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(Result(), 1);
  RunAndDestroy(graph);
  EXPECT_EQ(Result(), 4);
}

// A node knows nothing of the cluster that is set to be required, a launch that is captured does.
TEST_F(RuntimeGraphs, ALaunchThatIsNotPossibleIsNotCaptured) {
  constexpr int kClusterDepth = 13;
  constexpr auto kInvalidClusterSize = static_cast<cudaError_t>(912);
  ASSERT_EQ(cudaFuncSetAttribute(&Add, kClusterDepth, 1), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream_, kGlobal), cudaSuccess);
  EXPECT_EQ(Launch(), kInvalidClusterSize);
  EXPECT_EQ(Launch(), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaMemsetAsync(a_, 0, 1, stream_), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaMemsetAsync(a_, 0, 0, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(stream_, nullptr, 77), cudaErrorStreamCaptureInvalidated);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
  int count = kCount;
  void* arguments[] = {&a_, &b_, &c_, &count};
  const cudaKernelNodeParams kernel = {&Add, {1, 1, 1}, {32, 1, 1}, 0, arguments, nullptr};
  cudaGraphNode_t node = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel), cudaSuccess);
  RunAndDestroy(graph);
  EXPECT_EQ(Result(), 4);
}

TEST_F(RuntimeGraphs, AnInvalidCaptureTakesTheGraphThatItGrewInWithIt) {
  cudaGraph_t graph = nullptr;
  cudaGraph_t ended = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCaptureToGraph(stream_, graph, nullptr, nullptr, 0, kGlobal),
            cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream_, &ended), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaErrorInvalidValue);
}

TEST_F(RuntimeGraphs, AModeThatIsNoneCountsBeforeAStreamThatCannotBeCaptured) {
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, 77), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, kGlobal), cudaErrorStreamCaptureUnsupported);
}

TEST_F(RuntimeGraphs, AnExternalWaitLooksAtItsEventFirst) {
  constexpr unsigned int kExternal = 1;
  EXPECT_EQ(cudaStreamWaitEvent(stream_, nullptr, kExternal), cudaErrorInvalidResourceHandle);
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(stream_, event, kExternal), cudaErrorIllegalState);
  EXPECT_EQ(cudaStreamWaitEvent(stream_, nullptr, 77), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_F(RuntimeGraphs, ACaptureIsToldAndChanged) {
  ASSERT_EQ(cudaStreamBeginCapture(stream_, kGlobal), cudaSuccess);
  EXPECT_EQ(Launch(), cudaSuccess);
  EXPECT_EQ(Launch(), cudaSuccess);
  int status = 0;
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* before = nullptr;
  const void* data = nullptr;
  size_t count = 0;
  EXPECT_EQ(cudaStreamGetCaptureInfo(stream_, &status, &id, &graph, &before, &data, &count),
            cudaSuccess);
  EXPECT_EQ(status, 1);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(cudaStreamUpdateCaptureDependencies(stream_, nullptr, nullptr, 0, kSet), cudaSuccess);
  EXPECT_EQ(Launch(), cudaSuccess);
  EXPECT_EQ(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 1u);
  std::vector<cudaGraphNode_t> nodes(3);
  count = nodes.size();
  EXPECT_EQ(cudaGraphGetNodes(graph, nodes.data(), &count), cudaSuccess);
  EXPECT_EQ(cudaGraphAddDependencies(graph, &nodes[1], &nodes[2], nullptr, 1), cudaSuccess);
  EXPECT_EQ(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 2u);
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(RuntimeGraphs, AKernelNodeHasAFunctionOfTheHost) {
  int count = kCount;
  void* arguments[] = {&a_, &b_, &c_, &count};
  cudaKernelNodeParams kernel = {};
  kernel.func = &Add;
  kernel.gridDim = {1, 1, 1};
  kernel.blockDim = {32, 1, 1};
  kernel.kernelParams = arguments;
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphAddKernelNode(&node, graph, nullptr, 0, nullptr), cudaErrorInvalidValue);
  ASSERT_EQ(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(Result(), 4);
  kernel.func = &count;
  EXPECT_EQ(cudaGraphKernelNodeSetParams(node, &kernel), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

// What is allowed of shared memory counts when the node is made.
TEST_F(RuntimeGraphs, AKernelNodeKeepsItsSharedMemory) {
  constexpr int kDynamicShared = 8;
  int count = kCount;
  void* arguments[] = {&a_, &b_, &c_, &count};
  const cudaKernelNodeParams kernel = {&Add, {1, 1, 1}, {32, 1, 1}, 1024, arguments, nullptr};
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel), cudaSuccess);
  EXPECT_EQ(cudaFuncSetAttribute(&Add, kDynamicShared, 1000), cudaSuccess);
  EXPECT_EQ(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel), cudaErrorInvalidValue);
  RunAndDestroy(graph);
  EXPECT_EQ(Result(), 4);
}

// A copy of several rows, too, if it is the same.
TEST_F(RuntimeGraphs, AnUpdateTakesABoxThatStaysAsItIs) {
  cudaMemcpy3DParms box = {};
  box.srcPtr = {a_, 4, 4, 4};
  box.dstPtr = {c_, 4, 4, 4};
  box.extent = {4, 4, 1};
  box.kind = cudaMemcpyDeviceToDevice;
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, &box), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
  long result[4] = {};  // a cudaGraphExecUpdateResultInfo
  const auto info = reinterpret_cast<cudaGraphExecUpdateResultInfo_st*>(result);
  EXPECT_EQ(cudaGraphExecUpdate(exec, graph, info), cudaSuccess);
  box.extent.height = 3;
  ASSERT_EQ(cudaGraphMemcpyNodeSetParams(node, &box), cudaSuccess);
  EXPECT_EQ(cudaGraphExecUpdate(exec, graph, info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(RuntimeGraphs, TheLastDependencyTakesThePlaceOfOneThatIsRemoved) {
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t before[3] = {};
  cudaGraphNode_t node = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  for (cudaGraphNode_t& one : before) {
    ASSERT_EQ(cudaGraphAddEmptyNode(&one, graph, nullptr, 0), cudaSuccess);
  }
  ASSERT_EQ(cudaGraphAddEmptyNode(&node, graph, before, 3), cudaSuccess);
  ASSERT_EQ(cudaGraphRemoveDependencies(graph, &before[0], &node, nullptr, 1), cudaSuccess);
  cudaGraphNode_t found[2] = {};
  size_t count = 2;
  EXPECT_EQ(cudaGraphNodeGetDependencies(node, found, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(found[0], before[2]);
  EXPECT_EQ(found[1], before[1]);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

// A node that nothing follows any more is the latest such one, and is paired first.
TEST_F(RuntimeGraphs, AnUpdatePairsTheLatestLeafFirst) {
  int count = kCount;
  void* arguments[] = {&a_, &b_, &c_, &count};
  const cudaKernelNodeParams kernel = {&Add, {1, 1, 1}, {32, 1, 1}, 0, arguments, nullptr};
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t first = nullptr;
  cudaGraphNode_t second = nullptr;
  cudaGraphNode_t behind = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &kernel), cudaSuccess);
  ASSERT_EQ(cudaGraphAddEmptyNode(&second, graph, nullptr, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphAddEmptyNode(&behind, graph, &first, 1), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroyNode(behind), cudaSuccess);
  constexpr int kTypeChanged = 3;
  long result[4] = {};  // a cudaGraphExecUpdateResultInfo
  EXPECT_EQ(
      cudaGraphExecUpdate(exec, graph, reinterpret_cast<cudaGraphExecUpdateResultInfo_st*>(result)),
      cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(static_cast<int>(result[0]), kTypeChanged);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(RuntimeGraphs, CopyNodesCopyInTheirDirection) {
  const int two = 2;
  const int three = 3;
  int result = 0;
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t nodes[3] = {};
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphAddMemcpyNode1D(&nodes[0], graph, nullptr, 0, a_, &two, sizeof(int), 9),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaGraphAddMemcpyNode1D(&nodes[0], graph, nullptr, 0, a_, &two, 0, 9),
            cudaErrorInvalidValue);
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&nodes[0], graph, nullptr, 0, a_, &two, sizeof(int),
                                     cudaMemcpyHostToDevice),
            cudaSuccess);
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&nodes[1], graph, &nodes[0], 1, c_, a_, sizeof(int),
                                     cudaMemcpyDefault),
            cudaSuccess);
  cudaMemcpy3DParms box = {};
  box.srcPtr = {c_, sizeof(int), sizeof(int), 1};
  box.dstPtr = {&result, sizeof(int), sizeof(int), 1};
  box.extent = {sizeof(int), 1, 1};
  box.kind = cudaMemcpyDeviceToHost;
  ASSERT_EQ(cudaGraphAddMemcpyNode(&nodes[2], graph, &nodes[1], 1, &box), cudaSuccess);
  EXPECT_EQ(cudaGraphAddMemcpyNode(&nodes[2], graph, nullptr, 0, nullptr), cudaErrorInvalidValue);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(result, 2);
  EXPECT_EQ(cudaGraphExecMemcpyNodeSetParams1D(exec, nodes[0], a_, &three, sizeof(int),
                                               cudaMemcpyHostToDevice),
            cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(result, 3);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(RuntimeGraphs, CopyNodesCopySomething) {
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  cudaMemcpy3DParms copy = {};
  copy.kind = static_cast<cudaMemcpyKind>(77);
  copy.extent = {1, 0, 1};
  EXPECT_EQ(cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy), cudaErrorInvalidValue);
  copy.extent = {1, 1, 1};
  EXPECT_EQ(cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(RuntimeGraphs, CopyNodesKnowVariables) {
  const int values[2] = {4, 5};
  int result = 0;
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t nodes[2] = {};
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphAddMemcpyNodeToSymbol(&nodes[0], graph, nullptr, 0, &scale, values, 100, 0,
                                           cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphAddMemcpyNodeToSymbol(&nodes[0], graph, nullptr, 0, &scale, values,
                                           sizeof(int), 0, cudaMemcpyDeviceToHost),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaGraphAddMemcpyNodeToSymbol(&nodes[0], graph, nullptr, 0, &scale, values, 100, 0,
                                           cudaMemcpyDeviceToHost),
            cudaErrorInvalidValue)
      << "the size comes before the direction";
  EXPECT_EQ(cudaGraphAddMemcpyNodeFromSymbol(&nodes[0], graph, nullptr, 0, &result, &scale, 100, 0,
                                             cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  ASSERT_EQ(cudaGraphAddMemcpyNodeToSymbol(&nodes[0], graph, nullptr, 0, &scale, values,
                                           sizeof(int), 0, cudaMemcpyHostToDevice),
            cudaSuccess);
  ASSERT_EQ(cudaGraphAddMemcpyNodeFromSymbol(&nodes[1], graph, nodes, 1, &result, &scale,
                                             sizeof(int), 0, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(cudaGraphMemcpyNodeSetParamsToSymbol(nodes[0], &scale, &values[1], sizeof(int), 0,
                                                 cudaMemcpyHostToDevice),
            cudaSuccess);
  RunAndDestroy(graph);
  EXPECT_EQ(result, 5);
}

TEST_F(RuntimeGraphs, StreamOrderedMemoryIsCaptured) {
  void* memory = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream_, kGlobal), cudaSuccess);
  EXPECT_EQ(cudaMallocAsync(&memory, kCount * sizeof(int), stream_), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(memory, a_, sizeof(int), cudaMemcpyDeviceToDevice, stream_),
            cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(c_, memory, sizeof(int), cudaMemcpyDeviceToDevice, stream_),
            cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(memory, stream_), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  const int six = 6;
  EXPECT_EQ(cudaMemcpy(a_, &six, sizeof(six), cudaMemcpyHostToDevice), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(Result(), 6);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaDeviceGraphMemTrim(0), cudaSuccess);
}

TEST_F(RuntimeGraphs, ACaptureForbidsToWait) {
  ASSERT_EQ(cudaStreamBeginCapture(stream_, kGlobal), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
}

}  // namespace
