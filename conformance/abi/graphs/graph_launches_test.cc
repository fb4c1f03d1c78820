// Executable graphs. Measured on an H100 with driver 580.159.

#include "conformance/abi/graphs/graph_fixture.h"

namespace twinmmu::abi {
namespace {

using GraphLaunchesTest = GraphTest;

struct InstantiateParams {
  uint64_t flags;
  CUstream upload_stream;
  CUgraphNode error_node;
  int result;
};
const Function<CUresult(CUgraphExec*, CUgraph, InstantiateParams*)> instantiate(
    "cuGraphInstantiateWithParams");
const Function<CUresult(CUgraphExec, uint64_t*)> get_flags("cuGraphExecGetFlags");
const Function<CUresult(CUgraphExec, CUstream)> upload("cuGraphUpload");

TEST_F(GraphLaunchesTest, NodesRunInTheOrderOfTheirEdges) {
  const CUgraphNode add = AddKernel(add_, 5);
  const CUgraphNode set = AddKernel(set_, 100);
  EXPECT_EQ(add_dependencies(graph_, &set, &add, nullptr, 1), CUDA_SUCCESS);
  Run(Instantiate());
  EXPECT_EQ(Number(), 105u);
}

TEST_F(GraphLaunchesTest, BranchesJoin) {
  const CUgraphNode first = AddKernel(set_, 1);
  const CUgraphNode left = AddFill(FillOf(memory_ + 64, 2), {first});
  const CUgraphNode right = AddFill(FillOf(memory_ + 128, 3), {first});
  const CUDA_MEMCPY3D copy = CopyOf(memory_ + 256, memory_, 256);
  CUgraphNode last = nullptr;
  const Nodes both = {left, right};
  EXPECT_EQ(cuGraphAddMemcpyNode(&last, graph_, both.data(), 2, &copy, context_), CUDA_SUCCESS);
  Run(Instantiate());
  EXPECT_EQ(Number(256), 1u);
  EXPECT_EQ(Number(320), 2u);
  EXPECT_EQ(Number(384), 3u);
}

TEST_F(GraphLaunchesTest, AGraphIsLaunchedAgainAndAgain) {
  AddHost(graph_, {AddKernel(add_, 1)});
  const CUgraphExec executable = Instantiate();
  Run(executable);
  Run(executable);
  EXPECT_EQ(cuGraphLaunch(executable, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(Number(), 3u);
  EXPECT_EQ(host_calls_, 3);
}

// What is behind a wait for the word at the end of the memory, until End.
class GraphLaunchesBehindAWaitTest : public GraphTest {
 protected:
  void Wait(CUstream stream) {
    EXPECT_EQ(cuStreamWaitValue32(stream, memory_ + kSize - 8, 1, 0), CUDA_SUCCESS);
  }
  void End() {
    EXPECT_EQ(cuStreamWriteValue32(MakeStream(), memory_ + kSize - 8, 1, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }
};

TEST_F(GraphLaunchesBehindAWaitTest, ALaunchComesAfterTheOneBeforeInAnyStream) {
  AddKernel(add_, 1);
  const CUgraphExec executable = Instantiate();
  const CUstream second = MakeStream();
  Wait(stream_);
  EXPECT_EQ(cuGraphLaunch(executable, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(executable, second), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(second), CUDA_ERROR_NOT_READY);
  End();
  EXPECT_EQ(Number(), 2u);
}

TEST_F(GraphLaunchesBehindAWaitTest, AHostNodeWaitsAndTheLaunchDoesNot) {
  AddHost(graph_);
  Wait(stream_);
  EXPECT_EQ(cuGraphLaunch(Instantiate(), stream_), CUDA_SUCCESS);
  EXPECT_EQ(host_calls_, 0);
  End();
  EXPECT_EQ(host_calls_, 1);
}

TEST_F(GraphLaunchesBehindAWaitTest, ALaunchOfManyNodesIsOneOperation) {
  CUgraphNode last = AddKernel(add_, 1);
  for (int i = 1; i < 1500; ++i) last = AddKernel(add_, 1, {last});
  Wait(stream_);
  EXPECT_EQ(cuGraphLaunch(Instantiate(), stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_ERROR_NOT_READY);
  End();
  EXPECT_EQ(Number(), 1500u);
}

TEST_F(GraphLaunchesTest, AnEmptyGraphDoesNothing) { Run(Instantiate()); }

TEST_F(GraphLaunchesTest, AnExecutableGraphOutlivesItsGraph) {
  CUgraph graph = nullptr;
  EXPECT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  AddKernel(graph, add_, 7);
  const CUgraphExec executable = Instantiate(graph);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  Run(executable);
  EXPECT_EQ(Number(), 7u);
}

TEST_F(GraphLaunchesTest, ALaunchOutlivesItsExecutableGraph) {
  AddKernel(add_, 7);
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(executable, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(Number(), 7u);
}

TEST_F(GraphLaunchesTest, AChangeOfTheGraphIsNoneOfTheExecutableGraph) {
  const CUgraphNode node = AddKernel(add_, 1);
  const CUgraphExec executable = Instantiate();
  const CUDA_KERNEL_NODE_PARAMS kernel = KernelOf(add_, memory_, 100);
  EXPECT_EQ(cuGraphKernelNodeSetParams(node, &kernel), CUDA_SUCCESS);
  Run(executable);
  EXPECT_EQ(Number(), 1u);
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(executable, node, &kernel), CUDA_SUCCESS);
  Run(executable);
  EXPECT_EQ(Number(), 101u);
}

TEST_F(GraphLaunchesTest, AnotherFunctionMayTakeItsPlace) {
  const CUgraphNode node = AddKernel(add_, 1);
  const CUgraphExec executable = Instantiate();
  CUDA_KERNEL_NODE_PARAMS kernel = KernelOf(set_, memory_, 8);
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(executable, node, &kernel), CUDA_SUCCESS);
  Run(executable);
  EXPECT_EQ(Number(), 8u);
  kernel.gridDimX = 0;
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(executable, node, &kernel), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(executable, nullptr, &kernel), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphLaunchesTest, ANodeThatIsAddedLaterIsNotInside) {
  AddKernel(add_, 1);
  const CUgraphExec executable = Instantiate();
  const CUgraphNode later = AddKernel(add_, 1);
  const CUDA_KERNEL_NODE_PARAMS kernel = KernelOf(add_, memory_, 1);
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(executable, later, &kernel), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphLaunchesTest, ADisabledNodeIsLeftOut) {
  const CUgraphNode node = AddKernel(add_, 1);
  const CUgraphExec executable = Instantiate();
  unsigned int enabled = 0;
  EXPECT_EQ(cuGraphNodeGetEnabled(executable, node, &enabled), CUDA_SUCCESS);
  EXPECT_EQ(enabled, 1u);
  EXPECT_EQ(cuGraphNodeSetEnabled(executable, node, 0), CUDA_SUCCESS);
  Run(executable);
  EXPECT_EQ(Number(), 0u);
  EXPECT_EQ(cuGraphNodeSetEnabled(executable, node, 7), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphNodeGetEnabled(executable, node, &enabled), CUDA_SUCCESS);
  EXPECT_EQ(enabled, 1u);
  Run(executable);
  EXPECT_EQ(Number(), 1u);
}

TEST_F(GraphLaunchesTest, OnlyKernelsCopiesAndFillsAreDisabled) {
  const CUgraphNode host = AddHost(graph_);
  const CUgraphNode empty = AddEmpty();
  const CUgraphNode fill = AddFill(FillOf(memory_, 1));
  const CUgraphExec executable = Instantiate();
  unsigned int enabled = 0;
  EXPECT_EQ(cuGraphNodeSetEnabled(executable, host, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphNodeGetEnabled(executable, empty, &enabled), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphNodeSetEnabled(executable, fill, 0), CUDA_SUCCESS);
}

TEST_F(GraphLaunchesTest, FlagsAreChecked) {
  AddHost(graph_, {AddKernel(add_, 1)});
  CUgraphExec executable = nullptr;
  for (const unsigned long long flags : {2ull, 4ull, 5ull, 16ull, 1ull << 40}) {
    EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph_, flags), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(executable, nullptr);
  }
  for (const unsigned long long flags : {1ull, 8ull, 9ull}) {
    EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph_, flags), CUDA_SUCCESS);
    uint64_t told = 99;
    EXPECT_EQ(get_flags(executable, &told), CUDA_SUCCESS);
    EXPECT_EQ(told, flags & 1);
    EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  }
}

TEST_F(GraphLaunchesTest, ParametersTellWhyThereIsNoExecutableGraph) {
  const CUgraphNode a = AddEmpty();
  const CUgraphNode b = AddEmpty({a});
  InstantiateParams params = {2, stream_, a, 99};
  CUgraphExec executable = nullptr;
  EXPECT_EQ(instantiate(&executable, graph_, &params), CUDA_SUCCESS);
  EXPECT_EQ(params.result, 0);
  EXPECT_EQ(params.error_node, nullptr);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(add_dependencies(graph_, &b, &a, nullptr, 1), CUDA_SUCCESS);
  EXPECT_EQ(instantiate(&executable, graph_, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(params.result, 2);
  EXPECT_NE(params.error_node, nullptr);
  params.flags = 16;
  EXPECT_EQ(instantiate(&executable, graph_, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(params.result, 1);
}

// An empty node is none that it could launch.
TEST_F(GraphLaunchesTest, ADeviceLaunchesNothingThatIsEmpty) {
  constexpr uint64_t kDeviceLaunch = 4;
  InstantiateParams params = {kDeviceLaunch, stream_, nullptr, 99};
  CUgraphExec executable = nullptr;
  EXPECT_EQ(instantiate(&executable, graph_, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(params.result, 1);
  EXPECT_EQ(params.error_node, nullptr);
  CUgraphNode child = nullptr;
  EXPECT_EQ(cuGraphAddChildGraphNode(&child, graph_, nullptr, 0, MakeGraph()), CUDA_SUCCESS);
  EXPECT_EQ(instantiate(&executable, graph_, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(params.result, 1);
  AddEmpty();
  EXPECT_EQ(instantiate(&executable, graph_, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(params.result, 3);
  EXPECT_NE(params.error_node, nullptr);
}

TEST_F(GraphLaunchesTest, TheFirstFormInstantiatesWithoutFlags) {
  const Function<CUresult(CUgraphExec*, CUgraph, CUgraphNode*, char*, size_t)> instantiate_first(
      "cuGraphInstantiate_v2");
  const CUgraphNode a = AddKernel(add_, 1);
  const CUgraphNode b = AddEmpty({a});
  CUgraphExec executable = nullptr;
  EXPECT_EQ(instantiate_first(&executable, graph_, nullptr, nullptr, 0), CUDA_SUCCESS);
  ASSERT_NE(executable, nullptr);
  Run(executable);
  EXPECT_EQ(Number(), 1u);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(add_dependencies(graph_, &b, &a, nullptr, 1), CUDA_SUCCESS);
  EXPECT_EQ(instantiate_first(&executable, graph_, nullptr, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphLaunchesTest, AnUploadRunsNothing) {
  AddKernel(add_, 1);
  const CUgraphExec executable = Instantiate();
  EXPECT_EQ(upload(executable, stream_), CUDA_SUCCESS);
  EXPECT_EQ(upload(nullptr, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(Number(), 0u);
}

TEST_F(GraphLaunchesTest, AChildGraphRunsAsItWasWhenItWasAdded) {
  const CUgraph child = MakeGraph();
  AddKernel(child, add_, 3);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddChildGraphNode(&node, graph_, nullptr, 0, child), CUDA_SUCCESS);
  AddKernel(child, add_, 50);
  CUgraph inside = nullptr;
  EXPECT_EQ(cuGraphChildGraphNodeGetGraph(node, &inside), CUDA_SUCCESS);
  EXPECT_NE(inside, child);
  EXPECT_EQ(NodesOf(inside).size(), 1u);
  Run(Instantiate());
  EXPECT_EQ(Number(), 3u);
}

TEST_F(GraphLaunchesTest, AMappingIsLookedUpAtTheLaunch) {
  Mapping mapping;
  CUgraphNode fill = AddFill(FillOf(mapping.address(), 11));
  const CUDA_MEMCPY3D copy = CopyOf(memory_, mapping.address(), 4);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddMemcpyNode(&node, graph_, &fill, 1, &copy, context_), CUDA_SUCCESS);
  const CUgraphExec executable = Instantiate();
  CUmemGenericAllocationHandle other = 0;
  const CUmemAllocationProp properties = PinnedOn(0);
  EXPECT_EQ(cuMemCreate(&other, kChunk, &properties, 0), CUDA_SUCCESS);
  const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                  CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  EXPECT_EQ(cuMemUnmap(mapping.address(), kChunk), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(mapping.address(), kChunk, 0, other, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemSetAccess(mapping.address(), kChunk, &access, 1), CUDA_SUCCESS);
  Run(executable);
  EXPECT_EQ(Number(), 11u);
  EXPECT_EQ(cuMemRelease(other), CUDA_SUCCESS);
}

TEST_F(GraphLaunchesTest, MemoryMustBeThereAtInstantiation) {
  Mapping mapping;
  AddFill(FillOf(mapping.address(), 1));
  EXPECT_EQ(cuMemUnmap(mapping.address(), kChunk), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph_, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemMap(mapping.address(), kChunk, 0, mapping.handle(), 0), CUDA_SUCCESS);
}

// The value is or'ed into all four bytes of a word. Source: an H200 with driver 580.159.
TEST_F(GraphTest, AFillOfBytesWithAWiderValueGivesThemDifferentOnes) {
  CUDA_MEMSET_NODE_PARAMS fill = FillOf(memory_ + 65, 0x3bd, 15);
  fill.elementSize = 1;
  AddFill(fill);
  Run(Instantiate());
  EXPECT_EQ(Number(64), 0xbfbfbd00);
  EXPECT_EQ(Number(68), 0xbfbfbdbf);
  EXPECT_EQ(Number(76), 0xbfbfbdbf);
  EXPECT_EQ(Number(80), 0u);
}

// Source: an H200 with driver 580.159.
TEST_F(GraphTest, AlignedRowsOfBytesWithAWiderValueGetDifferentOnesToo) {
  CUDA_MEMSET_NODE_PARAMS fill = FillOf(memory_, 0x3bd, 16);
  fill.elementSize = 1;
  fill.height = 2;
  fill.pitch = 64;
  AddFill(fill);
  Run(Instantiate());
  EXPECT_EQ(Number(), 0xbfbfbfbd);
  EXPECT_EQ(Number(64 + 12), 0xbfbfbfbd);
}

// The driver makes room for its kernels that copy, and keeps it.
TEST_F(GraphTest, TheContextOfACopySaysThatLocalMemoryStays) {
  constexpr unsigned int kResizeToMax = 16;
  CUDA_MEMCPY3D copy = CopyOf(memory_ + 256, memory_, 64);
  CUgraphNode node = nullptr;
  ASSERT_EQ(cuGraphAddMemcpyNode(&node, graph_, nullptr, 0, &copy, context_), CUDA_SUCCESS);
  Instantiate();
  unsigned int flags = 0;
  EXPECT_EQ(cuCtxGetFlags(&flags), CUDA_SUCCESS);
  EXPECT_EQ(flags & kResizeToMax, kResizeToMax);
}

// Whether the driver makes room in a context that is made for this. Source: an H200 with driver
// 580.159.
class LocalMemoryTest : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(cuCtxCreate(&made_, 0, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuMemAlloc(&there_, kSize), CUDA_SUCCESS);
    ASSERT_EQ(cuGraphCreate(&own_, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (made_ != nullptr) {
      EXPECT_EQ(cuGraphDestroy(own_), CUDA_SUCCESS);
      EXPECT_EQ(cuCtxDestroy(made_), CUDA_SUCCESS);
    }
    GraphTest::TearDown();
  }

  CUDA_MEMCPY3D Copy() const { return CopyOf(there_ + 256, there_, 64); }
  void Add(CUgraph graph, const CUDA_MEMCPY3D& copy) {
    CUgraphNode node = nullptr;
    ASSERT_EQ(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, made_), CUDA_SUCCESS);
  }
  void AddFillOf(size_t rows) {
    CUDA_MEMSET_NODE_PARAMS fill = FillOf(there_, 1, 16);
    fill.height = rows;
    fill.pitch = 256;
    CUgraphNode node = nullptr;
    ASSERT_EQ(cuGraphAddMemsetNode(&node, own_, nullptr, 0, &fill, made_), CUDA_SUCCESS);
  }
  bool MakesRoom() {
    constexpr unsigned int kResizeToMax = 16;
    CUgraphExec executable = nullptr;
    EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, own_, 0), CUDA_SUCCESS);
    unsigned int flags = 0;
    EXPECT_EQ(cuCtxGetFlags(&flags), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
    return (flags & kResizeToMax) != 0;
  }

  CUcontext made_ = nullptr;
  CUdeviceptr there_ = 0;
  CUgraph own_ = nullptr;
};

TEST_F(LocalMemoryTest, ACopyFromDeviceToDevice) {
  Add(own_, Copy());
  EXPECT_TRUE(MakesRoom());
}

TEST_F(LocalMemoryTest, ACopyInAChildGraph) {
  CUgraph child = nullptr;
  ASSERT_EQ(cuGraphCreate(&child, 0), CUDA_SUCCESS);
  Add(child, Copy());
  CUgraphNode node = nullptr;
  ASSERT_EQ(cuGraphAddChildGraphNode(&node, own_, nullptr, 0, child), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(child), CUDA_SUCCESS);
  EXPECT_TRUE(MakesRoom());
}

TEST_F(LocalMemoryTest, NotCopiesFromOrToTheHost) {
  static char host[64];
  CUDA_MEMCPY3D copy = Copy();
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host;
  Add(own_, copy);
  copy = Copy();
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = host;
  Add(own_, copy);
  EXPECT_FALSE(MakesRoom());
}

TEST_F(LocalMemoryTest, NotCopiesFromPinnedMemory) {
  void* pinned = nullptr;
  ASSERT_EQ(cuMemHostAlloc(&pinned, 64, 0), CUDA_SUCCESS);
  CUDA_MEMCPY3D copy = Copy();
  copy.srcDevice = reinterpret_cast<CUdeviceptr>(pinned);
  Add(own_, copy);
  EXPECT_FALSE(MakesRoom());
  EXPECT_EQ(cuMemFreeHost(pinned), CUDA_SUCCESS);
}

TEST_F(LocalMemoryTest, NotAFillOfOneRow) {
  AddFillOf(1);
  EXPECT_FALSE(MakesRoom());
  AddFillOf(4);
  EXPECT_TRUE(MakesRoom());
}

}  // namespace
}  // namespace twinmmu::abi
