// Nodes of graphs: what they say of themselves, and those that are made by their description.

#include <vector>

#include "gtest/gtest.h"
#include "sim/libcudart/testing/vector_kernels.h"
#include "third_party/cuda_abi/cuda_abi.h"

// That of CUDA 13.
extern "C" cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t* before, const void* data,
                                        size_t count, struct cudaGraphNodeParams* parameters);

namespace {

using twinmmu::cuda_abi::CU_LAUNCH_ATTRIBUTE_PRIORITY;
using twinmmu::cuda_abi::CUlaunchAttributeValue;

constexpr int kKernel = 0;
constexpr int kCopy = 1;
constexpr int kConditional = 13;
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

// The driver's context lies behind what the runtime describes.
TEST_F(RuntimeNodes, AConditionalNodeTellsOfItsGraphsAndNothingElse) {
  unsigned long long handle = 0;
  ASSERT_EQ(cudaGraphConditionalHandleCreate(&handle, graph_, 0, 0), cudaSuccess);
  cudaGraphNodeParams any = {};
  any.type = kConditional;
  any.of.reserved1[0] = static_cast<long long>(handle);
  any.of.reserved1[1] = 1LL << 32;  // one graph, that runs if it is not zero
  cudaGraphNode_t node = nullptr;
  ASSERT_EQ(cudaGraphAddNode(&node, graph_, nullptr, nullptr, 0, &any), cudaSuccess);
  EXPECT_NE(any.of.reserved1[2], 0);
  EXPECT_EQ(any.of.reserved1[3], 0);
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

// --- What was made of a graph

// A graph that is made once and launched after each change.
class RuntimeExecNodes : public RuntimeNodes {
 protected:
  ~RuntimeExecNodes() override {
    if (exec_ != nullptr) {
      EXPECT_EQ(cudaGraphExecDestroy(exec_), cudaSuccess);
    }
  }

  void Launch() {
    if (exec_ == nullptr) {
      ASSERT_EQ(cudaGraphInstantiateWithFlags(&exec_, graph_, 0), cudaSuccess);
    }
    EXPECT_EQ(cudaGraphLaunch(exec_, nullptr), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }

  cudaGraphExec_t exec_ = nullptr;
  cudaGraphNode_t node_ = nullptr;
};

TEST_F(RuntimeExecNodes, AKernelGetsOtherArguments) {
  ASSERT_EQ(cudaGraphAddKernelNode(&node_, graph_, nullptr, 0, &kernel_), cudaSuccess);
  Launch();
  EXPECT_EQ(First(c_), 4);
  void* const to_a[] = {&c_, &c_, &a_, &count_};
  kernel_.kernelParams = const_cast<void**>(to_a);
  EXPECT_EQ(cudaGraphExecKernelNodeSetParams(exec_, node_, &kernel_), cudaSuccess);
  Launch();
  EXPECT_EQ(First(a_), 16);
  kernel_.func = &count_;
  EXPECT_EQ(cudaGraphExecKernelNodeSetParams(exec_, node_, &kernel_),
            cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGraphExecKernelNodeSetParams(exec_, node_, nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeExecNodes, ACopyGoesElsewhere) {
  const int values[] = {2, 3};
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&node_, graph_, nullptr, 0, b_, &values[0], sizeof(int),
                                     cudaMemcpyHostToDevice),
            cudaSuccess);
  EXPECT_EQ(
      cudaGraphMemcpyNodeSetParams1D(node_, a_, &values[0], sizeof(int), cudaMemcpyHostToDevice),
      cudaSuccess);
  EXPECT_EQ(cudaGraphMemcpyNodeSetParams1D(node_, a_, &values[0], sizeof(int), 77),
            cudaErrorInvalidMemcpyDirection);
  Launch();
  EXPECT_EQ(First(a_), 2);
  EXPECT_EQ(First(b_), 1);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = {const_cast<int*>(&values[1]), sizeof(int), sizeof(int), 1};
  copy.dstPtr = {b_, sizeof(int), sizeof(int), 1};
  copy.extent = {sizeof(int), 1, 1};
  copy.kind = cudaMemcpyHostToDevice;
  EXPECT_EQ(cudaGraphExecMemcpyNodeSetParams(exec_, node_, &copy), cudaSuccess);
  Launch();
  EXPECT_EQ(First(b_), 3);
  EXPECT_EQ(cudaGraphExecMemcpyNodeSetParams(exec_, node_, nullptr), cudaErrorInvalidValue);
}

TEST_F(RuntimeExecNodes, CopiesOfVariablesGoElsewhere) {
  const int values[] = {5, 6};
  int results[2] = {};
  cudaGraphNode_t from = nullptr;
  ASSERT_EQ(cudaGraphAddMemcpyNodeToSymbol(&node_, graph_, nullptr, 0, &scale, &values[0],
                                           sizeof(int), 0, cudaMemcpyHostToDevice),
            cudaSuccess);
  ASSERT_EQ(cudaGraphAddMemcpyNodeFromSymbol(&from, graph_, &node_, 1, &results[1], &scale,
                                             sizeof(int), 0, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(cudaGraphMemcpyNodeSetParamsFromSymbol(from, &results[0], &scale, sizeof(int), 0,
                                                   cudaMemcpyDeviceToHost),
            cudaSuccess);
  Launch();
  EXPECT_EQ(results[0], 5);
  EXPECT_EQ(cudaGraphExecMemcpyNodeSetParamsToSymbol(exec_, node_, &scale, &values[1], sizeof(int),
                                                     0, cudaMemcpyHostToDevice),
            cudaSuccess);
  EXPECT_EQ(cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec_, from, &results[1], &scale,
                                                       sizeof(int), 0, cudaMemcpyDeviceToHost),
            cudaSuccess);
  Launch();
  EXPECT_EQ(results[0], 5);
  EXPECT_EQ(results[1], 6);
  EXPECT_EQ(cudaGraphExecMemcpyNodeSetParamsToSymbol(exec_, node_, &values, &values[1], sizeof(int),
                                                     0, cudaMemcpyHostToDevice),
            cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec_, from, &results[1], &values,
                                                       sizeof(int), 0, cudaMemcpyDeviceToHost),
            cudaErrorInvalidSymbol);
}

TEST_F(RuntimeNodes, KernelsHaveAttributesThatAreCopied) {
  cudaGraphNode_t node = nullptr;
  cudaGraphNode_t other = nullptr;
  ASSERT_EQ(cudaGraphAddKernelNode(&node, graph_, nullptr, 0, &kernel_), cudaSuccess);
  ASSERT_EQ(cudaGraphAddKernelNode(&other, graph_, nullptr, 0, &kernel_), cudaSuccess);
  CUlaunchAttributeValue value = {};
  int& priority = value.cooperative;  // in the same place
  EXPECT_EQ(cudaGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value),
            cudaSuccess);
  EXPECT_EQ(priority, 0);
  priority = -1;
  EXPECT_EQ(cudaGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value),
            cudaSuccess);
  EXPECT_EQ(cudaGraphKernelNodeCopyAttributes(other, node), cudaSuccess);
  priority = 0;
  EXPECT_EQ(cudaGraphKernelNodeGetAttribute(other, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value),
            cudaSuccess);
  EXPECT_EQ(priority, -1);
  EXPECT_EQ(cudaGraphKernelNodeGetAttribute(node, 100, &value), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphKernelNodeSetAttribute(node, 100, &value), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, nullptr),
            cudaErrorInvalidValue);
}

}  // namespace
