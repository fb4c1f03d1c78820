// Nodes that are given other work than they were made with, in a graph and in an executable graph,
// and what is not theirs.

#include <cstring>
#include <map>
#include <vector>

#include "conformance/abi/graphs/node_memory.h"

namespace twinmmu::abi {
namespace {

const Function<CUresult(CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*)> set_kernel(
    "cuGraphKernelNodeSetParams_v2");
const Function<CUresult(CUgraphNode, const CUDA_MEMCPY3D*)> set_copy("cuGraphMemcpyNodeSetParams");
const Function<CUresult(CUgraphNode, const CUDA_MEMSET_NODE_PARAMS*)> set_fill(
    "cuGraphMemsetNodeSetParams");
const Function<CUresult(CUgraphExec, CUgraphNode, const CUDA_MEMSET_NODE_PARAMS*, CUcontext)>
    set_fill_of_executable("cuGraphExecMemsetNodeSetParams");
const Function<CUresult(CUgraphNode, const CUDA_HOST_NODE_PARAMS*)> set_call(
    "cuGraphHostNodeSetParams");
const Function<CUresult(CUgraphExec, CUgraphNode, const CUDA_HOST_NODE_PARAMS*)>
    set_call_of_executable("cuGraphExecHostNodeSetParams");
const Function<CUresult(CUgraphNode, CUDA_HOST_NODE_PARAMS*)> get_call("cuGraphHostNodeGetParams");
const Function<CUresult(CUgraphExec, uint64_t*)> get_flags("cuGraphExecGetFlags");
const Function<CUresult(CUgraphExec, CUgraphNode, CUgraph)> set_child(
    "cuGraphExecChildGraphNodeSetParams");
const Function<CUresult(CUgraphExec, CUgraphNode, GenericParams*)> set_node_of_executable(
    "cuGraphExecNodeSetParams");

void Add(void* number) { *static_cast<int*>(number) += 1; }
void AddTen(void* number) { *static_cast<int*>(number) += 10; }

class NodeSettingsGraphTest : public GraphTest {
 protected:
  CUgraphNode AddCall(CUhostFn function) {
    const CUDA_HOST_NODE_PARAMS call = {function, &number_};
    CUgraphNode node = nullptr;
    EXPECT_EQ(cuGraphAddHostNode(&node, graph_, nullptr, 0, &call), CUDA_SUCCESS);
    return node;
  }

  int number_ = 0;
};

TEST_F(NodeSettingsGraphTest, AKernelHasOtherArguments) {
  const CUgraphNode node = AddKernel(set_, 3);
  const CUDA_KERNEL_NODE_PARAMS other = KernelOf(set_, memory_, 9);
  EXPECT_EQ(set_kernel(node, &other), CUDA_SUCCESS);
  Run(Instantiate());
  EXPECT_EQ(Number(), 9u);
  EXPECT_EQ(set_kernel(AddEmpty(), &other), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(NodeSettingsGraphTest, AFillHasAnotherValue) {
  const CUgraphNode node = AddFill(FillOf(memory_, 3));
  const CUDA_MEMSET_NODE_PARAMS other = FillOf(memory_, 9);
  EXPECT_EQ(set_fill(node, &other), CUDA_SUCCESS);
  const CUgraphExec executable = Instantiate();
  Run(executable);
  EXPECT_EQ(Number(), 9u);
  const CUDA_MEMSET_NODE_PARAMS third = FillOf(memory_, 27);
  EXPECT_EQ(set_fill_of_executable(executable, node, &third, context_), CUDA_SUCCESS);
  Run(executable);
  EXPECT_EQ(Number(), 27u);
}

// Source: an H200 with driver 580.159; as the one below.
TEST_F(NodeSettingsGraphTest, AFillOfRowsMovesInAnExecutableGraph) {
  CUDA_MEMSET_NODE_PARAMS rows = FillOf(memory_, 3);
  rows.height = 2;
  rows.pitch = 64;
  const CUgraphNode node = AddFill(rows);
  const CUgraphExec executable = Instantiate();
  rows.dst += 64;
  rows.value = 9;
  EXPECT_EQ(set_fill_of_executable(executable, node, &rows, context_), CUDA_SUCCESS);
  EXPECT_EQ(set_fill(node, &rows), CUDA_SUCCESS);
  UpdateInfo info = {};
  EXPECT_EQ(update(executable, graph_, &info), CUDA_SUCCESS);
}

TEST_F(NodeSettingsGraphTest, TheRowsOfAFillInAnExecutableGraphStayAsTheyAre) {
  CUDA_MEMSET_NODE_PARAMS rows = FillOf(memory_, 3);
  rows.height = 2;
  rows.pitch = 64;
  const CUgraphNode node = AddFill(rows);
  const CUgraphExec executable = Instantiate();
  for (const auto change : {+[](CUDA_MEMSET_NODE_PARAMS& fill) { fill.height = 1; },
                            +[](CUDA_MEMSET_NODE_PARAMS& fill) { fill.height = 3; },
                            +[](CUDA_MEMSET_NODE_PARAMS& fill) { fill.pitch = 128; },
                            +[](CUDA_MEMSET_NODE_PARAMS& fill) { fill.width = 8; },
                            +[](CUDA_MEMSET_NODE_PARAMS& fill) { fill.elementSize = 1; }}) {
    CUDA_MEMSET_NODE_PARAMS other = rows;
    change(other);
    EXPECT_EQ(set_fill_of_executable(executable, node, &other, context_), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(set_fill(node, &other), CUDA_SUCCESS);
    UpdateInfo info = {};
    EXPECT_EQ(update(executable, graph_, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  }
}

TEST_F(NodeSettingsGraphTest, AFillIsOfElementsThatThereAre) {
  const CUgraphNode node = AddFill(FillOf(memory_, 3));
  const CUgraphExec executable = Instantiate();
  CUDA_MEMSET_NODE_PARAMS wrong = FillOf(memory_, 9);
  wrong.elementSize = 3;
  EXPECT_EQ(set_fill(node, &wrong), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_fill_of_executable(executable, node, &wrong, context_), CUDA_ERROR_INVALID_VALUE);
  Run(executable);
  EXPECT_EQ(Number(), 3u);
}

TEST_F(NodeSettingsGraphTest, ACopyGoesElsewhere) {
  ASSERT_EQ(cuMemsetD32(memory_, 5, 1), CUDA_SUCCESS);
  CUDA_MEMCPY3D copy = CopyOf(memory_ + 64, memory_, 4);
  CUgraphNode node = nullptr;
  ASSERT_EQ(cuGraphAddMemcpyNode(&node, graph_, nullptr, 0, &copy, context_), CUDA_SUCCESS);
  copy = CopyOf(memory_ + 128, memory_, 4);
  EXPECT_EQ(set_copy(node, &copy), CUDA_SUCCESS);
  Run(Instantiate());
  EXPECT_EQ(Number(128), 5u);
  EXPECT_EQ(set_copy(AddEmpty(), &copy), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(NodeSettingsGraphTest, AnotherFunctionIsCalled) {
  const CUgraphNode node = AddCall(Add);
  const CUDA_HOST_NODE_PARAMS other = {AddTen, &number_};
  EXPECT_EQ(set_call(node, &other), CUDA_SUCCESS);
  CUDA_HOST_NODE_PARAMS found = {};
  EXPECT_EQ(get_call(node, &found), CUDA_SUCCESS);
  EXPECT_EQ(found.fn, AddTen);
  EXPECT_EQ(found.userData, &number_);
  const CUgraphExec executable = Instantiate();
  Run(executable);
  EXPECT_EQ(number_, 10);
  const CUDA_HOST_NODE_PARAMS first = {Add, &number_};
  EXPECT_EQ(set_call_of_executable(executable, node, &first), CUDA_SUCCESS);
  Run(executable);
  EXPECT_EQ(number_, 11);
}

TEST_F(NodeSettingsGraphTest, AnotherChildGraphRuns) {
  const CUgraph child = MakeGraph();
  const CUgraph other = MakeGraph();
  AddKernel(child, set_, 3);
  AddKernel(other, set_, 9);
  const CUgraphNode empty = AddEmpty();
  CUgraphNode node = nullptr;
  ASSERT_EQ(cuGraphAddChildGraphNode(&node, graph_, nullptr, 0, child), CUDA_SUCCESS);
  const CUgraphExec executable = Instantiate();
  EXPECT_EQ(set_child(executable, node, other), CUDA_SUCCESS);
  Run(executable);
  EXPECT_EQ(Number(), 9u);
  EXPECT_EQ(set_child(executable, empty, other), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(NodeSettingsGraphTest, ANodeOfAnExecutableGraphStaysOfItsType) {
  const CUgraphNode node = AddKernel(set_, 3);
  const CUgraphExec executable = Instantiate();
  const CUDA_KERNEL_NODE_PARAMS kernel = KernelOf(set_, memory_, 9);
  GenericParams params;
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  std::memcpy(params.of_type, &kernel, sizeof(kernel));
  EXPECT_EQ(set_node_of_executable(executable, node, &params), CUDA_SUCCESS);
  GenericParams empty;
  empty.type = CU_GRAPH_NODE_TYPE_EMPTY;
  EXPECT_EQ(set_node_of_executable(executable, node, &empty), CUDA_ERROR_INVALID_VALUE);
  Run(executable);
  EXPECT_EQ(Number(), 9u);
}

TEST_F(NodeSettingsGraphTest, OnlyNodesThatCallHaveFunctions) {
  const CUgraphNode node = AddEmpty();
  const CUgraphExec executable = Instantiate();
  CUDA_HOST_NODE_PARAMS call = {Add, &number_};
  EXPECT_EQ(set_call(node, &call), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_call(node, &call), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set_call_of_executable(executable, node, &call), CUDA_ERROR_INVALID_VALUE);
}

// The bytes of an attribute are told, and none behind them.
TEST_F(NodeSettingsGraphTest, AttributesAreAsLongAsTheyAre) {
  const CUgraphNode node = AddKernel(add_, 1);
  const std::map<int, std::vector<size_t>> left = {{1, {32}}, {2, {4}},         {4, {12}},
                                                   {5, {4}},  {8, {4}},         {9, {2}},
                                                   {10, {4}}, {13, {4, 7, 16}}, {14, {4}}};
  for (const auto& [id, bytes] : left) {
    NodeAttributeValue value;
    std::memset(static_cast<void*>(&value), 0x55, sizeof(value));
    EXPECT_EQ(get_node_attribute(node, id, &value), CUDA_SUCCESS) << id;
    unsigned char told[64];
    std::memcpy(told, &value, sizeof(told));
    EXPECT_NE(told[bytes[0] - 1], 0x55) << id;
    for (const size_t byte : bytes) EXPECT_EQ(told[byte], 0x55) << id << " " << byte;
  }
}

TEST_F(NodeSettingsGraphTest, AttributesHaveValuesThatThereAre) {
  const CUgraphNode node = AddKernel(add_, 1);
  const auto set = [&](int id, int first, int third = 0) {
    NodeAttributeValue value = {};
    const int words[] = {first, 0, third};
    std::memcpy(static_cast<void*>(&value), words, sizeof(words));
    return set_node_attribute(node, id, &value);
  };
  EXPECT_EQ(set(5, 1000), CUDA_SUCCESS);  // how clusters are placed: any number
  EXPECT_EQ(set(9, 0x0303), CUDA_SUCCESS);
  EXPECT_EQ(set(9, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(10, 1), CUDA_SUCCESS);
  EXPECT_EQ(set(10, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(13, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(13, 0, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(13, 1), CUDA_SUCCESS);
  EXPECT_EQ(set(14, 100), CUDA_SUCCESS);
  EXPECT_EQ(set(14, 101), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(16, 1), CUDA_SUCCESS);
  EXPECT_EQ(set(16, 2), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(NodeSettingsGraphTest, NumbersOfNodesAndFlagsAreAskedFor) {
  const CUgraphNode node = AddEmpty();
  EXPECT_EQ(cuGraphGetRootNodes(graph_, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_dependent_nodes(node, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get_flags(Instantiate(), nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(NodeSettingsGraphTest, ACaptureIsAskedFor) {
  EXPECT_EQ(cuStreamIsCapturing(stream_, nullptr), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace twinmmu::abi
