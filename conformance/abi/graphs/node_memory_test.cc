// Memory that nodes of graphs allocate: launches, captures, and graphs that are moved. Source: an
// H100 with driver 580.159.

#include "conformance/abi/graphs/node_memory.h"

#include <cstring>
#include <vector>

namespace twinmmu::abi {
namespace {

// --- Launches

TEST_F(NodeMemoryTest, MemoryIsThereBetweenItsNodes) {
  const Allocated added = AddAlloc(4096);
  const CUgraphNode filled = AddFill(FillOf(added.address, 7, 16), {added.node});
  const CUDA_MEMCPY3D copy = CopyOf(memory_, added.address, 64);
  CUgraphNode copied = nullptr;
  EXPECT_EQ(cuGraphAddMemcpyNode(&copied, graph_, &filled, 1, &copy, context_), CUDA_SUCCESS);
  AddFree(added.address, {copied});
  const CUgraphExec executable = Instantiate();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(cuMemsetD8(memory_, 0, 64), CUDA_SUCCESS);
    Run(executable);
    EXPECT_EQ(Number(60), 7u);
    EXPECT_FALSE(IsThere(added.address));
    EXPECT_EQ(cuMemsetD32(added.address, 1, 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuMemFree(added.address), CUDA_ERROR_INVALID_VALUE);
  }
}

TEST_F(NodeMemoryTest, KernelsUseIt) {
  const Allocated added = AddAlloc();
  const CUDA_KERNEL_NODE_PARAMS kernel = KernelOf(set_, added.address, 11);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph_, &added.node, 1, &kernel), CUDA_SUCCESS);
  Run(Instantiate());
  EXPECT_EQ(NumberAt(added.address), 11u);
  EXPECT_EQ(cuMemFree(added.address), CUDA_SUCCESS);
}

TEST_F(NodeMemoryTest, ItIsNotExported) {
  const Function<CUresult(void*, CUdeviceptr)> export_pointer("cuMemPoolExportPointer");
  const Allocated added = AddAlloc();
  Run(Instantiate());
  char data[64] = {};
  EXPECT_EQ(export_pointer(data, added.address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(added.address), CUDA_SUCCESS);
}

TEST_F(NodeMemoryTest, WhatIsNotFreedStaysAndForbidsAnotherLaunch) {
  const Allocated added = AddAlloc(4096);
  AddFill(FillOf(added.address, 7, 16), {added.node});
  const CUgraphExec executable = Instantiate();
  Run(executable);
  EXPECT_EQ(NumberAt(added.address), 7u);
  CUmemorytype type = CU_MEMORYTYPE_HOST;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, added.address),
            CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  void* pool = &type;
  EXPECT_EQ(cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, added.address),
            CUDA_SUCCESS);
  EXPECT_EQ(pool, nullptr);
  EXPECT_EQ(cuGraphLaunch(executable, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(added.address + 512), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_async(added.address, stream_), CUDA_SUCCESS);
  Run(executable);
  EXPECT_EQ(cuMemFree(added.address), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(added.address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_async(added.address, stream_), CUDA_ERROR_INVALID_VALUE);
  Run(executable);
  EXPECT_EQ(cuMemFree(added.address), CUDA_SUCCESS);
}

TEST_F(NodeMemoryTest, WhatIsNotFreedOutlivesTheGraph) {
  CUgraph graph = nullptr;
  EXPECT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  const Allocated added = AddAlloc(graph);
  AddFill(graph, FillOf(added.address, 7, 16), {added.node});
  CUgraphExec first = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&first, graph, 0), CUDA_SUCCESS);
  Run(first);
  EXPECT_EQ(cuGraphExecDestroy(first), CUDA_SUCCESS);
  CUgraphExec second = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&second, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(second, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecDestroy(second), CUDA_SUCCESS);
  EXPECT_EQ(NumberAt(added.address), 7u);
  EXPECT_EQ(cuMemFree(added.address), CUDA_SUCCESS);
  EXPECT_FALSE(IsThere(added.address));
}

TEST_F(NodeMemoryTest, WhatWasNeverLaunchedIsNotFreed) {
  const CUdeviceptr address = AddAlloc().address;
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_async(address, stream_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(NodeMemoryTest, AutoFreeFreesWhatTheLaunchBeforeLeft) {
  const Allocated added = AddAlloc();
  AddFill(FillOf(added.address, 7, 4), {added.node});
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph_, kAutoFree), CUDA_SUCCESS);
  Run(executable);
  Run(executable);
  EXPECT_EQ(NumberAt(added.address), 7u);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(NumberAt(added.address), 7u);
  EXPECT_EQ(cuMemFree(added.address), CUDA_SUCCESS);
}

TEST_F(NodeMemoryTest, AnotherGraphFreesItIfItIsThere) {
  const Allocated added = AddAlloc();
  const CUgraphExec allocating = Instantiate();
  const CUgraph graph = MakeGraph();
  AddFree(graph, added.address);
  const CUgraphExec freeing = Instantiate(graph);
  EXPECT_EQ(cuGraphLaunch(freeing, stream_), CUDA_ERROR_INVALID_VALUE);
  for (int i = 0; i < 2; ++i) {
    Run(allocating);
    EXPECT_TRUE(IsThere(added.address));
    Run(freeing);
    EXPECT_FALSE(IsThere(added.address));
  }
  EXPECT_EQ(cuGraphLaunch(freeing, stream_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(NodeMemoryTest, UpdatesTakeAnotherAllocationOver) {
  const Allocated added = AddAlloc();
  AddFill(FillOf(added.address, 7, 4), {added.node});
  const CUgraphExec executable = Instantiate();
  const CUgraph other = MakeGraph();
  const Allocated of_other = AddAlloc(other);
  AddFill(other, FillOf(of_other.address, 8, 4), {of_other.node});
  UpdateInfo info = {};
  EXPECT_EQ(update(executable, other, &info), CUDA_SUCCESS);
  const CUgraph unlike = MakeGraph();
  AddFill(unlike, FillOf(memory_, 8, 4), {AddEmpty(unlike)});
  EXPECT_EQ(update(executable, unlike, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
}

// Which is the order in which an update pairs them. Source: an H200 with driver 580.159.
TEST_F(NodeMemoryTest, ALeafIsTheLatestAgainWhereAnAllocationBehindItFindsNoMemory) {
  constexpr int kTopologyChanged = 2;
  const CUgraphNode leaf = AddEmpty({AddEmpty()});
  AddEmpty();
  const CUgraphExec executable = Instantiate();
  UpdateInfo info = {};
  EXPECT_EQ(update(executable, graph_, &info), CUDA_SUCCESS);
  AllocParams params;
  params.size = size_t{1} << 40;
  CUgraphNode node = nullptr;
  EXPECT_EQ(add_alloc(&node, graph_, &leaf, 1, &params), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(update(executable, graph_, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, kTopologyChanged);
}

// --- What graphs have of the device

TEST_F(NodeMemoryTest, GraphsTakeMemoryInChunksWhenTheyNeedIt) {
  const Allocated added = AddAlloc(3 << 20);
  AddFree(added.address, {added.node});
  const CUgraphExec executable = Instantiate();
  for (int attribute = 0; attribute < 4; ++attribute) {
    EXPECT_EQ(set_graph_attribute(0, attribute, std::vector<uint64_t>{0}.data()),
              attribute % 2 == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(Get(attribute), 0u) << attribute;
  }
  EXPECT_EQ(upload_graph(executable, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  for (int attribute = 0; attribute < 4; ++attribute) EXPECT_EQ(Get(attribute), kGraphChunk);
  Run(executable);
  for (int attribute = 0; attribute < 4; ++attribute) EXPECT_EQ(Get(attribute), kGraphChunk);
  EXPECT_EQ(trim_graphs(0), CUDA_SUCCESS);
  for (int attribute = 0; attribute < 4; ++attribute) {
    EXPECT_EQ(Get(attribute), attribute % 2 == 1 ? kGraphChunk : 0) << attribute;
  }
  Run(executable);
}

TEST_F(NodeMemoryTest, AttributesHaveTheirDeviceAndNumber) {
  uint64_t value = 1;
  EXPECT_EQ(get_graph_attribute(0, 4, &value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_graph_attribute(0, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_graph_attribute(77, 1, &value), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(set_graph_attribute(0, 1, &value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_graph_attribute(0, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(trim_graphs(77), CUDA_ERROR_INVALID_DEVICE);
}

// --- Captures

TEST_F(NodeMemoryTest, StreamOrderedMemoryIsCaptured) {
  CUdeviceptr address = 0;
  CUdeviceptr none = 7;
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(allocate_async(&address, 4096, stream_), CUDA_SUCCESS);
  EXPECT_EQ(allocate_async(&none, 0, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemsetD32Async(address, 5, 16, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuMemcpyDtoDAsync(memory_, address, 64, stream_), CUDA_SUCCESS);
  EXPECT_EQ(free_async(address + 512, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_async(address, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  ASSERT_NE(graph, nullptr);
  const std::vector<CUgraphNodeType> types = TypesOf(graph);
  ASSERT_EQ(types.size(), 4u);
  EXPECT_EQ(types[0], kAllocType);
  EXPECT_EQ(types[3], kFreeType);
  Run(Instantiate(graph));
  EXPECT_EQ(Number(60), 5u);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(NodeMemoryTest, CapturesFreeOnlyWhatNodesAllocate) {
  CUdeviceptr outside = 0;
  EXPECT_EQ(allocate_async(&outside, 64, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  for (const CUdeviceptr address : {outside, memory_, CUdeviceptr{0x1234}}) {
    EXPECT_EQ(free_async(address, stream_), CUDA_ERROR_INVALID_VALUE) << address;
  }
  EXPECT_EQ(StatusOf(stream_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(outside), CUDA_SUCCESS);
}

// --- Child graphs that are moved

TEST_F(NodeMemoryTest, AGraphWithThemIsMovedIntoAnother) {
  CUgraph child = nullptr;
  EXPECT_EQ(cuGraphCreate(&child, 0), CUDA_SUCCESS);
  const Allocated added = AddAlloc(child);
  const CUgraphNode filled = AddFill(child, FillOf(added.address, 3, 4), {added.node});
  AddFree(child, added.address, {filled});
  GenericParams params;
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  const ChildParams moved = {child, kMoved};
  std::memcpy(params.of_type, &moved, sizeof(moved));
  CUgraphNode node = nullptr;
  ASSERT_EQ(add_node(&node, graph_, nullptr, nullptr, 0, &params), CUDA_SUCCESS);
  CUgraph told = nullptr;
  EXPECT_EQ(cuGraphChildGraphNodeGetGraph(node, &told), CUDA_SUCCESS);
  EXPECT_EQ(told, child);
  CUgraphNode again = nullptr;
  EXPECT_EQ(add_node(&again, MakeGraph(), nullptr, nullptr, 0, &params), CUDA_ERROR_NOT_SUPPORTED);
  CUgraph clone = nullptr;
  EXPECT_EQ(cuGraphClone(&clone, graph_), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuGraphDestroy(child), CUDA_ERROR_INVALID_VALUE);
  const CUgraphExec executable = Instantiate();
  CUgraphExec second = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&second, graph_, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&second, child, 0), CUDA_ERROR_NOT_SUPPORTED);
  Run(executable);
  EXPECT_EQ(cuGraphDestroyNode(node), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(NodeMemoryTest, AMovedGraphGoesWithItsNodeAndIsNoChildAgain) {
  CUgraph child = nullptr;
  EXPECT_EQ(cuGraphCreate(&child, 0), CUDA_SUCCESS);
  AddEmpty(child);
  GenericParams params;
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  const ChildParams moved = {child, kMoved};
  std::memcpy(params.of_type, &moved, sizeof(moved));
  CUgraphNode node = nullptr;
  ASSERT_EQ(add_node(&node, graph_, nullptr, nullptr, 0, &params), CUDA_SUCCESS);
  CUgraph clone = nullptr;
  EXPECT_EQ(cuGraphClone(&clone, child), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(clone), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphClone(&clone, graph_), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(clone), CUDA_SUCCESS);
  CUgraphNode again = nullptr;
  EXPECT_EQ(cuGraphAddChildGraphNode(&again, MakeGraph(), nullptr, 0, child),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuGraphDestroyNode(node), CUDA_SUCCESS);
  size_t count = 0;
  EXPECT_EQ(cuGraphGetNodes(child, nullptr, &count), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace twinmmu::abi
