// What is reported of memory that nodes of graphs allocate. The simulated driver is linked in: no
// other one can be meant.

#include <string>
#include <vector>

#include "api/diagnostics.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/process.h"
#include "sim/profile/profile.h"
#include "sim/simulator.h"
#include "third_party/cuda_abi/graph_abi.h"

extern "C" {
int cuGraphCreate(twinmmu::cuda_abi::CUgraph* graph, unsigned int flags);
int cuGraphDestroy(twinmmu::cuda_abi::CUgraph graph);
int cuGraphAddMemAllocNode(twinmmu::cuda_abi::CUgraphNode* node, twinmmu::cuda_abi::CUgraph graph,
                           const twinmmu::cuda_abi::CUgraphNode* dependencies, size_t count,
                           twinmmu::cuda_abi::CUDA_MEM_ALLOC_NODE_PARAMS* params);
int cuGraphAddMemFreeNode(twinmmu::cuda_abi::CUgraphNode* node, twinmmu::cuda_abi::CUgraph graph,
                          const twinmmu::cuda_abi::CUgraphNode* dependencies, size_t count,
                          twinmmu::cuda_abi::CUdeviceptr address);
int cuGraphAddMemsetNode(twinmmu::cuda_abi::CUgraphNode* node, twinmmu::cuda_abi::CUgraph graph,
                         const twinmmu::cuda_abi::CUgraphNode* dependencies, size_t count,
                         const twinmmu::cuda_abi::CUDA_MEMSET_NODE_PARAMS* fill,
                         twinmmu::cuda_abi::CUcontext context);
int cuGraphAddMemcpyNode(twinmmu::cuda_abi::CUgraphNode* node, twinmmu::cuda_abi::CUgraph graph,
                         const twinmmu::cuda_abi::CUgraphNode* dependencies, size_t count,
                         const twinmmu::cuda_abi::CUDA_MEMCPY3D* copy,
                         twinmmu::cuda_abi::CUcontext context);
int cuGraphInstantiateWithFlags(twinmmu::cuda_abi::CUgraphExec* exec,
                                twinmmu::cuda_abi::CUgraph graph, unsigned long long flags);
int cuGraphExecDestroy(twinmmu::cuda_abi::CUgraphExec exec);
int cuGraphLaunch(twinmmu::cuda_abi::CUgraphExec exec, twinmmu::cuda_abi::CUstream stream);
int cuDeviceGraphMemTrim(int device);
int cuMemFree_v2(unsigned long long address);
int cuMemGetInfo_v2(size_t* free, size_t* total);
}

namespace twinmmu::libcuda {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;

using Nodes = std::vector<CUgraphNode>;

constexpr CUresult kLaunchFailed = 719;

// A machine of its own, and a graph that allocates.
class NodeMemoryReportTest : public testing::Test {
 protected:
  void SetUp() override {
    Process::Get().Restart(Profile::ReferenceH200());
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxPushCurrent_v2(context_), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphCreate(&graph_, 0), CUDA_SUCCESS);
    CUDA_MEM_ALLOC_NODE_PARAMS params = {};
    params.poolProps.allocType = 1;
    params.poolProps.location = {1, 0};
    params.bytesize = 64;
    ASSERT_EQ(cuGraphAddMemAllocNode(&allocation_, graph_, nullptr, 0, &params), CUDA_SUCCESS);
    address_ = params.dptr;
  }
  void TearDown() override { cuCtxPopCurrent_v2(&context_); }

  CUgraphNode AddFill(CUgraph graph, const Nodes& after) {
    CUDA_MEMSET_NODE_PARAMS fill = {};
    fill.dst = address_;
    fill.elementSize = 4;
    fill.width = 4;
    fill.height = 1;
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddMemsetNode(&node, graph, after.data(), after.size(), &fill, context_),
              CUDA_SUCCESS);
    return node;
  }
  CUgraphNode AddFree(const Nodes& after) {
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddMemFreeNode(&node, graph_, after.data(), after.size(), address_),
              CUDA_SUCCESS);
    return node;
  }
  CUgraphExec Instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    return exec;
  }
  CUresult Run(CUgraphExec exec) {
    const CUresult launched = cuGraphLaunch(exec, stream_);
    return launched == CUDA_SUCCESS ? cuStreamSynchronize(stream_) : launched;
  }
  static size_t FreeMemory() {
    size_t free = 0;
    size_t total = 0;
    EXPECT_EQ(cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
    return free;
  }
  static std::vector<Diagnostic> Found() {
    return Process::Get().driver()->simulator->diagnostics();
  }
  static auto Has(DiagnosticKind kind) { return Contains(Field(&Diagnostic::kind, kind)); }

  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUgraph graph_ = nullptr;
  CUgraphNode allocation_ = nullptr;
  CUdeviceptr address_ = 0;
};

TEST_F(NodeMemoryReportTest, UseBetweenTheNodesIsFineEachTime) {
  AddFree({AddFill(graph_, {allocation_})});
  const CUgraphExec exec = Instantiate(graph_);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Run(exec), CUDA_SUCCESS);
  EXPECT_THAT(Found(), IsEmpty());
}

// A copy may leave it to the driver whose memory that is.
TEST_F(NodeMemoryReportTest, ACopyOfMemoryOfAnyKindIsUse) {
  char words[16] = {1};
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = address_;
  copy.dstDevice = reinterpret_cast<CUdeviceptr>(words);
  copy.WidthInBytes = sizeof(words);
  copy.Height = copy.Depth = 1;
  const CUgraphNode filled = AddFill(graph_, {allocation_});
  CUgraphNode copied = nullptr;
  ASSERT_EQ(cuGraphAddMemcpyNode(&copied, graph_, &filled, 1, &copy, context_), CUDA_SUCCESS);
  AddFree({copied});
  EXPECT_EQ(Run(Instantiate(graph_)), CUDA_SUCCESS);
  EXPECT_EQ(words[0], 0);
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(NodeMemoryReportTest, UseThatNothingOrdersBehindTheAllocationIsReported) {
  AddFill(graph_, {});
  EXPECT_EQ(Run(Instantiate(graph_)), CUDA_SUCCESS);
  EXPECT_THAT(Found(), Has(DiagnosticKind::kUseBeforeAllocation));
}

// As on an H100 with driver 580.159.
TEST_F(NodeMemoryReportTest, UseBeforeTheFirstLaunchFails) {
  CUgraph other = nullptr;
  ASSERT_EQ(cuGraphCreate(&other, 0), CUDA_SUCCESS);
  AddFill(other, {});
  EXPECT_EQ(cuGraphLaunch(Instantiate(other), stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), kLaunchFailed);
}

TEST_F(NodeMemoryReportTest, UseBehindTheFreeIsReported) {
  AddFill(graph_, {AddFree({allocation_})});
  Run(Instantiate(graph_));
  EXPECT_THAT(Found(), Has(DiagnosticKind::kUseAfterFreeInStream));
}

TEST_F(NodeMemoryReportTest, FreeThatNothingOrdersBehindAUseIsReported) {
  AddFill(graph_, {allocation_});
  AddFree({allocation_});
  Run(Instantiate(graph_));
  EXPECT_THAT(Found(), Has(DiagnosticKind::kUnorderedFreeInStream));
}

TEST_F(NodeMemoryReportTest, WhatIsNotFreedIsLeaked) {
  EXPECT_EQ(Run(Instantiate(graph_)), CUDA_SUCCESS);
  const auto leaks = [] { return Process::Get().driver()->simulator->leaks(); };
  EXPECT_THAT(leaks(), Has(DiagnosticKind::kLeakedMemory));
  EXPECT_EQ(cuMemFree_v2(address_), CUDA_SUCCESS);
  EXPECT_THAT(leaks(), Not(Has(DiagnosticKind::kLeakedMemory)));
}

TEST_F(NodeMemoryReportTest, MemoryOfTheDeviceIsTakenByTheLaunchAndGivenBackByATrim) {
  const size_t free = FreeMemory();
  AddFree({allocation_});
  const CUgraphExec exec = Instantiate(graph_);
  EXPECT_EQ(FreeMemory(), free);
  EXPECT_EQ(Run(exec), CUDA_SUCCESS);
  EXPECT_EQ(free - FreeMemory(), size_t{32} << 20);
  EXPECT_EQ(cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph_), CUDA_SUCCESS);
  EXPECT_EQ(free - FreeMemory(), size_t{32} << 20);
  EXPECT_EQ(cuDeviceGraphMemTrim(0), CUDA_SUCCESS);
  EXPECT_EQ(FreeMemory(), free);
}

// Together they have had more than all 47-bit addresses.
TEST_F(NodeMemoryReportTest, AddressesOfGraphsThatAreGoneAreFree) {
  CUDA_MEM_ALLOC_NODE_PARAMS params = {};
  params.poolProps.allocType = 1;
  params.poolProps.location = {1, 0};
  params.bytesize = size_t{128} << 30;
  for (int i = 0; i < 1200; ++i) {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &params), CUDA_SUCCESS) << i;
    ASSERT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  }
}

}  // namespace
}  // namespace twinmmu::libcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
