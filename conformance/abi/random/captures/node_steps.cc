// Graphs that may run: nodes of all kinds, what is told of them, and objects that graphs keep.

#include <algorithm>
#include <cstring>
#include <sstream>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/captures/node_world.h"

namespace twinmmu::abi {
namespace {

using Nodes = std::vector<CUgraphNode>;

// A type that our cuda.h does not have.
struct ConditionalParams {
  int type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  int reserved0[3] = {};
  uint64_t handle = 0;
  int kind = 0;
  unsigned int size = 1;
  CUgraph* bodies = nullptr;
  CUcontext context = nullptr;
  long long rest[26] = {};
};
static_assert(sizeof(ConditionalParams) == sizeof(GenericParams));

constexpr Function<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, AllocParams*)>
    add_alloc("cuGraphAddMemAllocNode");
constexpr Function<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUdeviceptr)>
    add_free("cuGraphAddMemFreeNode");
constexpr Function<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const BatchParams*)>
    add_batch("cuGraphAddBatchMemOpNode");
constexpr Function<CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, const EdgeData*, size_t,
                            void*)>
    add_node("cuGraphAddNode_v2");
constexpr Function<CUresult(uint64_t*, CUgraph, CUcontext, unsigned, unsigned)> make_handle(
    "cuGraphConditionalHandleCreate");

void Create(ProgramWorld& world) {
  NodeWorld& nodes = NodesOf(world);
  if (nodes.graphs.size() > 3) return;
  NodeGraph graph;
  if (!world.Say(cuGraphCreate(&graph.handle, 0), "cuGraphCreate", 0)) return;
  graph.name = "k" + std::to_string(++nodes.graphs_made);
  world.Gave(graph.name);
  nodes.graphs.push_back(graph);
}

void Destroy(ProgramWorld& world) {
  NodeWorld& nodes = NodesOf(world);
  if (nodes.graphs.empty()) return;
  const size_t which = world.Below(nodes.graphs.size());
  const NodeGraph& graph = nodes.graphs[which];
  if (graph.nodes.size() < 6 && !world.OneIn(4)) return;
  if (world.Say(cuGraphDestroy(graph.handle), "cuGraphDestroy", graph.name)) {
    nodes.graphs.erase(nodes.graphs.begin() + long(which));
  }
}

bool TouchesMemory(int type) {
  return type != CU_GRAPH_NODE_TYPE_HOST && type != CU_GRAPH_NODE_TYPE_EMPTY &&
         type != CU_GRAPH_NODE_TYPE_WAIT_EVENT && type != CU_GRAPH_NODE_TYPE_EVENT_RECORD;
}

// The node behind which a new one must come, and others.
Nodes Before(ProgramWorld& world, const NodeGraph& graph, int type, std::string* text) {
  Nodes before;
  *text = "after";
  const bool is_bound = graph.last != nullptr && (TouchesMemory(type) || world.OneIn(2));
  if (is_bound) {
    before.push_back(graph.last);
    *text += " " + graph.last_name;
  }
  for (const NodeOfGraph& node : graph.nodes) {
    if (is_bound && node.handle == graph.last && !world.OneIn(20)) continue;  // twice is wrong
    if (!world.OneIn(5)) continue;
    before.push_back(node.handle);
    *text += " " + node.name;
  }
  if (world.OneIn(30)) {  // of another graph
    const NodeGraph* const other = AnyGraph(world);
    const NodeOfGraph* const node = AnyNodeOf(world, other);
    if (node != nullptr && other != &graph) {
      before.push_back(node->handle);
      *text += " " + node->name;
    }
  }
  return before;
}

void Keep(ProgramWorld& world, NodeGraph* graph, CUgraphNode handle, int type) {
  NodeOfGraph node = {graph->name + "." + std::to_string(++graph->nodes_made), handle, type};
  world.Gave(node.name);
  if (TouchesMemory(type)) {
    graph->last = handle;
    graph->last_name = node.name;
  }
  graph->nodes.push_back(node);
}

CUresult AddWork(ProgramWorld& world, const NodeGraph& graph, const Nodes& before,
                 const NodeWork& work, CUgraphNode* node) {
  const CUgraphNode* const after = before.data();
  const size_t count = before.size();
  switch (work.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return cuGraphAddKernelNode(node, graph.handle, after, count, &work.kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return cuGraphAddMemcpyNode(node, graph.handle, after, count, &work.copy, world.context);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return cuGraphAddMemsetNode(node, graph.handle, after, count, &work.fill, world.context);
    case CU_GRAPH_NODE_TYPE_HOST:
      return cuGraphAddHostNode(node, graph.handle, after, count, &work.call);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return cuGraphAddEventWaitNode(node, graph.handle, after, count, work.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return cuGraphAddEventRecordNode(node, graph.handle, after, count, work.event);
    default:
      return add_batch(node, graph.handle, after, count, &work.batch);
  }
}

void Add(ProgramWorld& world) {
  NodeGraph* const graph = AnyGraph(world);
  if (graph == nullptr || graph->nodes.size() >= 10) return;
  NodeWork work;
  RollWork(world, world.Of({0, 0, 0, 1, 1, 2, 2, 3, 6, 7, 12, 12}), &work);
  std::string after;
  const Nodes before = Before(world, *graph, work.type, &after);
  CUgraphNode node = nullptr;
  if (!HasNull(work) && world.OneIn(3)) {
    GenericParams any = AsAnyNode(work, world.context);
    if (world.OneIn(12)) any.type = 99;
    if (!world.Say(add_node(&node, graph->handle, before.data(), nullptr, before.size(), &any),
                   "cuGraphAddNode", graph->name, after, any.type, work.words)) {
      return;
    }
  } else if (!world.Say(AddWork(world, *graph, before, work, &node),
                        std::string("cuGraphAdd") + NameOfWork(work.type), graph->name, after,
                        work.words)) {
    return;
  }
  Keep(world, graph, node, work.type);
}

void AddEmptyOrChild(ProgramWorld& world) {
  NodeGraph* const graph = AnyGraph(world);
  if (graph == nullptr || graph->nodes.size() >= 10) return;
  const int type = world.OneIn(2) ? int(CU_GRAPH_NODE_TYPE_EMPTY) : int(CU_GRAPH_NODE_TYPE_GRAPH);
  std::string after;
  const Nodes before = Before(world, *graph, type, &after);
  CUgraphNode node = nullptr;
  if (type == CU_GRAPH_NODE_TYPE_EMPTY) {
    if (world.Say(cuGraphAddEmptyNode(&node, graph->handle, before.data(), before.size()),
                  "cuGraphAddEmptyNode", graph->name, after)) {
      Keep(world, graph, node, CU_GRAPH_NODE_TYPE_EMPTY);
    }
    return;
  }
  const NodeGraph* const child = AnyGraph(world);
  if (child == graph || child->is_nested) return;
  if (!world.Say(cuGraphAddChildGraphNode(&node, graph->handle, before.data(), before.size(),
                                          child->handle),
                 "cuGraphAddChildGraphNode", graph->name, after, child->name)) {
    return;
  }
  Keep(world, graph, node, CU_GRAPH_NODE_TYPE_GRAPH);
  graph->is_nested = true;
  graph->has_objects |= child->has_objects;
}

// Memory of one node for each graph, filled and mostly freed.
void Allocate(ProgramWorld& world) {
  NodeGraph* const graph = AnyGraph(world);
  if (graph == nullptr || graph->nodes.size() >= 8) return;
  std::string after;
  const Nodes before = Before(world, *graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &after);
  CUgraphNode node = nullptr;
  if (graph->allocated != 0) {
    if (graph->is_freed && !world.OneIn(8)) return;
    const CUdeviceptr address = graph->allocated + (world.OneIn(8) ? 512 : 0);
    if (world.Say(add_free(&node, graph->handle, before.data(), before.size(), address),
                  "cuGraphAddMemFreeNode", graph->name, after, address - graph->allocated)) {
      graph->is_freed = true;
      Keep(world, graph, node, CU_GRAPH_NODE_TYPE_MEM_FREE);
    }
    return;
  }
  AllocParams params;
  params.size = world.Of<size_t>({64, 1000, 4096, 100000, 0, size_t{1} << 40});
  params.type = world.OneIn(12) ? 0 : 1;
  params.handle_types = world.OneIn(12) ? 1 : 0;
  params.location.id = world.OneIn(12) ? 77 : 0;
  if (!world.Say(add_alloc(&node, graph->handle, before.data(), before.size(), &params),
                 "cuGraphAddMemAllocNode", graph->name, after, params.size, params.type,
                 params.handle_types, params.location.id)) {
    return;
  }
  Keep(world, graph, node, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  graph->allocated = params.address;
  const CUDA_MEMSET_NODE_PARAMS fill = {params.address, 0, 7, 4, 16, 1};
  if (world.Say(cuGraphAddMemsetNode(&node, graph->handle, &graph->last, 1, &fill, world.context),
                "cuGraphAddMemsetNode", graph->name, "allocated")) {
    Keep(world, graph, node, CU_GRAPH_NODE_TYPE_MEMSET);
    graph->nodes.back().stays = true;
  }
}

// A node that decides by its handle's default, and a kernel in its first graph.
void AddConditional(ProgramWorld& world) {
  NodeGraph* const graph = AnyGraph(world);
  if (graph == nullptr || graph->nodes.size() >= 8 || graph->is_nested) return;
  uint64_t handle = 0;
  const unsigned int value = world.Of({0u, 1u, 1u, 2u});
  const unsigned int flags = world.OneIn(8) ? world.Of({2u, 3u}) : 1u;
  if (!world.Say(make_handle(&handle, graph->handle, world.context, value, flags),
                 "cuGraphConditionalHandleCreate", graph->name, value, flags)) {
    return;
  }
  std::string after;
  const Nodes before = Before(world, *graph, CU_GRAPH_NODE_TYPE_CONDITIONAL, &after);
  ConditionalParams params;
  params.handle = handle;
  params.kind = world.OneIn(12) ? 3 : world.Of({0, 0, 2});  // never a loop
  params.size = world.OneIn(8) ? world.Of({0u, 3u}) : world.Of({1u, 2u, 2u});
  params.context = world.context;
  CUgraphNode node = nullptr;
  if (!world.Say(add_node(&node, graph->handle, before.data(), nullptr, before.size(), &params),
                 "cuGraphAddNode", graph->name, after, "conditional", params.kind, params.size)) {
    return;
  }
  Keep(world, graph, node, CU_GRAPH_NODE_TYPE_CONDITIONAL);
  graph->is_nested = true;
  NodeWork work;
  RollWork(world, CU_GRAPH_NODE_TYPE_KERNEL, &work);
  const unsigned int which = static_cast<unsigned>(world.Below(params.size));
  world.Say(cuGraphAddKernelNode(&node, params.bodies[which], nullptr, 0, &work.kernel),
            "cuGraphAddKernelNode", "inside", which, work.words);
}

// Only where no executable graph and no order of others would miss it.
void DestroyNode(ProgramWorld& world) {
  NodeWorld& nodes = NodesOf(world);
  NodeGraph* const graph = AnyGraph(world);
  const NodeOfGraph* const node = AnyNodeOf(world, graph);
  if (node == nullptr || TouchesMemory(node->type)) return;
  for (const NodeExecutable& executable : nodes.executables) {
    if (executable.graph.name == graph->name) return;
  }
  if (world.Say(cuGraphDestroyNode(node->handle), "cuGraphDestroyNode", node->name)) {
    graph->nodes.erase(graph->nodes.begin() + (node - graph->nodes.data()));
  }
}

}  // namespace

RandomSteps NodeSteps() {
  return {{14, Create},   {6, Destroy},        {90, Add},       {20, AddEmptyOrChild},
          {14, Allocate}, {6, AddConditional}, {6, DestroyNode}};
}

}  // namespace twinmmu::abi
