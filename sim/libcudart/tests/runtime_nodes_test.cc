// Nodes of graphs: what they say of themselves, and those that are made by their description.

#include <vector>

#include "gtest/gtest.h"
#include "sim/libcudart/testing/vector_kernels.h"

// That of CUDA 13.
extern "C" cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t* before, const void* data,
                                        size_t count, struct cudaGraphNodeParams* parameters);

namespace {

constexpr int kKernel = 0;
constexpr int kCopy = 1;
constexpr int kCount = 10;
constexpr size_t kSize = kCount * sizeof(int);

// A graph, and three vectors of ones.
class RuntimeNodes : public testing::Test {
 protected:
  RuntimeNodes() : module_(RegisterVectorKernels()) {
    const std::vector<int> ones(kCount, 1);
    for (void** const address : {&a_, &b_, &c_}) {
      EXPECT_EQ(cudaMalloc(address, kSize), cudaSuccess);
      EXPECT_EQ(cudaMemcpy(*address, ones.data(), kSize, cudaMemcpyHostToDevice), cudaSuccess);
    }
    EXPECT_EQ(cudaGraphCreate(&graph_, 0), cudaSuccess);
    kernel_.func = reinterpret_cast<void*>(&Add);
    kernel_.gridDim = {1, 1, 1};
    kernel_.blockDim = {32, 1, 1};
    kernel_.kernelParams = arguments_;
  }
  ~RuntimeNodes() override {
    EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
    for (void* const address : {a_, b_, c_}) EXPECT_EQ(cudaFree(address), cudaSuccess);
    __cudaUnregisterFatBinary(module_);
    cudaGetLastError();
  }

  void Run() {
    cudaGraphExec_t exec = nullptr;
    ASSERT_EQ(cudaGraphInstantiateWithFlags(&exec, graph_, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  }
  int First(const void* vector) {
    int first = 0;
    EXPECT_EQ(cudaMemcpy(&first, vector, sizeof(first), cudaMemcpyDeviceToHost), cudaSuccess);
    return first;
  }

  void** const module_;
  cudaGraph_t graph_ = nullptr;
  void* a_ = nullptr;
  void* b_ = nullptr;
  void* c_ = nullptr;
  int count_ = kCount;
  // c = 2 * (a + b)
  void* arguments_[4] = {&a_, &b_, &c_, &count_};
  cudaKernelNodeParams kernel_ = {};
};

TEST_F(RuntimeNodes, AKernelIsToldByItsFunctionOnTheHost) {
  cudaGraphNode_t node = nullptr;
  ASSERT_EQ(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &kernel_), cudaSuccess);
  cudaKernelNodeParams found = {};
  ASSERT_EQ(cudaGraphKernelNodeGetParams(node, &found), cudaSuccess);
  EXPECT_EQ(found.func, kernel_.func);
  EXPECT_EQ(found.blockDim.x, 32u);
  EXPECT_EQ(*static_cast<void**>(found.kernelParams[2]), c_);
  EXPECT_EQ(cudaGraphKernelNodeGetParams(node, nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeNodes, ACopyIsToldAsItWasDescribed) {
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = {a_, 8, 8, 2};
  copy.dstPtr = {c_, 8, 8, 2};
  copy.srcPos = {4, 1, 0};
  copy.extent = {4, 1, 1};
  copy.kind = cudaMemcpyDeviceToDevice;
  cudaGraphNode_t node = nullptr;
  ASSERT_EQ(cudaGraphAddMemcpyNode(&node, graph_, nullptr, 0, &copy), cudaSuccess);
  cudaMemcpy3DParms found = {};
  ASSERT_EQ(cudaGraphMemcpyNodeGetParams(node, &found), cudaSuccess);
  EXPECT_EQ(found.srcPtr.ptr, a_);
  EXPECT_EQ(found.dstPtr.ptr, c_);
  EXPECT_EQ(found.srcPos.x, 4u);
  EXPECT_EQ(found.srcPos.y, 1u);
  EXPECT_EQ(found.extent.width, 4u);
  EXPECT_EQ(found.kind, cudaMemcpyDeviceToDevice);
}

TEST_F(RuntimeNodes, AKernelAndACopyAreMadeByTheirDescriptions) {
  cudaGraphNodeParams any = {};
  any.type = kKernel;
  any.of.kernel = kernel_;
  cudaGraphNode_t kernel = nullptr;
  ASSERT_EQ(cudaGraphAddNode(&kernel, graph_, nullptr, nullptr, 0, &any), cudaSuccess);
  any = {};
  any.type = kCopy;
  any.of.memcpy.copyParams.srcPtr = {c_, kSize, kSize, 1};
  any.of.memcpy.copyParams.dstPtr = {a_, kSize, kSize, 1};
  any.of.memcpy.copyParams.extent = {kSize, 1, 1};
  any.of.memcpy.copyParams.kind = cudaMemcpyDefault;
  cudaGraphNode_t copy = nullptr;
  ASSERT_EQ(cudaGraphAddNode(&copy, graph_, &kernel, nullptr, 1, &any), cudaSuccess);
  Run();
  EXPECT_EQ(First(a_), 4);
}

TEST_F(RuntimeNodes, AnUnknownKernelIsRefused) {
  cudaGraphNodeParams any = {};
  any.type = kKernel;
  any.of.kernel = kernel_;
  any.of.kernel.func = &any;
  cudaGraphNode_t node = nullptr;
  EXPECT_EQ(cudaGraphAddNode(&node, graph_, nullptr, nullptr, 0, &any),
            cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGraphAddNode(&node, graph_, nullptr, nullptr, 0, nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeNodes, AKernelIsChangedInTheGraphAndInWhatWasMadeOfIt) {
  cudaGraphNode_t node = nullptr;
  ASSERT_EQ(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &kernel_), cudaSuccess);
  cudaGraphNodeParams any = {};
  any.type = kKernel;
  any.of.kernel = kernel_;
  void* const to_a[] = {&a_, &b_, &a_, &count_};
  any.of.kernel.kernelParams = const_cast<void**>(to_a);
  EXPECT_EQ(cudaGraphNodeSetParams(node, &any), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiateWithFlags(&exec, graph_, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  EXPECT_EQ(First(a_), 4);
  any.of.kernel.kernelParams = arguments_;
  EXPECT_EQ(cudaGraphExecNodeSetParams(exec, node, &any), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  EXPECT_EQ(First(c_), 10);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
}

}  // namespace
