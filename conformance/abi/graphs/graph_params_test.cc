// What nodes are given, and what is told of them. Measured on an H100 with driver 580.159.

#include "conformance/abi/graphs/graph_fixture.h"

namespace twinmmu::abi {
namespace {

using GraphParamsTest = GraphTest;

constexpr int kCooperative = 2;
constexpr int kPriority = 8;
constexpr int kDomainMap = 9;

TEST_F(GraphParamsTest, AKernelNodeKeepsItsArguments) {
  const CUgraphNode node = AddKernel(add_, 3);
  KernelOf(add_, 0, 9);  // other arguments, where the first ones were
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  EXPECT_EQ(cuGraphKernelNodeGetParams(node, &kernel), CUDA_SUCCESS);
  ASSERT_NE(kernel.kernelParams, nullptr);
  EXPECT_EQ(*static_cast<CUdeviceptr*>(kernel.kernelParams[0]), memory_);
  EXPECT_EQ(*static_cast<unsigned int*>(kernel.kernelParams[1]), 3u);
  EXPECT_EQ(kernel.func, add_);
  EXPECT_EQ(kernel.kern, nullptr);
  EXPECT_EQ(kernel.ctx, context_);
  EXPECT_EQ(kernel.extra, nullptr);
}

TEST_F(GraphParamsTest, AKernelNodeKeepsItsShape) {
  CUDA_KERNEL_NODE_PARAMS kernel = KernelOf(add_, memory_, 1);
  kernel.gridDimX = 2;
  kernel.gridDimY = 3;
  kernel.gridDimZ = 4;
  kernel.blockDimX = 5;
  kernel.blockDimY = 6;
  kernel.blockDimZ = 7;
  kernel.sharedMemBytes = 96;
  CUgraphNode node = nullptr;
  ASSERT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &kernel), CUDA_SUCCESS);
  CUDA_KERNEL_NODE_PARAMS found = {};
  EXPECT_EQ(cuGraphKernelNodeGetParams(node, &found), CUDA_SUCCESS);
  EXPECT_EQ(found.gridDimX, 2u);
  EXPECT_EQ(found.gridDimY, 3u);
  EXPECT_EQ(found.gridDimZ, 4u);
  EXPECT_EQ(found.blockDimX, 5u);
  EXPECT_EQ(found.blockDimY, 6u);
  EXPECT_EQ(found.blockDimZ, 7u);
  EXPECT_EQ(found.sharedMemBytes, 96u);
}

TEST_F(GraphParamsTest, ArgumentsInABufferAreToldAsABuffer) {
  struct {
    CUdeviceptr to;
    unsigned int value;
  } buffer = {memory_, 5};
  size_t size = 12;
  void* extra[] = {reinterpret_cast<void*>(1), &buffer, reinterpret_cast<void*>(2), &size, nullptr};
  CUDA_KERNEL_NODE_PARAMS kernel = KernelOf(add_, memory_, 0);
  kernel.kernelParams = nullptr;
  kernel.extra = extra;
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &kernel), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphKernelNodeGetParams(node, &kernel), CUDA_SUCCESS);
  EXPECT_EQ(kernel.kernelParams, nullptr);
  EXPECT_NE(kernel.extra, nullptr);
  Run(Instantiate());
  EXPECT_EQ(Number(), 5u);
}

TEST_F(GraphParamsTest, ArgumentsAreNotNull) {
  CUDA_KERNEL_NODE_PARAMS params = KernelOf(add_, memory_, 1);
  void* arguments[] = {nullptr, nullptr};
  params.kernelParams = arguments;
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphParamsTest, TheKernelOfAFunctionIsTold) {
  const Function<CUresult(void**, const void*, void*, void*, unsigned, void*, void*, unsigned)>
      load("cuLibraryLoadData");
  void* library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  ASSERT_EQ(load(&library, ".version 7.0\n.target sm_70\n.address_size 64\n.entry k() { ret; }\n",
                 nullptr, nullptr, 0, nullptr, nullptr, 0),
            CUDA_SUCCESS);
  ASSERT_EQ((Function<CUresult(CUkernel*, void*, const char*)>("cuLibraryGetKernel")(&kernel,
                                                                                     library, "k")),
            CUDA_SUCCESS);
  ASSERT_EQ((Function<CUresult(CUfunction*, CUkernel)>("cuKernelGetFunction")(&function, kernel)),
            CUDA_SUCCESS);
  CUDA_KERNEL_NODE_PARAMS given = KernelOf(function, 0, 0);
  given.kernelParams = nullptr;
  CUgraphNode node = nullptr;
  CUDA_KERNEL_NODE_PARAMS found = {};
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &given), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphKernelNodeGetParams(node, &found), CUDA_SUCCESS);
  EXPECT_EQ(found.func, function);
  EXPECT_EQ(found.kern, kernel);
  // A function is taken for a kernel, which it is not.
  given = KernelOf(nullptr, memory_, 1);
  given.kern = reinterpret_cast<CUkernel>(add_);
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &given), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphKernelNodeGetParams(node, &found), CUDA_SUCCESS);
  EXPECT_EQ(found.func, add_);
  EXPECT_EQ(found.kern, nullptr);
  EXPECT_EQ(Function<CUresult(void*)>("cuLibraryUnload")(library), CUDA_SUCCESS);
}

TEST_F(GraphParamsTest, AKernelNodeHasAFunction) {
  CUgraphNode node = nullptr;
  const CUDA_KERNEL_NODE_PARAMS kernel = KernelOf(nullptr, memory_, 1);
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &kernel), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphParamsTest, ArgumentsMayNotBeMissing) {
  CUgraphNode node = nullptr;
  CUDA_KERNEL_NODE_PARAMS kernel = KernelOf(add_, memory_, 1);
  kernel.kernelParams = nullptr;
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &kernel), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphParamsTest, TheShapeOfALaunchIsCheckedWithTheNode) {
  const auto refused = [&](auto change) {
    CUDA_KERNEL_NODE_PARAMS kernel = KernelOf(add_, memory_, 1);
    change(kernel);
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddKernelNode(&node, graph_, nullptr, 0, &kernel), CUDA_ERROR_INVALID_VALUE);
  };
  refused([](auto& kernel) { kernel.gridDimX = 0; });
  refused([](auto& kernel) { kernel.blockDimX = 0; });
  refused([](auto& kernel) { kernel.blockDimX = 1025; });
  refused([](auto& kernel) { kernel.gridDimY = 70000; });
  refused([](auto& kernel) { kernel.sharedMemBytes = 1 << 20; });
  EXPECT_TRUE(NodesOf(graph_).empty());
}

TEST_F(GraphParamsTest, AFillIsToldAsItWasGiven) {
  CUDA_MEMSET_NODE_PARAMS fill = FillOf(memory_, 0x1234, 4);
  fill.elementSize = 1;
  const CUgraphNode node = AddFill(fill);
  CUDA_MEMSET_NODE_PARAMS told = {};
  EXPECT_EQ(cuGraphMemsetNodeGetParams(node, &told), CUDA_SUCCESS);
  EXPECT_EQ(told.value, 0x1234u);
  EXPECT_EQ(told.dst, memory_);
  EXPECT_EQ(told.width, 4u);
  EXPECT_EQ(told.height, 1u);
}

TEST_F(GraphParamsTest, FillsThatAreNotPossibleAreNoNodes) {
  const auto refused = [&](auto change) {
    CUDA_MEMSET_NODE_PARAMS fill = FillOf(memory_, 1, 4);
    change(fill);
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddMemsetNode(&node, graph_, nullptr, 0, &fill, context_),
              CUDA_ERROR_INVALID_VALUE);
  };
  refused([](auto& fill) { fill.elementSize = 0; });
  refused([](auto& fill) { fill.elementSize = 3; });
  refused([](auto& fill) { fill.elementSize = 8; });
  refused([](auto& fill) { fill.width = 0; });
  refused([](auto& fill) { fill.height = 0; });
  refused([](auto& fill) { fill.dst += 1; });
  refused([](auto& fill) { fill.dst = 0; });
  refused([](auto& fill) { fill.width = size_t{1} << 34; });
  refused([](auto& fill) {
    fill.height = 2;
    fill.pitch = 8;
  });
}

TEST_F(GraphParamsTest, ACopyIsToldAsItWasGiven) {
  const CUDA_MEMCPY3D copy = CopyOf(memory_, memory_ + 64, 16);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddMemcpyNode(&node, graph_, nullptr, 0, &copy, context_), CUDA_SUCCESS);
  CUDA_MEMCPY3D told = {};
  EXPECT_EQ(cuGraphMemcpyNodeGetParams(node, &told), CUDA_SUCCESS);
  EXPECT_EQ(told.dstDevice, memory_);
  EXPECT_EQ(told.srcDevice, memory_ + 64);
  EXPECT_EQ(told.WidthInBytes, 16u);
  EXPECT_EQ(told.srcPitch, 0u);
}

TEST_F(GraphParamsTest, CopiesThatAreNotPossibleAreNoNodes) {
  const auto refused = [&](auto change) {
    CUDA_MEMCPY3D copy = CopyOf(memory_, memory_ + 64, 16);
    change(copy);
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddMemcpyNode(&node, graph_, nullptr, 0, &copy, context_),
              CUDA_ERROR_INVALID_VALUE);
  };
  refused([](auto& copy) { copy.WidthInBytes = 0; });
  refused([](auto& copy) { copy.Height = 0; });
  refused([](auto& copy) { copy.dstDevice = 0; });
  refused([](auto& copy) { copy.WidthInBytes = size_t{1} << 34; });
  refused([](auto& copy) { copy.srcMemoryType = static_cast<CUmemorytype>(9); });
}

TEST_F(GraphParamsTest, ParametersAreOfOneType) {
  const CUgraphNode empty = AddEmpty();
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  CUDA_MEMSET_NODE_PARAMS fill = {};
  CUDA_MEMCPY3D copy = {};
  EXPECT_EQ(cuGraphKernelNodeGetParams(empty, &kernel), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphMemsetNodeGetParams(empty, &fill), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphMemcpyNodeGetParams(AddKernel(add_, 1), &copy), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphParamsTest, AHostNodeHasAFunction) {
  const CUDA_HOST_NODE_PARAMS call = {nullptr, nullptr};
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddHostNode(&node, graph_, nullptr, 0, &call), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphParamsTest, EventNodesHaveAnEvent) {
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddEventRecordNode(&node, graph_, nullptr, 0, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddEventWaitNode(&node, graph_, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddEventRecordNode(&node, graph_, nullptr, 0, MakeEvent()), CUDA_SUCCESS);
}

TEST_F(GraphParamsTest, OnlyKnownAttributesAreKept) {
  const CUgraphNode node = AddKernel(add_, 1);
  NodeAttributeValue value = {};
  for (const int unknown : {0, 3, 6, 7, 11, 12, 15, 17, 18}) {
    EXPECT_EQ(get_node_attribute(node, unknown, &value), CUDA_ERROR_INVALID_VALUE) << unknown;
    EXPECT_EQ(set_node_attribute(node, unknown, &value), CUDA_ERROR_INVALID_VALUE) << unknown;
  }
  EXPECT_EQ(get_node_attribute(node, kDomainMap, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.domains[1], 1);
  value = {};
  value.cooperative = 1;
  EXPECT_EQ(set_node_attribute(node, kCooperative, &value), CUDA_SUCCESS);
  value = {};
  EXPECT_EQ(get_node_attribute(node, kCooperative, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.cooperative, 1);
}

TEST_F(GraphParamsTest, AttributesAreCopiedToAnotherNode) {
  const CUgraphNode from = AddKernel(add_, 1);
  const CUgraphNode to = AddKernel(add_, 1);
  NodeAttributeValue value = {};
  value.priority = -3;
  EXPECT_EQ(set_node_attribute(from, kPriority, &value), CUDA_SUCCESS);
  value.priority = 0;
  EXPECT_EQ(copy_node_attributes(to, from), CUDA_SUCCESS);
  EXPECT_EQ(get_node_attribute(to, kPriority, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.priority, -3);
}

TEST_F(GraphParamsTest, AttributesAreCopiedBetweenKernels) {
  const CUgraphNode kernel = AddKernel(add_, 1);
  const CUgraphNode empty = AddEmpty();
  EXPECT_EQ(copy_node_attributes(kernel, empty), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(copy_node_attributes(empty, kernel), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(copy_node_attributes(kernel, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(copy_node_attributes(nullptr, kernel), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphParamsTest, APriorityStaysInItsRange) {
  const CUgraphNode node = AddKernel(add_, 1);
  NodeAttributeValue value = {};
  value.priority = -20;
  EXPECT_EQ(set_node_attribute(node, kPriority, &value), CUDA_SUCCESS);
  EXPECT_EQ(get_node_attribute(node, kPriority, &value), CUDA_SUCCESS);
  EXPECT_EQ(value.priority, -5);
}

}  // namespace
}  // namespace twinmmu::abi
