// Nodes of graphs by the driver's C interface: what the simulator makes of them where a driver was
// not asked, or does otherwise. The simulated driver is linked in.

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/profile/profile.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace twinmmu::libcuda {

// What the backend does not call.
using CUlibrary = struct CUlib_st*;
extern "C" {
CUresult cuCtxSetLimit(int, size_t);
CUresult cuGraphCreate(CUgraph*, unsigned int);
CUresult cuGraphAddNode_v2(CUgraphNode*, CUgraph, const CUgraphNode*, const CUgraphEdgeData*,
                           size_t, CUgraphNodeParams*);
CUresult cuGraphAddChildGraphNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUgraph);
CUresult cuGraphDebugDotPrint(CUgraph, const char*, unsigned int);
CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle*, CUgraph, CUcontext, unsigned int,
                                        unsigned int);
CUresult cuGraphExecUpdate_v2(CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo*);
CUresult cuGraphInstantiateWithFlags(CUgraphExec*, CUgraph, unsigned long long);
CUresult cuGraphLaunch(CUgraphExec, CUstream);
CUresult cuGraphAddKernelNode_v2(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                                 const CUDA_KERNEL_NODE_PARAMS*);
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*);
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*);
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode, CUlaunchAttributeID,
                                       const CUlaunchAttributeValue*);
CUresult cuKernelSetAttribute(int, int, CUkernel, int);
CUresult cuGraphAddMemsetNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                              const CUDA_MEMSET_NODE_PARAMS*, CUcontext);
CUresult cuLibraryLoadData(CUlibrary*, const void*, CUjit_option*, void**, unsigned int, int*,
                           void**, unsigned int);
CUresult cuLibraryGetKernel(CUkernel*, CUlibrary, const char*);
CUresult cuMemPoolCreate(CUmemoryPool*, const CUmemPoolProps*);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr*, size_t, CUmemoryPool, CUstream);
CUresult cuMemPoolSetAccess(CUmemoryPool, const CUmemAccessDesc*, size_t);
}

namespace {

using ::testing::HasSubstr;

constexpr CUresult kInvalidValue = 1;
constexpr CUresult kUpdateFailure = 910;

constexpr char kKernels[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }\n"
    ".visible .entry little(.param .u32 argument) { ret; }\n";

// A graph, and a kernel that belongs to a library.
class NodeFunctionsTest : public testing::Test {
 protected:
  void SetUp() override {
    Process::Get().Restart(Profile::ReferenceH200(2));
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&other_, 1), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxPushCurrent_v2(context_), CUDA_SUCCESS);
    CUlibrary library = nullptr;
    ASSERT_EQ(cuLibraryLoadData(&library, kKernels, nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
    ASSERT_EQ(cuLibraryGetKernel(&kernel_, library, "nothing"), CUDA_SUCCESS);
    ASSERT_EQ(cuLibraryGetKernel(&with_argument_, library, "little"), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphCreate(&graph_, 0), CUDA_SUCCESS);
  }

  CUDA_KERNEL_NODE_PARAMS ParamsOf(unsigned int blocks) const {
    CUDA_KERNEL_NODE_PARAMS params = {};
    params.gridDimX = blocks;
    params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    params.kern = kernel_;
    return params;
  }
  CUgraphNode AddKernel(unsigned int blocks = 1) {
    const CUDA_KERNEL_NODE_PARAMS params = ParamsOf(blocks);
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddKernelNode_v2(&node, graph_, nullptr, 0, &params), CUDA_SUCCESS);
    return node;
  }

  CUcontext context_ = nullptr;
  CUcontext other_ = nullptr;  // of the second device
  CUkernel kernel_ = nullptr;
  CUkernel with_argument_ = nullptr;
  CUgraph graph_ = nullptr;
};

TEST_F(NodeFunctionsTest, AKernelOfALibraryIsToldAsItWasGiven) {
  CUDA_KERNEL_NODE_PARAMS told = {};
  EXPECT_EQ(cuGraphKernelNodeGetParams_v2(AddKernel(), &told), CUDA_SUCCESS);
  EXPECT_EQ(told.kern, kernel_);
}

TEST_F(NodeFunctionsTest, WhatWasToldOfAKernelIsOfTheArgumentsThatItHasNow) {
  uint32_t argument = 3;
  void* arguments[] = {&argument};
  CUDA_KERNEL_NODE_PARAMS params = ParamsOf(1);
  params.kern = with_argument_;
  params.kernelParams = arguments;
  CUgraphNode node = nullptr;
  ASSERT_EQ(cuGraphAddKernelNode_v2(&node, graph_, nullptr, 0, &params), CUDA_SUCCESS);
  CUDA_KERNEL_NODE_PARAMS told = {};
  ASSERT_EQ(cuGraphKernelNodeGetParams_v2(node, &told), CUDA_SUCCESS);
  argument = 9;
  EXPECT_EQ(cuGraphKernelNodeSetParams_v2(node, &params), CUDA_SUCCESS);
  EXPECT_EQ(*static_cast<uint32_t*>(told.kernelParams[0]), 9u);
}

// Kernels that are the same keep their stacks, which then are too large. A driver was asked for the
// number of blocks in one dimension.
TEST_F(NodeFunctionsTest, AnUpdateGivesTheStacksOfNowToAKernelOfAnotherShape) {
  using Params = CUDA_KERNEL_NODE_PARAMS;
  Params params = ParamsOf(1);
  CUgraphNode node = nullptr;
  ASSERT_EQ(cuGraphAddKernelNode_v2(&node, graph_, nullptr, 0, &params), CUDA_SUCCESS);
  for (unsigned int Params::*const changed :
       {&Params::gridDimX, &Params::gridDimY, &Params::gridDimZ, &Params::blockDimX,
        &Params::blockDimY, &Params::blockDimZ, &Params::sharedMemBytes}) {
    CUgraphExec executable = nullptr;
    EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph_, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 512), CUDA_SUCCESS);
    ++(params.*changed);
    EXPECT_EQ(cuGraphKernelNodeSetParams_v2(node, &params), CUDA_SUCCESS);
    CUgraphExecUpdateResultInfo info = {};
    EXPECT_EQ(cuGraphExecUpdate_v2(executable, graph_, &info), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphLaunch(executable, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  }
}

TEST_F(NodeFunctionsTest, AnUpdateMakesNoLoopOfACondition) {
  CUgraph loop = nullptr;
  ASSERT_EQ(cuGraphCreate(&loop, 0), CUDA_SUCCESS);
  const auto add = [&](CUgraph graph, CUgraphConditionalNodeType type) {
    CUgraphNodeParams params = {};
    params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    params.conditional.type = type;
    params.conditional.size = 1;
    params.conditional.ctx = context_;
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphConditionalHandleCreate(&params.conditional.handle, graph, context_, 0, 1),
              CUDA_SUCCESS);
    EXPECT_EQ(cuGraphAddNode_v2(&node, graph, nullptr, nullptr, 0, &params), CUDA_SUCCESS);
    return node;
  };
  add(graph_, CU_GRAPH_COND_TYPE_IF);
  const CUgraphNode node = add(loop, CU_GRAPH_COND_TYPE_WHILE);
  CUgraphExec executable = nullptr;
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph_, 0), CUDA_SUCCESS);
  CUgraphExecUpdateResultInfo info = {};
  EXPECT_EQ(cuGraphExecUpdate_v2(executable, loop, &info), kUpdateFailure);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
  EXPECT_EQ(info.errorNode, node);
}

// As launches may.
TEST_F(NodeFunctionsTest, AKernelMayAllowClustersOfSixteenBlocks) {
  constexpr CUresult kInvalidClusterSize = 912;
  constexpr int kNonPortable = 14;  // CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
  const CUgraphNode node = AddKernel(16);
  CUlaunchAttributeValue value = {};
  value.clusterDim = {16, 1, 1};
  EXPECT_EQ(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value),
            kInvalidClusterSize);
  ASSERT_EQ(cuKernelSetAttribute(kNonPortable, 1, kernel_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value),
            CUDA_SUCCESS);
}

// Unlike memory of cuMemAlloc, which nodes fill on any device.
TEST_F(NodeFunctionsTest, MemoryOfAPoolIsFilledWhereTheContextHasAccess) {
  CUmemPoolProps properties = {};
  properties.allocType = 1;
  properties.location = {1, 1};
  CUmemoryPool pool = nullptr;
  CUDA_MEMSET_NODE_PARAMS fill = {};
  fill.elementSize = 4;
  fill.width = 4;
  fill.height = 1;
  ASSERT_EQ(cuMemPoolCreate(&pool, &properties), CUDA_SUCCESS);
  ASSERT_EQ(cuMemAllocFromPoolAsync(&fill.dst, 64, pool, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(nullptr), CUDA_SUCCESS);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddMemsetNode(&node, graph_, nullptr, 0, &fill, context_), kInvalidValue);
  EXPECT_EQ(cuGraphAddMemsetNode(&node, graph_, nullptr, 0, &fill, other_), CUDA_SUCCESS);
  const CUmemAccessDesc access = {{1, 0}, 3};
  ASSERT_EQ(cuMemPoolSetAccess(pool, &access, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphAddMemsetNode(&node, graph_, nullptr, 0, &fill, context_), CUDA_SUCCESS);
}

// With what is in its nodes; each part ends.
TEST_F(NodeFunctionsTest, AGraphIsPrintedWithTheGraphsInside) {
  CUgraph outer = nullptr;
  CUgraphNode child = nullptr;
  AddKernel();
  ASSERT_EQ(cuGraphCreate(&outer, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphAddChildGraphNode(&child, outer, nullptr, 0, graph_), CUDA_SUCCESS);
  const std::string path = testing::TempDir() + "inside.dot";
  ASSERT_EQ(cuGraphDebugDotPrint(outer, path.c_str(), 0), CUDA_SUCCESS);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const std::string dot = text.str();
  EXPECT_THAT(dot, HasSubstr("label=\"GRAPH\""));
  EXPECT_THAT(dot, HasSubstr("label=\"KERNEL\""));
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), 3) << dot;
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '}'), 3) << dot;
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
