// Launches of executable graphs that fault, most of them as stacks are smaller since. Measured on
// an H200 with driver 580.159.

#include "conformance/abi/graphs/graph_fixture.h"

namespace twinmmu::abi {
namespace {

const Function<CUresult(CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*)> set_kernel(
    "cuGraphKernelNodeSetParams_v2");
constexpr CUresult kLaunchFailed = static_cast<CUresult>(719);

constexpr char kKernels[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry stop() { trap; }
)";

// A kernel in an executable graph, made while a thread has a stack of 1024 bytes. A fault ends the
// context, so each test is a process.
class GraphFaultsTest : public NewProcessTest {
 protected:
  void Make() {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
    CUmodule module = nullptr;
    ASSERT_EQ(cuModuleLoadData(&module, kKernels), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&stop_, module, "stop"), CUDA_SUCCESS);
    ASSERT_EQ(cuModuleGetFunction(&params_.func, module, "nothing"), CUDA_SUCCESS);
    params_.gridDimX = params_.gridDimY = params_.gridDimZ = 1;
    params_.blockDimX = params_.blockDimY = params_.blockDimZ = 1;
    ASSERT_EQ(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphCreate(&graph_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphAddKernelNode(&node_, graph_, nullptr, 0, &params_), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphInstantiateWithFlags(&executable_, graph_, 0), CUDA_SUCCESS);
  }
  static void SetStacks(size_t bytes) {
    EXPECT_EQ(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, bytes), CUDA_SUCCESS);
  }
  // A fill of 4096 bytes at most, whose height is left to say.
  static CUDA_MEMSET_NODE_PARAMS Rows() {
    CUDA_MEMSET_NODE_PARAMS rows = {};
    EXPECT_EQ(cuMemAlloc(&rows.dst, 4096), CUDA_SUCCESS);
    rows.elementSize = 4;
    rows.width = 8;
    rows.pitch = 64;
    return rows;
  }
  CUresult Run() {
    EXPECT_EQ(cuGraphLaunch(executable_, nullptr), CUDA_SUCCESS);
    return cuCtxSynchronize();
  }

  CUcontext context_ = nullptr;
  CUfunction stop_ = nullptr;
  CUDA_KERNEL_NODE_PARAMS params_ = {};
  CUgraph graph_ = nullptr;
  CUgraphNode node_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

TEST_F(GraphFaultsTest, WhoWaitsIsToldOfOneAndNotTheLaunch) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(Make());
  CUDA_KERNEL_NODE_PARAMS stop = params_;
  stop.func = stop_;
  ASSERT_EQ(set_kernel(node_, &stop), CUDA_SUCCESS);
  CUgraphNode behind = nullptr;
  ASSERT_EQ(cuGraphAddKernelNode(&behind, graph_, &node_, 1, &params_), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable_, graph_, 0), CUDA_SUCCESS);
  EXPECT_EQ(Run(), kLaunchFailed);
}

TEST_F(GraphFaultsTest, AKernelFaultsWithSmallerStacks) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(Make());
  EXPECT_EQ(Run(), CUDA_SUCCESS);
  SetStacks(1008);
  EXPECT_EQ(Run(), kLaunchFailed);
}

TEST_F(GraphFaultsTest, WithLargerStacksItRuns) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(Make());
  SetStacks(4096);
  EXPECT_EQ(Run(), CUDA_SUCCESS);
}

TEST_F(GraphFaultsTest, WhatCountsIsTheSizeOfStacksAtTheLaunch) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(Make());
  SetStacks(512);
  SetStacks(1024);
  EXPECT_EQ(Run(), CUDA_SUCCESS);
}

TEST_F(GraphFaultsTest, AKernelThatIsSetAgainHasTheStacksOfNow) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(Make());
  SetStacks(512);
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(executable_, node_, &params_), CUDA_SUCCESS);
  EXPECT_EQ(Run(), CUDA_SUCCESS);
}

TEST_F(GraphFaultsTest, AKernelThatIsDisabledOrEnabledHasTheStacksOfNow) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(Make());
  SetStacks(512);
  EXPECT_EQ(cuGraphNodeSetEnabled(executable_, node_, 0), CUDA_SUCCESS);
  EXPECT_EQ(Run(), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphNodeSetEnabled(executable_, node_, 1), CUDA_SUCCESS);
  EXPECT_EQ(Run(), CUDA_SUCCESS);
}

TEST_F(GraphFaultsTest, ADisabledKernelFaultsAllTheSame) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(Make());
  EXPECT_EQ(cuGraphNodeSetEnabled(executable_, node_, 0), CUDA_SUCCESS);
  SetStacks(512);
  EXPECT_EQ(Run(), kLaunchFailed);
}

TEST_F(GraphFaultsTest, AnUpdateLeavesItsStacksToAKernelThatIsTheSame) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(Make());
  SetStacks(512);
  UpdateInfo info = {};
  EXPECT_EQ(update(executable_, graph_, &info), CUDA_SUCCESS);
  EXPECT_EQ(Run(), kLaunchFailed);
}

TEST_F(GraphFaultsTest, AnUpdateGivesTheStacksOfNowToAKernelThatIsNot) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(Make());
  SetStacks(512);
  params_.gridDimX = 2;
  EXPECT_EQ(set_kernel(node_, &params_), CUDA_SUCCESS);
  UpdateInfo info = {};
  EXPECT_EQ(update(executable_, graph_, &info), CUDA_SUCCESS);
  EXPECT_EQ(Run(), CUDA_SUCCESS);
}

// Which is done by a kernel, as a fill of one row is not.
TEST_F(GraphFaultsTest, AFillOfRowsFaultsToo) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(Make());
  CUDA_MEMSET_NODE_PARAMS rows = Rows();
  for (const size_t height : {1, 2}) {
    rows.height = height;
    SetStacks(1024);
    ASSERT_EQ(cuGraphCreate(&graph_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphAddMemsetNode(&node_, graph_, nullptr, 0, &rows, context_), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphInstantiateWithFlags(&executable_, graph_, 0), CUDA_SUCCESS);
    SetStacks(512);
    EXPECT_EQ(Run(), height == 1 ? CUDA_SUCCESS : kLaunchFailed) << height;
  }
}

TEST_F(GraphFaultsTest, AFillThatIsSetAgainHasTheStacksOfNow) {
  if (RanInNewProcess()) return;
  ASSERT_NO_FATAL_FAILURE(Make());
  CUDA_MEMSET_NODE_PARAMS rows = Rows();
  rows.height = 2;
  SetStacks(1024);
  ASSERT_EQ(cuGraphCreate(&graph_, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphAddMemsetNode(&node_, graph_, nullptr, 0, &rows, context_), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable_, graph_, 0), CUDA_SUCCESS);
  SetStacks(512);
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(executable_, node_, &rows, context_), CUDA_SUCCESS);
  EXPECT_EQ(Run(), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
