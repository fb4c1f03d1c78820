// Updates of executable graphs by whole graphs. Measured on an H100 with driver 580.159.

#include "conformance/abi/graphs/graph_fixture.h"

namespace twinmmu::abi {
namespace {

enum Result {
  kSuccess = 0,
  kTopologyChanged = 2,
  kTypeChanged = 3,
  kParametersChanged = 5,
  kAttributesChanged = 8,
};

// An executable graph: a kernel, a fill, a host function, one behind the other. And another graph.
class GraphUpdatesTest : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    if (IsSkipped()) return;
    kernel_ = AddKernel(add_, 1);
    AddHost(graph_, {AddFill(FillOf(memory_ + 64, 1), {kernel_})});
    executable_ = Instantiate();
    other_ = MakeGraph();
  }
  void ExpectRefused(Result result, CUgraphNode node) {
    UpdateInfo info = {99, node, node};
    EXPECT_EQ(update(executable_, other_, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    EXPECT_EQ(info.result, result);
    EXPECT_EQ(info.error_node, node);
    EXPECT_EQ(info.error_from_node, nullptr);
    Run(executable_);
    EXPECT_EQ(Number(), 1u);  // as before
  }

  CUgraphNode kernel_ = nullptr;
  CUgraphExec executable_ = nullptr;
  CUgraph other_ = nullptr;
};

TEST_F(GraphUpdatesTest, AGraphOfTheSameShapeTakesItsPlace) {
  const CUgraphNode kernel = AddKernel(other_, add_, 50);
  AddHost(other_, {AddFill(other_, FillOf(memory_ + 64, 7), {kernel})});
  UpdateInfo info = {99, kernel, kernel};
  EXPECT_EQ(update(executable_, other_, &info), CUDA_SUCCESS);
  EXPECT_EQ(info.result, kSuccess);
  EXPECT_EQ(info.error_node, nullptr);
  Run(executable_);
  EXPECT_EQ(Number(), 50u);
  EXPECT_EQ(Number(64), 7u);
}

TEST_F(GraphUpdatesTest, NodesKeepTheirNames) {
  const CUgraphNode kernel = AddKernel(other_, add_, 50);
  AddHost(other_, {AddFill(other_, FillOf(memory_ + 64, 7), {kernel})});
  EXPECT_EQ(update(executable_, other_, nullptr), CUDA_SUCCESS);
  const CUDA_KERNEL_NODE_PARAMS params = KernelOf(add_, memory_, 2);
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(executable_, kernel, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(executable_, kernel_, &params), CUDA_SUCCESS);
}

TEST_F(GraphUpdatesTest, AnotherFunctionMayTakeItsPlace) {
  const CUgraphNode kernel = AddKernel(other_, set_, 50);
  AddHost(other_, {AddFill(other_, FillOf(memory_ + 64, 7), {kernel})});
  EXPECT_EQ(update(executable_, other_, nullptr), CUDA_SUCCESS);
}

TEST_F(GraphUpdatesTest, TheOrderInWhichNodesWereMadeDoesNotMatter) {
  const CUgraphNode fill = AddFill(other_, FillOf(memory_ + 64, 7));
  const CUgraphNode kernel = AddKernel(other_, add_, 50);
  AddHost(other_, {fill});
  EXPECT_EQ(add_dependencies(other_, &kernel, &fill, nullptr, 1), CUDA_SUCCESS);
  EXPECT_EQ(update(executable_, other_, nullptr), CUDA_SUCCESS);
}

// Leaves stand where others do that became leaves in the same order.
TEST_F(GraphUpdatesTest, ANewLeafOfACloneIsItsLatest) {
  const CUgraph graph = MakeGraph();
  const CUgraphNode first = AddEmpty(graph);
  AddEmpty(graph);
  EXPECT_EQ(cuGraphDestroyNode(AddEmpty(graph, {first})), CUDA_SUCCESS);  // a leaf again
  CUgraph clone = nullptr;
  ASSERT_EQ(cuGraphClone(&clone, graph), CUDA_SUCCESS);
  AddFill(clone, FillOf(memory_, 7));
  AddEmpty(other_);
  AddEmpty(other_);
  AddFill(other_, FillOf(memory_, 1));
  const CUgraphExec executable = Instantiate(other_);
  EXPECT_EQ(update(executable, clone, nullptr), CUDA_SUCCESS);
  Run(executable);
  EXPECT_EQ(Number(), 7u);
  EXPECT_EQ(cuGraphDestroy(clone), CUDA_SUCCESS);
}

TEST_F(GraphUpdatesTest, FewerOrMoreNodesAreAnotherTopology) {
  const CUgraphNode kernel = AddKernel(other_, add_, 1);
  const CUgraphNode fill = AddFill(other_, FillOf(memory_ + 64, 7), {kernel});
  ExpectRefused(kTopologyChanged, nullptr);
  EXPECT_EQ(cuMemsetD32(memory_, 0, 1), CUDA_SUCCESS);
  AddHost(other_, {AddHost(other_, {fill})});
  ExpectRefused(kTopologyChanged, nullptr);
}

TEST_F(GraphUpdatesTest, TheFirstFormTellsTheResultAndTheNode) {
  const Function<CUresult(CUgraphExec, CUgraph, CUgraphNode*, int*)> first_form(
      "cuGraphExecUpdate");
  constexpr int kNotSupported = 6;
  CUgraphNode node = kernel_;
  int result = 99;
  const CUgraphNode kernel = AddKernel(other_, add_, 1);
  EXPECT_EQ(first_form(executable_, other_, &node, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(result, kNotSupported) << "fewer nodes";
  EXPECT_EQ(node, nullptr);
  const CUgraphNode empty = AddEmpty(other_, {kernel});
  AddHost(other_, {empty});
  EXPECT_EQ(first_form(executable_, other_, &node, &result), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(result, kTypeChanged);
  EXPECT_EQ(node, empty);
  EXPECT_EQ(first_form(executable_, graph_, &node, &result), CUDA_SUCCESS);
  EXPECT_EQ(result, kSuccess);
  EXPECT_EQ(node, nullptr);
}

TEST_F(GraphUpdatesTest, AnotherLeafIsAnotherTopology) {
  const CUgraphNode kernel = AddKernel(other_, add_, 1);
  const CUgraphNode fill = AddFill(other_, FillOf(memory_ + 64, 7), {kernel});
  AddHost(other_, {kernel});
  ExpectRefused(kTopologyChanged, fill);
}

TEST_F(GraphUpdatesTest, ALeafThatIsMissingIsAnotherTopology) {
  const auto fill = [&](CUgraph graph, const Nodes& after = {}) {
    return AddFill(graph, FillOf(memory_, 1), after);
  };
  CUgraph two_leaves = MakeGraph();
  fill(two_leaves);
  const CUgraphNode first = fill(two_leaves);
  fill(two_leaves, {fill(two_leaves, {first}), fill(two_leaves, {first})});
  const CUgraphExec executable = Instantiate(two_leaves);
  CUgraph one_leaf = MakeGraph();
  fill(one_leaf, {fill(one_leaf, {fill(one_leaf)}), fill(one_leaf, {fill(one_leaf)})});
  UpdateInfo info = {};
  EXPECT_EQ(update(executable, one_leaf, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
}

// Source: an H200 with driver 580.159.
TEST_F(GraphUpdatesTest, LeavesAreCountedBeforeTheirTypesAreLookedAt) {
  const CUgraphNode kernel = AddKernel(other_, add_, 1);
  AddEmpty(other_, {kernel});
  AddEmpty(other_, {kernel});
  UpdateInfo info = {};
  EXPECT_EQ(update(executable_, other_, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, kTopologyChanged);
  const CUgraph three = MakeGraph();
  for (int i = 0; i < 3; ++i) AddEmpty(three);
  const CUgraphExec with_three_leaves = Instantiate(three);
  EXPECT_EQ(update(with_three_leaves, graph_, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, kTopologyChanged);
}

// Source: an H200 with driver 580.159.
TEST_F(GraphUpdatesTest, TheDependenciesOfANodeAreCountedBeforeItsTypeIsLookedAt) {
  const CUgraph two = MakeGraph();
  const Nodes both = {AddEmpty(two), AddEmpty(two)};
  AddHost(two, both);
  const CUgraphExec executable = Instantiate(two);
  const CUgraphNode first = AddEmpty(other_);
  const CUgraphNode second = AddEmpty(other_, {first});
  const CUgraphNode leaf = AddKernel(other_, add_, 1, {second});
  UpdateInfo info = {};
  EXPECT_EQ(update(executable, other_, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, kTopologyChanged);
  EXPECT_EQ(info.error_node, leaf);
}

// Source: an H200 with driver 580.159.
TEST_F(GraphUpdatesTest, AKernelStaysCooperativeOrNot) {
  const Function<CUresult(CUgraphNode, int, const int*)> set_attribute(
      "cuGraphKernelNodeSetAttribute");
  constexpr int kCooperative = 2;
  const CUgraphNode kernel = AddKernel(other_, add_, 50);
  AddHost(other_, {AddFill(other_, FillOf(memory_ + 64, 7), {kernel})});
  const int value[16] = {1};
  EXPECT_EQ(set_attribute(kernel, kCooperative, value), CUDA_SUCCESS);
  ExpectRefused(kAttributesChanged, kernel);
}

TEST_F(GraphUpdatesTest, AMissingEdgeIsAnotherTopology) {
  const CUgraphNode kernel = AddKernel(other_, add_, 1);
  AddHost(other_, {AddFill(other_, FillOf(memory_ + 64, 7))});
  ExpectRefused(kTopologyChanged, kernel);
}

TEST_F(GraphUpdatesTest, ANodeStaysOfItsType) {
  const CUgraphNode kernel = AddKernel(other_, add_, 1);
  const CUgraphNode host = AddHost(other_, {kernel});
  AddHost(other_, {host});
  ExpectRefused(kTypeChanged, host);
}

TEST_F(GraphUpdatesTest, AFillStaysInOneDimension) {
  CUDA_MEMSET_NODE_PARAMS fill = FillOf(memory_ + 64, 7);
  fill.height = 2;
  fill.pitch = 64;
  const CUgraphNode node = AddFill(other_, fill, {AddKernel(other_, add_, 1)});
  AddHost(other_, {node});
  ExpectRefused(kParametersChanged, node);
}

TEST_F(GraphUpdatesTest, NullIsRefused) {
  UpdateInfo info = {};
  EXPECT_EQ(update(nullptr, graph_, &info), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(update(executable_, nullptr, &info), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(update(executable_, graph_, nullptr), CUDA_SUCCESS);
}

}  // namespace
}  // namespace twinmmu::abi
