// Nodes of graphs that allocate memory and free it. Source: an H100 with driver 580.159.

#include <cstring>
#include <vector>

#include "conformance/abi/graphs/node_memory.h"

namespace twinmmu::abi {
namespace {

constexpr Function<CUresult(CUgraphExec, CUgraphNode, CUgraph)> set_child_inside(
    "cuGraphExecChildGraphNodeSetParams");

class MemoryNodesTest : public NodeMemoryTest {
 protected:
  // The graph of a new node of `graph` that runs a copy of `child`.
  static CUgraph AddChild(CUgraph graph, CUgraph child) {
    CUgraphNode node = nullptr;
    CUgraph inside = nullptr;
    EXPECT_EQ(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphChildGraphNodeGetGraph(node, &inside), CUDA_SUCCESS);
    return inside;
  }
  // It becomes a child of graph_.
  CUgraph AddMoved(CUgraph child) {
    EXPECT_EQ(Add(graph_, CU_GRAPH_NODE_TYPE_GRAPH, ChildParams{child, kMoved}), CUDA_SUCCESS);
    return child;
  }
  template <typename Params>
  static CUresult Add(CUgraph graph, int type, const Params& of_type) {
    GenericParams params;
    params.type = type;
    std::memcpy(params.of_type, &of_type, sizeof(of_type));
    CUgraphNode node = nullptr;
    return add_node(&node, graph, nullptr, nullptr, 0, &params);
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

// Source: an H200 with driver 580.159.
TEST_F(MemoryNodesTest, WhatIsWrongIsFoundInOneOrder) {
  const CUgraphNode node = AddEmpty();
  const CUgraphNode other = AddEmpty(MakeGraph());
  const auto add = [&](const Nodes& after, size_t size, int type, int handle_types, int device) {
    AllocParams params;
    params.size = size;
    params.type = type;
    params.handle_types = handle_types;
    params.location.id = device;
    CUgraphNode added = nullptr;
    return add_alloc(&added, graph_, after.data(), after.size(), &params);
  };
  constexpr size_t kTooMuch = size_t{1} << 40;
  EXPECT_EQ(add({other}, 64, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add({}, 64, 0, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add({}, 64, 1, 1, 77), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add({}, 0, 1, 1, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(add({node, node}, 64, 1, 1, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(add({node, node}, kTooMuch, 1, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add({node}, kTooMuch, 1, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
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

// Whatever it is a number of, it must be that of a device.
TEST_F(MemoryNodesTest, AccessIsGrantedToPlacesOfTheHostInName) {
  const auto add = [&](int type, int id, int flags) {
    CUmemAccessDesc grant = {{static_cast<CUmemLocationType>(type), id},
                             static_cast<CUmemAccess_flags>(flags)};
    AllocParams params;
    params.grants = &grant;
    params.grant_count = 1;
    CUgraphNode node = nullptr;
    return add_alloc(&node, graph_, nullptr, 0, &params);
  };
  for (const int type : {2, 3}) {  // CU_MEM_LOCATION_TYPE_HOST, ..._HOST_NUMA
    EXPECT_EQ(add(type, 0, 3), CUDA_SUCCESS);
    EXPECT_EQ(add(type, 0, 1), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(add(type, 0, 2), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(add(type, 99, 3), CUDA_ERROR_INVALID_DEVICE);
  }
  EXPECT_EQ(add(0, 0, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(4, 0, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(4, 99, 3), CUDA_ERROR_INVALID_DEVICE);
}

// As the driver says that it is.
TEST_F(MemoryNodesTest, ManagedMemoryIsThatOfADevice) {
  AllocParams params;
  params.size = 64;
  params.type = 2;  // CU_MEM_ALLOCATION_TYPE_MANAGED
  CUgraphNode node = nullptr;
  ASSERT_EQ(add_alloc(&node, graph_, nullptr, 0, &params), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph_, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphLaunch(executable, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream_), CUDA_SUCCESS);
  unsigned int managed = 77;
  EXPECT_EQ(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, params.address),
            CUDA_SUCCESS);
  EXPECT_EQ(managed, 0u);
  EXPECT_EQ(cuMemFree(params.address), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
}

TEST_F(MemoryNodesTest, MemoryOfNodesIsOnADevice) {
  const auto add = [&](int of_type, int location, int handle_types) {
    AllocParams params;
    params.type = of_type;
    params.handle_types = handle_types;
    params.location.type = static_cast<CUmemLocationType>(location);
    CUgraphNode node = nullptr;
    return add_alloc(&node, graph_, nullptr, 0, &params);
  };
  EXPECT_EQ(add(1, 2, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(add(1, 2, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(1, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(1, 1, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(2, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(add(2, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(2, 1, 1), CUDA_ERROR_INVALID_VALUE);
  AllocParams used;
  used.type = 2;
  used.usage = 1;
  CUgraphNode node = nullptr;
  EXPECT_EQ(add_alloc(&node, graph_, nullptr, 0, &used), CUDA_ERROR_INVALID_VALUE);
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

// Source: an H200 with driver 580.159.
TEST_F(MemoryNodesTest, WhatAnExecutableGraphAllocatesIsNotFreedByAnotherNode) {
  const CUgraphNode empty = AddEmpty();
  const CUgraphExec before = Instantiate();
  const Allocated added = AddAlloc();
  CUgraphExec executable = nullptr;
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph_, 0), CUDA_SUCCESS);
  CUgraphNode node = nullptr;
  EXPECT_EQ(add_free(&node, graph_, &empty, 1, added.address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(add_free(&node, graph_, &empty, 1, added.address), CUDA_ERROR_INVALID_VALUE);
  Run(before);
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
  EXPECT_EQ(set_node_params(alloc, &params), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(set_node_params(free_node, &freed), CUDA_ERROR_NOT_SUPPORTED);
  Run(Instantiate());
}

TEST_F(MemoryNodesTest, CopiesAndFillsEndWithTheAllocation) {
  const CUdeviceptr address = AddAlloc(4096).address;
  const CUgraph graph = MakeGraph();
  CUgraphNode node = nullptr;
  CUDA_MEMSET_NODE_PARAMS fill = FillOf(address, 7, 1024);
  EXPECT_EQ(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, context_), CUDA_SUCCESS);
  fill.width = 1025;
  EXPECT_EQ(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, context_),
            CUDA_ERROR_INVALID_VALUE);
  fill = FillOf(address + (1 << 20), 7);
  EXPECT_EQ(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, context_),
            CUDA_ERROR_INVALID_VALUE);
  CUDA_MEMCPY3D copy = CopyOf(address + 512, address, 64);
  EXPECT_EQ(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, context_), CUDA_SUCCESS);
  copy.WidthInBytes = 1 << 20;
  EXPECT_EQ(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, context_),
            CUDA_ERROR_INVALID_VALUE);
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

// Copied or moved, at any depth. Source: an H200 with driver 580.159.
TEST_F(MemoryNodesTest, AGraphInsideAnotherGetsNone) {
  const CUgraph middle = MakeGraph();
  AddChild(middle, MakeGraph());
  CUgraph moved = nullptr;
  ASSERT_EQ(cuGraphCreate(&moved, 0), CUDA_SUCCESS);
  const Allocated before = AddAlloc(moved);
  const CUgraph copied = AddChild(graph_, middle);
  CUgraph deep = nullptr;
  ASSERT_EQ(cuGraphChildGraphNodeGetGraph(NodesOf(copied)[0], &deep), CUDA_SUCCESS);
  for (const CUgraph inside : {copied, deep, AddMoved(moved)}) {
    AllocParams params;
    CUgraphNode node = nullptr;
    EXPECT_EQ(add_alloc(&node, inside, nullptr, 0, &params), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(add_free(&node, inside, nullptr, 0, before.address), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(add_free(&node, inside, nullptr, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(Add(inside, kAllocType, params), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(Add(inside, kFreeType, before.address), CUDA_ERROR_NOT_SUPPORTED);
  }
}

TEST_F(MemoryNodesTest, OtherErrorsComeBeforeThatAGraphIsInsideAnother) {
  const CUgraph inside = AddChild(graph_, MakeGraph());
  AllocParams params;
  CUgraphNode node = nullptr;
  EXPECT_EQ(add_alloc(&node, inside, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add_alloc(&node, inside, nullptr, 3, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add_free(&node, inside, nullptr, 3, 0), CUDA_ERROR_INVALID_VALUE);
  params.size = 0;
  EXPECT_EQ(add_alloc(&node, inside, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(MemoryNodesTest, ACaptureToAGraphInsideAnotherAllocatesNone) {
  const Function<CUresult(CUstream, CUgraph, const CUgraphNode*, const EdgeData*, size_t,
                          CUstreamCaptureMode)>
      begin_to_graph("cuStreamBeginCaptureToGraph");
  const CUgraph inside = AddChild(graph_, MakeGraph());
  ASSERT_EQ(begin_to_graph(stream_, inside, nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  CUdeviceptr address = 0;
  EXPECT_EQ(allocate_async(&address, 64, stream_), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(free_async(0, stream_), CUDA_SUCCESS) << "that is no node";
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream_, &graph), CUDA_SUCCESS);
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

// Source: an H200 with driver 580.159.
TEST_F(MemoryNodesTest, ExecutableGraphsFromBeforeTheFirstNodeDoNotCount) {
  AddEmpty();
  Instantiate();
  Instantiate();
  AddAlloc();
  Instantiate();
  CUgraphExec another = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&another, graph_, 0), CUDA_ERROR_NOT_SUPPORTED);
}

// Source: an H200 with driver 580.159.
TEST_F(MemoryNodesTest, AGraphWhoseNodeFoundNoMemoryIsOneOfMemoryAllTheSame) {
  const CUgraphNode empty = AddEmpty();
  AllocParams params;
  params.size = 0;
  CUgraphNode node = nullptr;
  EXPECT_EQ(add_alloc(&node, graph_, nullptr, 0, &params), CUDA_ERROR_INVALID_VALUE);
  CUgraph clone = nullptr;
  EXPECT_EQ(cuGraphClone(&clone, graph_), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(clone), CUDA_SUCCESS);
  params.size = size_t{1} << 40;
  EXPECT_EQ(add_alloc(&node, graph_, nullptr, 0, &params), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuGraphClone(&clone, graph_), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuGraphAddChildGraphNode(&node, MakeGraph(), nullptr, 0, graph_),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuGraphDestroyNode(empty), CUDA_ERROR_NOT_SUPPORTED);
  Instantiate();
  CUgraphExec another = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&another, graph_, 0), CUDA_ERROR_NOT_SUPPORTED);
}

// Whatever else is wrong. Source: an H200 with driver 580.159.
TEST_F(MemoryNodesTest, AGraphOfMemoryUpdatesNoExecutableGraphBesideItsOwn) {
  CUgraph other = MakeGraph();
  const CUgraphNode empty = AddEmpty(other);
  const CUgraphExec of_other = Instantiate(other);
  AddAlloc();
  EXPECT_EQ(set_child_inside(of_other, empty, graph_), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(set_child_inside(of_other, AddEmpty(other), graph_),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
      << "a node that it does not have";
  UpdateInfo info = {99, nullptr, nullptr};
  EXPECT_EQ(update(of_other, graph_, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  Instantiate();
  EXPECT_EQ(update(of_other, graph_, &info), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(info.result, 0);
}

}  // namespace
}  // namespace twinmmu::abi
