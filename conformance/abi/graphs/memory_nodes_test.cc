// Nodes of graphs that allocate memory and free it. Source: an H100 with driver 580.159.

#include <cstring>
#include <vector>

#include "conformance/abi/graphs/graph_fixture.h"

namespace twinmmu::abi {
namespace {

// Types of functions that our cuda.h does not have.
struct AllocParams {
  int type = 1;  // pinned
  int handle_types = 0;
  CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  void* security_attributes = nullptr;
  size_t most = 0;
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
  const CUmemAccessDesc* grants = nullptr;
  size_t grant_count = 0;
  size_t size = 64;
  CUdeviceptr address = 0;
};
struct GenericParams {
  int type = 0;
  int reserved0[3] = {};
  long long of_type[29] = {};
  long long reserved2 = 0;
};
struct ChildParams {
  CUgraph graph;
  int ownership;
};

constexpr int kAllocType = 10;
constexpr int kFreeType = 11;
constexpr int kMoved = 1;
constexpr uint64_t kAutoFree = 1;
constexpr uint64_t kChunk = uint64_t{32} << 20;

constexpr Function<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, AllocParams*)>
    add_alloc("cuGraphAddMemAllocNode");
constexpr Function<CUresult(CUgraphNode, AllocParams*)> alloc_params(
    "cuGraphMemAllocNodeGetParams");
constexpr Function<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUdeviceptr)>
    add_free("cuGraphAddMemFreeNode");
constexpr Function<CUresult(CUgraphNode, CUdeviceptr*)> free_params("cuGraphMemFreeNodeGetParams");
constexpr Function<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, const EdgeData*, size_t,
                            GenericParams*)>
    add_node("cuGraphAddNode_v2");
constexpr Function<CUresult(CUgraphNode, GenericParams*)> set_params("cuGraphNodeSetParams");
constexpr Function<CUresult(CUdevice)> trim("cuDeviceGraphMemTrim");
constexpr Function<CUresult(CUdevice, int, void*)> get_attribute("cuDeviceGetGraphMemAttribute");
constexpr Function<CUresult(CUdevice, int, void*)> set_attribute("cuDeviceSetGraphMemAttribute");
constexpr Function<CUresult(CUdeviceptr*, size_t, CUstream)> allocate_async("cuMemAllocAsync");
constexpr Function<CUresult(CUdeviceptr, CUstream)> free_async("cuMemFreeAsync");
constexpr Function<CUresult(CUgraphExec, CUstream)> upload("cuGraphUpload");

// A node, and what it allocates.
struct Allocated {
  CUgraphNode node = nullptr;
  CUdeviceptr address = 0;
};

class MemoryNodesTest : public GraphTest {
 protected:
  void TearDown() override {
    GraphTest::TearDown();
    if (IsSkipped()) return;
    EXPECT_EQ(trim(0), CUDA_SUCCESS);
  }

  Allocated AddAlloc(CUgraph graph, size_t size = 64) {
    AllocParams params;
    params.size = size;
    Allocated added;
    EXPECT_EQ(add_alloc(&added.node, graph, nullptr, 0, &params), CUDA_SUCCESS);
    added.address = params.address;
    return added;
  }
  Allocated AddAlloc(size_t size = 64) { return AddAlloc(graph_, size); }
  CUgraphNode AddFree(CUgraph graph, CUdeviceptr address, const Nodes& after = {}) {
    CUgraphNode node = nullptr;
    EXPECT_EQ(add_free(&node, graph, after.data(), after.size(), address), CUDA_SUCCESS);
    return node;
  }
  CUgraphNode AddFree(CUdeviceptr address, const Nodes& after = {}) {
    return AddFree(graph_, address, after);
  }

  static uint64_t Get(int attribute) {
    uint64_t value = 99;
    EXPECT_EQ(get_attribute(0, attribute, &value), CUDA_SUCCESS);
    return value;
  }
  static bool IsThere(CUdeviceptr address) {
    CUdeviceptr base = 0;
    size_t size = 0;
    return cuMemGetAddressRange(&base, &size, address) == CUDA_SUCCESS;
  }
  static unsigned int NumberAt(CUdeviceptr address) {
    unsigned int number = 0;
    EXPECT_EQ(cuMemcpyDtoH(&number, address, sizeof(number)), CUDA_SUCCESS);
    return number;
  }
};

// --- Nodes

TEST_F(MemoryNodesTest, ANodeHasItsAddressFromTheStartButNoMemory) {
  const Allocated added = AddAlloc(1000);
  EXPECT_NE(added.address, 0u);
  EXPECT_EQ(added.address % 512, 0u);
  EXPECT_FALSE(IsThere(added.address));
  EXPECT_EQ(cuMemsetD32(added.address, 1, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(TypesOf(graph_),
            std::vector<CUgraphNodeType>{static_cast<CUgraphNodeType>(kAllocType)});
}

TEST_F(MemoryNodesTest, NodesOfOneGraphAllocateSideBySide) {
  const CUdeviceptr first = AddAlloc(1000).address;
  EXPECT_EQ(AddAlloc(1000).address, first + 1024);
  EXPECT_EQ(AddAlloc(5 << 20).address, first + 2048);
}

TEST_F(MemoryNodesTest, ParametersAreToldWithTheAddress) {
  const Allocated added = AddAlloc(1000);
  AllocParams told;
  EXPECT_EQ(alloc_params(added.node, &told), CUDA_SUCCESS);
  EXPECT_EQ(told.size, 1000u);
  EXPECT_EQ(told.address, added.address);
  EXPECT_EQ(told.type, 1);
  EXPECT_EQ(told.grant_count, 0u);
  CUdeviceptr freed = 0;
  EXPECT_EQ(free_params(AddFree(added.address, {added.node}), &freed), CUDA_SUCCESS);
  EXPECT_EQ(freed, added.address);
}

TEST_F(MemoryNodesTest, ParametersAreOfNodesOfTheirType) {
  const Allocated added = AddAlloc();
  const CUgraphNode freed = AddFree(added.address, {added.node});
  AllocParams told;
  CUdeviceptr address = 0;
  EXPECT_EQ(alloc_params(freed, &told), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_params(added.node, &address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(alloc_params(added.node, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_params(freed, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryNodesTest, ImpossibleAllocationsAreRefused) {
  const auto refused = [&](auto change) {
    AllocParams params;
    change(params);
    CUgraphNode node = nullptr;
    return add_alloc(&node, graph_, nullptr, 0, &params);
  };
  using P = AllocParams;
  EXPECT_EQ(refused([](P& p) { p.size = 0; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused([](P& p) { p.size = ~size_t{0}; }), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(refused([](P& p) { p.size = size_t{1} << 40; }), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(refused([](P& p) { p.type = 0; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused([](P& p) { p.handle_types = 1; }), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(refused([](P& p) { p.location.id = 77; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused([](P& p) { p.location.type = CU_MEM_LOCATION_TYPE_INVALID; }),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(refused([](P& p) { p.location.type = CU_MEM_LOCATION_TYPE_HOST; }),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(refused([](P& p) { p.reserved[3] = 1; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(NodesOf(graph_).empty());
  CUgraphNode node = nullptr;
  AllocParams params;
  EXPECT_EQ(add_alloc(&node, graph_, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add_alloc(nullptr, graph_, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add_alloc(&node, nullptr, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryNodesTest, AccessIsGrantedToDevicesForReadingAndWriting) {
  CUmemAccessDesc grant = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  AllocParams params;
  params.grants = &grant;
  params.grant_count = 1;
  CUgraphNode node = nullptr;
  EXPECT_EQ(add_alloc(&node, graph_, nullptr, 0, &params), CUDA_SUCCESS);
  AllocParams told;
  EXPECT_EQ(alloc_params(node, &told), CUDA_SUCCESS);
  EXPECT_EQ(told.grant_count, 1u);
  EXPECT_NE(told.grants, &grant);
  grant.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  EXPECT_EQ(add_alloc(&node, graph_, nullptr, 0, &params), CUDA_ERROR_NOT_SUPPORTED);
  grant.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  grant.location.id = 99;
  EXPECT_EQ(add_alloc(&node, graph_, nullptr, 0, &params), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(MemoryNodesTest, OnlyWhatNodesAllocateIsFreedByNodesAndOncePerGraph) {
  const Allocated added = AddAlloc(4096);
  CUdeviceptr of_stream = 0;
  EXPECT_EQ(allocate_async(&of_stream, 64, stream_), CUDA_SUCCESS);
  CUgraphNode node = nullptr;
  for (const CUdeviceptr address :
       {CUdeviceptr{0}, CUdeviceptr{0x1234}, added.address + 512, memory_, of_stream}) {
    EXPECT_EQ(add_free(&node, graph_, nullptr, 0, address), CUDA_ERROR_INVALID_VALUE) << address;
  }
  AddFree(added.address);
  EXPECT_EQ(add_free(&node, graph_, nullptr, 0, added.address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_async(of_stream, stream_), CUDA_SUCCESS);
}

TEST_F(MemoryNodesTest, GenericFunctionsAddThemToo) {
  GenericParams params;
  params.type = kAllocType;
  AllocParams wanted;
  std::memcpy(params.of_type, &wanted, sizeof(wanted));
  CUgraphNode alloc = nullptr;
  EXPECT_EQ(add_node(&alloc, graph_, nullptr, nullptr, 0, &params), CUDA_SUCCESS);
  std::memcpy(&wanted, params.of_type, sizeof(wanted));
  EXPECT_NE(wanted.address, 0u);
  GenericParams freed;
  freed.type = kFreeType;
  std::memcpy(freed.of_type, &wanted.address, sizeof(wanted.address));
  CUgraphNode free_node = nullptr;
  EXPECT_EQ(add_node(&free_node, graph_, &alloc, nullptr, 1, &freed), CUDA_SUCCESS);
  EXPECT_EQ(set_params(alloc, &params), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(set_params(free_node, &freed), CUDA_ERROR_NOT_SUPPORTED);
  Run(Instantiate());
}

// --- What such graphs cannot do

TEST_F(MemoryNodesTest, NothingIsTakenOutOfAGraphWithThem) {
  const Allocated added = AddAlloc();
  const CUgraphNode empty = AddEmpty({added.node});
  EXPECT_EQ(cuGraphDestroyNode(added.node), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuGraphDestroyNode(empty), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(remove_dependencies(graph_, &added.node, &empty, nullptr, 1), CUDA_ERROR_NOT_SUPPORTED);
  const CUgraphNode other = AddEmpty();
  EXPECT_EQ(add_dependencies(graph_, &added.node, &other, nullptr, 1), CUDA_SUCCESS);
}

TEST_F(MemoryNodesTest, AGraphWithThemIsNotCopied) {
  const Allocated added = AddAlloc();
  const CUgraph freeing = MakeGraph();
  AddFree(freeing, added.address);
  for (const CUgraph graph : {graph_, freeing}) {
    CUgraph clone = nullptr;
    EXPECT_EQ(cuGraphClone(&clone, graph), CUDA_ERROR_NOT_SUPPORTED);
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddChildGraphNode(&node, MakeGraph(), nullptr, 0, graph),
              CUDA_ERROR_NOT_SUPPORTED);
  }
}

TEST_F(MemoryNodesTest, OneExecutableGraphExistsAtATime) {
  AddAlloc();
  CUgraphExec first = nullptr;
  CUgraphExec second = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&first, graph_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&second, graph_, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuGraphNodeSetEnabled(first, NodesOf(graph_)[0], 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphExecDestroy(first), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&second, graph_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecDestroy(second), CUDA_SUCCESS);
}

// --- Launches

TEST_F(MemoryNodesTest, MemoryIsThereBetweenItsNodes) {
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

TEST_F(MemoryNodesTest, KernelsUseIt) {
  const Allocated added = AddAlloc();
  const CUDA_KERNEL_NODE_PARAMS kernel = KernelOf(set_, added.address, 11);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddKernelNode(&node, graph_, &added.node, 1, &kernel), CUDA_SUCCESS);
  Run(Instantiate());
  EXPECT_EQ(NumberAt(added.address), 11u);
  EXPECT_EQ(cuMemFree(added.address), CUDA_SUCCESS);
}

TEST_F(MemoryNodesTest, WhatIsNotFreedStaysAndForbidsAnotherLaunch) {
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

TEST_F(MemoryNodesTest, WhatIsNotFreedOutlivesTheGraph) {
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

TEST_F(MemoryNodesTest, WhatWasNeverLaunchedIsNotFreed) {
  const CUdeviceptr address = AddAlloc().address;
  EXPECT_EQ(cuMemFree(address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_async(address, stream_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryNodesTest, AutoFreeFreesWhatTheLaunchBeforeLeft) {
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

TEST_F(MemoryNodesTest, AnotherGraphFreesItIfItIsThere) {
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

// --- What graphs have of the device

TEST_F(MemoryNodesTest, GraphsTakeMemoryInChunksWhenTheyNeedIt) {
  const Allocated added = AddAlloc(3 << 20);
  AddFree(added.address, {added.node});
  const CUgraphExec executable = Instantiate();
  for (int attribute = 0; attribute < 4; ++attribute) {
    EXPECT_EQ(set_attribute(0, attribute, std::vector<uint64_t>{0}.data()),
              attribute % 2 == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(Get(attribute), 0u) << attribute;
  }
  EXPECT_EQ(upload(executable, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  for (int attribute = 0; attribute < 4; ++attribute) EXPECT_EQ(Get(attribute), kChunk);
  Run(executable);
  for (int attribute = 0; attribute < 4; ++attribute) EXPECT_EQ(Get(attribute), kChunk);
  EXPECT_EQ(trim(0), CUDA_SUCCESS);
  for (int attribute = 0; attribute < 4; ++attribute) {
    EXPECT_EQ(Get(attribute), attribute % 2 == 1 ? kChunk : 0) << attribute;
  }
  Run(executable);
}

TEST_F(MemoryNodesTest, AttributesHaveTheirDeviceAndNumber) {
  uint64_t value = 1;
  EXPECT_EQ(get_attribute(0, 4, &value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_attribute(0, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_attribute(77, 1, &value), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(set_attribute(0, 1, &value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_attribute(0, 1, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(trim(77), CUDA_ERROR_INVALID_DEVICE);
}

// --- Captures

TEST_F(MemoryNodesTest, StreamOrderedMemoryIsCaptured) {
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

TEST_F(MemoryNodesTest, CapturesFreeOnlyWhatNodesAllocate) {
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

TEST_F(MemoryNodesTest, AGraphWithThemIsMovedIntoAnother) {
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

}  // namespace
}  // namespace twinmmu::abi
