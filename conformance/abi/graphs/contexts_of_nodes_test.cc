// Copies and fills of graphs whose context is not said.

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/driver_under_test.h"
#include "gtest/gtest.h"

namespace twinmmu::abi {
namespace {

class ContextsOfNodesTest : public ContextTest {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    ASSERT_EQ(cuGraphCreate(&graph_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc(&memory_, 128), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD8(memory_, 0, 128), CUDA_SUCCESS);
    copy_.srcMemoryType = copy_.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy_.srcDevice = memory_;
    copy_.dstDevice = memory_ + 64;
    copy_.WidthInBytes = 64;
    copy_.Height = copy_.Depth = 1;
    fill_.dst = memory_;
    fill_.value = 7;
    fill_.elementSize = 1;
    fill_.width = 64;
    fill_.height = 1;
  }
  void TearDown() override {
    cuCtxSetCurrent(context_);
    EXPECT_EQ(cuGraphDestroy(graph_), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(memory_), CUDA_SUCCESS);
    ContextTest::TearDown();
  }

  CUgraph graph_ = nullptr;
  CUdeviceptr memory_ = 0;
  CUDA_MEMCPY3D copy_ = {};
  CUDA_MEMSET_NODE_PARAMS fill_ = {};
};

TEST_F(ContextsOfNodesTest, NodesAreMadeWithoutAContext) {
  CUgraphNode filled = nullptr;
  CUgraphNode copied = nullptr;
  ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphAddMemsetNode(&filled, graph_, nullptr, 0, &fill_, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphAddMemcpyNode(&copied, graph_, &filled, 1, &copy_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphMemcpyNodeSetParams(copied, &copy_), CUDA_SUCCESS);
  copy_.srcDevice = 0;
  EXPECT_EQ(cuGraphAddMemcpyNode(&copied, graph_, nullptr, 0, &copy_, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(executable, nullptr), CUDA_SUCCESS);
  unsigned char last = 0;
  EXPECT_EQ(cuMemcpyDtoH(&last, memory_ + 127, 1), CUDA_SUCCESS);
  EXPECT_EQ(last, 7);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
}

TEST_F(ContextsOfNodesTest, WhatIsSetAgainWithoutAContextNeedsACurrentOneAndKeepsItsOwn) {
  CUgraphNode filled = nullptr;
  CUgraphNode copied = nullptr;
  ASSERT_EQ(cuGraphAddMemsetNode(&filled, graph_, nullptr, 0, &fill_, context_), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphAddMemcpyNode(&copied, graph_, nullptr, 0, &copy_, context_), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph_, 0), CUDA_SUCCESS);
  CUcontext other = nullptr;
  ASSERT_EQ(cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecMemcpyNodeSetParams(executable, copied, &copy_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(executable, filled, &fill_, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxDestroy(other), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecMemcpyNodeSetParams(executable, copied, &copy_, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(executable, filled, &fill_, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphExecMemcpyNodeSetParams(executable, copied, &copy_, context_), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
