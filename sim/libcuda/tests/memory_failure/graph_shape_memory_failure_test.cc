// The host runs out of memory in calls that tell the shape of a graph, what is inside it and what
// its nodes of memory are, that print it, and that make conditions: see memory_failure_steps.h. The
// simulated driver is linked in.

#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" {
CUresult cuGraphCreate(CUgraph*, unsigned int);
CUresult cuGraphClone(CUgraph*, CUgraph);
CUresult cuGraphAddEmptyNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t);
CUresult cuGraphAddChildGraphNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUgraph);
CUresult cuGraphAddMemAllocNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                                CUDA_MEM_ALLOC_NODE_PARAMS*);
CUresult cuGraphAddMemFreeNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUdeviceptr);
CUresult cuGraphAddNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUgraphNodeParams*);
CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle*, CUgraph, CUcontext, unsigned int,
                                        unsigned int);
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode, CUgraph*);
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode, CUDA_MEM_ALLOC_NODE_PARAMS*);
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode, CUdeviceptr*);
CUresult cuGraphNodeGetType(CUgraphNode, CUgraphNodeType*);
CUresult cuGraphNodeGetDependencies(CUgraphNode, CUgraphNode*, size_t*);
CUresult cuGraphNodeGetDependentNodes(CUgraphNode, CUgraphNode*, size_t*);
CUresult cuGraphNodeFindInClone(CUgraphNode*, CUgraphNode, CUgraph);
CUresult cuGraphGetNodes(CUgraph, CUgraphNode*, size_t*);
CUresult cuGraphGetRootNodes(CUgraph, CUgraphNode*, size_t*);
CUresult cuGraphDebugDotPrint(CUgraph, const char*, unsigned int);
CUresult cuGraphInstantiateWithFlags(CUgraphExec*, CUgraph, unsigned long long);
CUresult cuGraphExecDestroy(CUgraphExec);
}

namespace {

constexpr size_t kMost = 16;  // nodes of a graph here

const std::string& PathOfText() {
  static const std::string* const path = new std::string(testing::TempDir() + "graph.dot");
  return *path;
}

void Expect(CUresult result) { EXPECT_EQ(result, CUDA_SUCCESS); }

// What the steps hand on to each other. It begins with graphs whose nodes other tests add.
struct World {
  World() {
    Expect(cuDevicePrimaryCtxRetain(&context, 0));
    Expect(cuCtxPushCurrent_v2(context));
    for (CUgraph* const made : {&graph, &child, &reserving, &deciding}) {
      Expect(cuGraphCreate(made, 0));
    }
    CUgraphNode inside = nullptr;
    Expect(cuGraphAddEmptyNode(&inside, child, nullptr, 0));
    Expect(cuGraphAddEmptyNode(&first, graph, nullptr, 0));
    Expect(cuGraphAddEmptyNode(&second, graph, &first, 1));
    Expect(cuGraphAddChildGraphNode(&last, graph, &second, 1, child));
    Expect(cuGraphClone(&clone, graph));
    AddMemoryNodes();
    std::ofstream(PathOfText()) << "what was there";
  }
  void AddMemoryNodes();

  CUcontext context = nullptr;
  CUgraph graph = nullptr, child = nullptr, clone = nullptr, reserving = nullptr,
          deciding = nullptr;
  CUgraphNode first = nullptr, second = nullptr, last = nullptr;
  CUgraphNode allocation = nullptr, release = nullptr, decision = nullptr;
  CUgraphConditionalHandle condition = 0;
};
using Steps = std::vector<Step<World>>;

void World::AddMemoryNodes() {
  CUDA_MEM_ALLOC_NODE_PARAMS params = {};
  params.poolProps.allocType = 1;
  params.poolProps.location = {1, 0};
  params.bytesize = 4096;
  Expect(cuGraphAddMemAllocNode(&allocation, reserving, nullptr, 0, &params));
  Expect(cuGraphAddMemFreeNode(&release, reserving, &allocation, 1, params.dptr));
}

// For calls that only read: `get` is told a node and where its parameters go.
template <typename Params>
CUresult Read(CUgraphNode node, CUresult (*get)(CUgraphNode, Params*)) {
  Params params = {};
  return get(node, &params);
}
// And those that tell a list.
template <typename Of>
CUresult List(Of of, CUresult (*list)(Of, CUgraphNode*, size_t*)) {
  CUgraphNode nodes[kMost] = {};
  size_t count = kMost;
  return list(of, nodes, &count);
}
CUresult FindInClone(World& w) {
  CUgraphNode found = nullptr;
  return cuGraphNodeFindInClone(&found, w.second, w.clone);
}

CUresult CreateCondition(World& w) {
  return cuGraphConditionalHandleCreate(&w.condition, w.deciding, w.context, 1,
                                        CU_GRAPH_COND_ASSIGN_DEFAULT);
}
CUresult AddDecision(World& w) {
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = w.condition;
  params.conditional.type = CU_GRAPH_COND_TYPE_IF;
  params.conditional.size = 2;
  params.conditional.ctx = w.context;
  return cuGraphAddNode(&w.decision, w.deciding, nullptr, 0, &params);
}

Steps Script() {
  return {
      {"list roots", [](World& w) { return List(w.graph, cuGraphGetRootNodes); }},
      {"list dependencies", [](World& w) { return List(w.last, cuGraphNodeGetDependencies); }},
      {"list dependents", [](World& w) { return List(w.first, cuGraphNodeGetDependentNodes); }},
      {"ask for a type", [](World& w) { return Read(w.last, cuGraphNodeGetType); }},
      {"ask for the child", [](World& w) { return Read(w.last, cuGraphChildGraphNodeGetGraph); }},
      {"find in the clone", FindInClone},
      {"print", [](World& w) { return cuGraphDebugDotPrint(w.graph, PathOfText().c_str(), 0); }},
      {"read the allocation",
       [](World& w) { return Read(w.allocation, cuGraphMemAllocNodeGetParams); }},
      {"read the free", [](World& w) { return Read(w.release, cuGraphMemFreeNodeGetParams); }},
      {"create a condition", CreateCondition},
      {"decide by it", AddDecision},
  };
}

// --- All that a program can see ------------------------------------------------------------------

// The nodes that list(of, nodes, &count) tells, in brackets.
template <typename Of>
std::string Listed(Of of, CUresult (*list)(Of, CUgraphNode*, size_t*)) {
  CUgraphNode nodes[kMost] = {};
  size_t count = kMost;
  std::ostringstream out;
  out << list(of, nodes, &count) << " (";
  for (size_t i = 0; i < count; ++i) out << nodes[i] << " ";
  out << ")";
  return out.str();
}

void AppendShape(CUgraph graph, std::ostream& out) {
  out << "roots " << Listed(graph, cuGraphGetRootNodes) << "\n";
  CUgraphNode nodes[kMost] = {};
  size_t count = kMost;
  out << cuGraphGetNodes(graph, nodes, &count) << " nodes " << count << "\n";
  for (size_t i = 0; i < count; ++i) {
    CUgraphNodeType type = -1;
    out << nodes[i] << " " << cuGraphNodeGetType(nodes[i], &type) << " type " << type << " behind "
        << Listed(nodes[i], cuGraphNodeGetDependencies) << " before "
        << Listed(nodes[i], cuGraphNodeGetDependentNodes) << "\n";
  }
}

std::string VisibleState(World& w) {
  std::ostringstream out;
  CUgraph inside = nullptr;
  out << cuGraphChildGraphNodeGetGraph(w.last, &inside) << " child " << inside << "\n";
  for (const CUgraph graph : {w.graph, w.child, inside, w.clone, w.reserving, w.deciding}) {
    AppendShape(graph, out);
  }
  CUgraphNode found = nullptr;
  out << cuGraphNodeFindInClone(&found, w.second, w.clone) << " in the clone " << found << "\n";
  CUDA_MEM_ALLOC_NODE_PARAMS allocation = {};
  out << cuGraphMemAllocNodeGetParams(w.allocation, &allocation) << " allocation "
      << allocation.dptr << "\n";
  CUdeviceptr freed = 0;
  out << cuGraphMemFreeNodeGetParams(w.release, &freed) << " release " << freed << "\n";
  // A condition by which no node decides is in the way of this.
  CUgraphExec exec = nullptr;
  out << cuGraphInstantiateWithFlags(&exec, w.deciding, 0) << " can be run\n";
  if (exec != nullptr) Expect(cuGraphExecDestroy(exec));
  std::ifstream text(PathOfText());
  out << std::string(std::istreambuf_iterator<char>(text), {}) << "\n";
  out << FreeOn(1);
  return out.str();
}

class GraphShapeMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(GraphShapeMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/24);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, GraphShapeMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda
