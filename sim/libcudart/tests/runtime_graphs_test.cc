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
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              void* data, size_t* count);
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
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(Result(), 4);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
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
  EXPECT_EQ(cudaGraphKernelNodeSetParams(node, &kernel), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST_F(RuntimeGraphs, ACaptureForbidsToWait) {
  ASSERT_EQ(cudaStreamBeginCapture(stream_, kGlobal), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
}

}  // namespace
