// Graphs: their nodes and edges. Measured on an H100 with driver 580.159.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "conformance/abi/graphs/graph_fixture.h"

namespace twinmmu::abi {
namespace {

using GraphsTest = GraphTest;
using Edges = std::vector<Edge>;

constexpr EdgeData kUsual = {};
constexpr EdgeData kProgrammatic = {1, 0, 1, {}};

TEST_F(GraphsTest, AGraphHasNoFlags) {
  CUgraph graph = nullptr;
  EXPECT_EQ(cuGraphCreate(&graph, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphsTest, NodesAreToldInTheOrderInWhichTheyWereMade) {
  const Nodes nodes = {AddEmpty(), AddEmpty(), AddEmpty()};
  EXPECT_EQ(NodesOf(graph_), nodes);
}

TEST_F(GraphsTest, RootsAreToldTheLatestFirst) {
  const Nodes nodes = {AddEmpty(), AddEmpty(), AddEmpty()};
  EXPECT_EQ(RootsOf(graph_), (Nodes{nodes[2], nodes[1], nodes[0]}));
  EXPECT_EQ(add_dependencies(graph_, &nodes[0], &nodes[1], nullptr, 1), CUDA_SUCCESS);
  EXPECT_EQ(RootsOf(graph_), (Nodes{nodes[2], nodes[0]}));
  EXPECT_EQ(remove_dependencies(graph_, &nodes[0], &nodes[1], nullptr, 1), CUDA_SUCCESS);
  EXPECT_EQ(RootsOf(graph_), (Nodes{nodes[1], nodes[2], nodes[0]}));
}

TEST_F(GraphsTest, EdgesAreToldByTheNodesThatTheyLeave) {
  Nodes nodes;
  for (int i = 0; i < 6; ++i) nodes.push_back(AddEmpty());
  for (const Edge& edge : Edges{{5, 0}, {3, 1}, {2, 4}, {3, 4}, {2, 1}, {5, 4}}) {
    EXPECT_EQ(add_dependencies(graph_, &nodes[edge.first], &nodes[edge.second], nullptr, 1),
              CUDA_SUCCESS);
  }
  EXPECT_EQ(EdgesOf(graph_, nodes), (Edges{{2, 4}, {2, 1}, {3, 1}, {3, 4}, {5, 0}, {5, 4}}));
}

TEST_F(GraphsTest, DependenciesAreToldInTheOrderInWhichTheyWereAdded) {
  const CUgraphNode a = AddEmpty();
  const CUgraphNode b = AddEmpty();
  const CUgraphNode c = AddEmpty({b, a});
  Nodes found(4, a);
  size_t count = found.size();
  EXPECT_EQ(get_dependencies(c, found.data(), nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(found, (Nodes{b, a, nullptr, nullptr}));
  count = 1;
  EXPECT_EQ(get_dependent_nodes(b, found.data(), nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(found[0], c);
}

TEST_F(GraphsTest, AListThatIsTooShortGetsTheFirst) {
  const Nodes nodes = {AddEmpty(), AddEmpty(), AddEmpty()};
  Nodes found(3);
  size_t count = 2;
  EXPECT_EQ(cuGraphGetNodes(graph_, found.data(), &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(found, (Nodes{nodes[0], nodes[1], nullptr}));
}

TEST_F(GraphsTest, RoomForMoreNodesBecomesNull) {
  const CUgraphNode node = AddEmpty();
  Nodes found(3, node);
  size_t count = found.size();
  EXPECT_EQ(cuGraphGetNodes(graph_, found.data(), &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(found, (Nodes{node, nullptr, nullptr}));
}

TEST_F(GraphsTest, EdgesHaveTwoEnds) {
  AddEmpty({AddEmpty()});
  Nodes from(2);
  size_t count = 2;
  EXPECT_EQ(get_edges(graph_, from.data(), nullptr, nullptr, &count), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(count, 2u);
}

TEST_F(GraphsTest, ADependencyIsOfTheSameGraph) {
  const CUgraphNode here = AddEmpty();
  const CUgraphNode there = AddEmpty(MakeGraph());
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph_, &there, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add_dependencies(graph_, &here, &there, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add_dependencies(graph_, &there, &here, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(NodesOf(graph_), Nodes{here});
}

TEST_F(GraphsTest, ADependencyIsGivenOnce) {
  const CUgraphNode before = AddEmpty();
  const Nodes twice = {before, before};
  CUgraphNode node = before;
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph_, twice.data(), 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(node, before);
  const CUgraphNode after = AddEmpty({before});
  EXPECT_EQ(add_dependencies(graph_, &before, &after, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphsTest, DependenciesMayNotBeMissing) {
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph_, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  const CUgraphNode none = nullptr;
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph_, &none, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add_dependencies(graph_, nullptr, nullptr, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add_dependencies(graph_, nullptr, nullptr, nullptr, 0), CUDA_SUCCESS);
}

TEST_F(GraphsTest, ANodeDoesNotDependOnItself) {
  const CUgraphNode node = AddEmpty();
  EXPECT_EQ(add_dependencies(graph_, &node, &node, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphsTest, EdgesBeforeOneThatIsThereAlreadyAreAdded) {
  const Nodes nodes = {AddEmpty(), AddEmpty(), AddEmpty(), AddEmpty()};
  EXPECT_EQ(add_dependencies(graph_, &nodes[0], &nodes[1], nullptr, 1), CUDA_SUCCESS);
  const Nodes from = {nodes[1], nodes[0], nodes[2]};
  const Nodes to = {nodes[2], nodes[1], nodes[3]};
  EXPECT_EQ(add_dependencies(graph_, from.data(), to.data(), nullptr, 3), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(EdgesOf(graph_, nodes), (Edges{{0, 1}, {1, 2}}));
}

TEST_F(GraphsTest, NoEdgeIsAddedBesideOneWithAWrongEnd) {
  const Nodes nodes = {AddEmpty(), AddEmpty()};
  for (const CUgraphNode wrong : {CUgraphNode(nullptr), nodes[1], AddEmpty(MakeGraph())}) {
    const Nodes from = {nodes[0], nodes[1]};
    const Nodes to = {nodes[1], wrong};
    EXPECT_EQ(add_dependencies(graph_, from.data(), to.data(), nullptr, 2),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_TRUE(EdgesOf(graph_, nodes).empty());
  }
}

TEST_F(GraphsTest, EdgesBeforeOneThatIsNotThereAreRemoved) {
  const CUgraphNode a = AddEmpty();
  const CUgraphNode b = AddEmpty({a});
  const Nodes nodes = {a, b, AddEmpty({b})};
  const Nodes from = {a, a, b};
  const Nodes to = {b, nodes[2], nodes[2]};
  EXPECT_EQ(remove_dependencies(graph_, from.data(), to.data(), nullptr, 3),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(EdgesOf(graph_, nodes), (Edges{{1, 2}}));
}

TEST_F(GraphsTest, ACycleShowsAtInstantiation) {
  const CUgraphNode a = AddEmpty();
  const CUgraphNode b = AddEmpty({a});
  EXPECT_EQ(add_dependencies(graph_, &b, &a, nullptr, 1), CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  EXPECT_EQ(cuGraphInstantiateWithFlags(&executable, graph_, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(executable, nullptr);
  EXPECT_TRUE(RootsOf(graph_).empty());
}

TEST_F(GraphsTest, AnEdgeThatIsNotThereIsNotRemoved) {
  const CUgraphNode a = AddEmpty();
  const CUgraphNode b = AddEmpty({a});
  EXPECT_EQ(remove_dependencies(graph_, &b, &a, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(remove_dependencies(graph_, &a, &b, nullptr, 1), CUDA_SUCCESS);
  EXPECT_EQ(remove_dependencies(graph_, &a, &b, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphsTest, EdgesGoWithTheirNodes) {
  const CUgraphNode a = AddEmpty();
  const CUgraphNode b = AddEmpty({a});
  const CUgraphNode c = AddEmpty({a, b});
  EXPECT_EQ(cuGraphDestroyNode(b), CUDA_SUCCESS);
  EXPECT_EQ(NodesOf(graph_), (Nodes{a, c}));
  EXPECT_EQ(EdgesOf(graph_), (Edges{{0, 1}}));
}

TEST_F(GraphsTest, OnlyKernelsHaveProgrammaticEdges) {
  const CUgraphNode first = AddKernel(add_, 1);
  const CUgraphNode second = AddKernel(add_, 1);
  const CUgraphNode empty = AddEmpty();
  const CUgraphNode fill = AddFill(FillOf(memory_, 1));
  EXPECT_EQ(add_dependencies(graph_, &empty, &second, &kProgrammatic, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add_dependencies(graph_, &first, &fill, &kProgrammatic, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add_dependencies(graph_, &first, &second, &kProgrammatic, 1), CUDA_SUCCESS);
}

TEST_F(GraphsTest, AQueryThatWouldLoseDataFails) {
  const CUgraphNode first = AddKernel(add_, 1);
  const CUgraphNode second = AddKernel(add_, 1);
  EXPECT_EQ(add_dependencies(graph_, &first, &second, &kProgrammatic, 1), CUDA_SUCCESS);
  constexpr auto kLossyQuery = static_cast<CUresult>(402);
  Nodes from(1);
  Nodes to(1);
  size_t count = 1;
  EXPECT_EQ(get_edges(graph_, from.data(), to.data(), nullptr, &count), kLossyQuery);
  EXPECT_EQ(get_dependencies(second, from.data(), nullptr, &count), kLossyQuery);
  EXPECT_EQ(get_edges(graph_, nullptr, nullptr, nullptr, &count), CUDA_SUCCESS);
  EdgeData data = kUsual;
  EXPECT_EQ(get_dependencies(second, from.data(), &data, &count), CUDA_SUCCESS);
  EXPECT_EQ(data.from_port, kProgrammatic.from_port);
  EXPECT_EQ(data.type, kProgrammatic.type);
}

TEST_F(GraphsTest, DataOfEdgesIsChecked) {
  const CUgraphNode first = AddKernel(add_, 1);
  const CUgraphNode second = AddKernel(add_, 1);
  for (const EdgeData& data :
       {EdgeData{1, 0, 0, {}}, EdgeData{0, 0, 1, {}}, EdgeData{3, 0, 0, {}}, EdgeData{0, 1, 0, {}},
        EdgeData{0, 0, 2, {}}, EdgeData{0, 0, 0, {1}}}) {
    EXPECT_EQ(add_dependencies(graph_, &first, &second, &data, 1), CUDA_ERROR_INVALID_VALUE);
  }
  const EdgeData launch_order = {2, 0, 0, {}};
  EXPECT_EQ(add_dependencies(graph_, &first, &second, &launch_order, 1), CUDA_SUCCESS);
}

// Source: an H200 with driver 580.159.
TEST_F(GraphsTest, ProgrammaticEdgesGoFromEitherPortToKernels) {
  const CUgraphNode first = AddKernel(add_, 1);
  const CUgraphNode second = AddKernel(add_, 1);
  const CUgraphNode fill = AddFill(FillOf(memory_, 1));
  for (const unsigned char port : {1, 2}) {
    const EdgeData data = {port, 0, 1, {}};
    EXPECT_EQ(add_dependencies(graph_, &first, &second, &data, 1), CUDA_SUCCESS);
    EXPECT_EQ(add_dependencies(graph_, &first, &fill, &data, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(remove_dependencies(graph_, &first, &second, &data, 1), CUDA_SUCCESS);
  }
}

TEST_F(GraphsTest, NullIsNoGraphAndNoNode) {
  CUgraphNode node = nullptr;
  CUgraphNodeType type;
  EXPECT_EQ(cuGraphAddEmptyNode(&node, nullptr, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddEmptyNode(nullptr, graph_, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphNodeGetType(nullptr, &type), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroyNode(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroy(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphExecDestroy(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphLaunch(nullptr, stream_), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphsTest, DeadObjectsAreErrors) {
  if (!TraitsOf().survives_bad_pointers) GTEST_SKIP() << "this driver may end the process";
  CUgraph graph = nullptr;
  EXPECT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  const CUgraphNode node = AddEmpty(graph);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  CUgraphNode made = nullptr;
  CUgraphNodeType type;
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddEmptyNode(&made, graph, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphNodeGetType(node, &type), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddEmptyNode(&made, graph_, &node, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphsTest, WhatIsInsideAGraphEndsWithIt) {
  if (!TraitsOf().survives_bad_pointers) GTEST_SKIP() << "this driver may end the process";
  const CUgraph child = MakeGraph();
  AddEmpty(child);
  CUgraph graph = nullptr;
  ASSERT_EQ(cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  CUgraphNode node = nullptr;
  CUgraph inside = nullptr;
  ASSERT_EQ(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphChildGraphNodeGetGraph(node, &inside), CUDA_SUCCESS);
  const CUgraphNode first = NodesOf(inside)[0];
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
  size_t count = 0;
  CUgraphNodeType type;
  EXPECT_EQ(cuGraphGetNodes(inside, nullptr, &count), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphNodeGetType(first, &type), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphsTest, ACloneHasNodesOfItsOwn) {
  const CUgraphNode a = AddKernel(add_, 1);
  const CUgraphNode b = AddEmpty({a});
  CUgraph clone = nullptr;
  EXPECT_EQ(cuGraphClone(&clone, graph_), CUDA_SUCCESS);
  EXPECT_EQ(EdgesOf(clone), (Edges{{0, 1}}));
  CUgraphNode found = nullptr;
  EXPECT_EQ(cuGraphNodeFindInClone(&found, b, clone), CUDA_SUCCESS);
  EXPECT_EQ(found, NodesOf(clone)[1]);
  EXPECT_NE(found, b);
  EXPECT_EQ(cuGraphDestroy(clone), CUDA_SUCCESS);
}

// Whatever the order was in the graph. Measured on an H200 with driver 580.159.
TEST_F(GraphsTest, CopiesTellTheirRootsTheLatestMadeFirst) {
  const Nodes nodes = {AddEmpty(), AddEmpty(), AddEmpty()};
  EXPECT_EQ(add_dependencies(graph_, &nodes[2], &nodes[0], nullptr, 1), CUDA_SUCCESS);
  EXPECT_EQ(remove_dependencies(graph_, &nodes[2], &nodes[0], nullptr, 1), CUDA_SUCCESS);
  ASSERT_EQ(RootsOf(graph_), (Nodes{nodes[0], nodes[2], nodes[1]}));
  const CUgraph parent = MakeGraph();
  CUgraphNode node = nullptr;
  CUgraph clone = nullptr;
  CUgraph inside = nullptr;
  EXPECT_EQ(cuGraphClone(&clone, graph_), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphAddChildGraphNode(&node, parent, nullptr, 0, graph_), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphChildGraphNodeGetGraph(node, &inside), CUDA_SUCCESS);
  for (const CUgraph copy : {clone, inside}) {
    const Nodes copied = NodesOf(copy);
    ASSERT_EQ(copied.size(), 3u);
    EXPECT_EQ(RootsOf(copy), (Nodes{copied[2], copied[1], copied[0]}));
  }
  EXPECT_EQ(cuGraphDestroy(clone), CUDA_SUCCESS);
}

// What is behind a node; what is before it stays in the order in which it was added. Measured on an
// H200 with driver 580.159.
TEST_F(GraphsTest, ACloneTellsEdgesInTheOrderOfTheNodesBehindThem) {
  const Nodes nodes = {AddEmpty(), AddEmpty(), AddEmpty(), AddEmpty()};
  for (const size_t behind : {2, 0, 1}) {
    EXPECT_EQ(add_dependencies(graph_, &nodes[3], &nodes[behind], nullptr, 1), CUDA_SUCCESS);
  }
  for (const size_t before : {2, 1}) {
    EXPECT_EQ(add_dependencies(graph_, &nodes[before], nodes.data(), nullptr, 1), CUDA_SUCCESS);
  }
  EXPECT_EQ(EdgesOf(graph_), (Edges{{1, 0}, {2, 0}, {3, 2}, {3, 0}, {3, 1}}));
  CUgraph clone = nullptr;
  EXPECT_EQ(cuGraphClone(&clone, graph_), CUDA_SUCCESS);
  EXPECT_EQ(EdgesOf(clone), (Edges{{1, 0}, {2, 0}, {3, 0}, {3, 1}, {3, 2}}));
  const Nodes copied = NodesOf(clone);
  Nodes before(3);
  size_t count = before.size();
  ASSERT_EQ(copied.size(), 4u);
  EXPECT_EQ(get_dependencies(copied[0], before.data(), nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(before, (Nodes{copied[3], copied[2], copied[1]}));
  EXPECT_EQ(cuGraphDestroy(clone), CUDA_SUCCESS);
}

TEST_F(GraphsTest, OnlyAClonesNodesAreFound) {
  const CUgraphNode a = AddEmpty();
  CUgraph clone = nullptr;
  EXPECT_EQ(cuGraphClone(&clone, graph_), CUDA_SUCCESS);
  const CUgraphNode later = AddEmpty();
  CUgraphNode found = nullptr;
  EXPECT_EQ(cuGraphNodeFindInClone(&found, later, clone), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphNodeFindInClone(&found, a, graph_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphNodeFindInClone(&found, a, clone), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroyNode(found), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphNodeFindInClone(&found, a, clone), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroy(clone), CUDA_SUCCESS);
}

TEST_F(GraphsTest, AGraphIsDescribedInAFile) {
  const Function<CUresult(CUgraph, const char*, unsigned int)> print("cuGraphDebugDotPrint");
  const std::string path = testing::TempDir() + "graph_" + std::to_string(getpid()) + ".dot";
  AddEmpty({AddEmpty()});
  EXPECT_EQ(print(graph_, path.c_str(), 0), CUDA_SUCCESS);
  std::string first;
  std::getline(std::ifstream(path), first);
  EXPECT_EQ(first.find("digraph"), 0u) << first;
  std::remove(path.c_str());
  EXPECT_EQ(print(graph_, (path + "/in_no_folder").c_str(), 0), CUDA_ERROR_OPERATING_SYSTEM);
}

}  // namespace
}  // namespace twinmmu::abi
