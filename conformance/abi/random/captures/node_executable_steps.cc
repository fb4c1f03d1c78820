// Graphs that run, and nodes that are given other work, in a graph and in an executable graph.

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/captures/node_world.h"

namespace twinmmu::abi {
namespace {

// Types of functions that our cuda.h does not have.
struct InstantiateParams {
  uint64_t flags = 0;
  CUstream upload = nullptr;
  CUgraphNode error_node = nullptr;
  int result = -1;
};
struct UpdateInfo {
  int result;
  CUgraphNode error_node;
  CUgraphNode error_from_node;
};

constexpr Function<CUresult(CUgraphExec*, CUgraph, InstantiateParams*)> instantiate(
    "cuGraphInstantiateWithParams");
constexpr Function<CUresult(CUgraphExec, uint64_t*)> get_flags("cuGraphExecGetFlags");
constexpr Function<CUresult(CUgraphExec, CUstream)> upload("cuGraphUpload");
constexpr Function<CUresult(CUgraphExec, CUgraph, UpdateInfo*)> update("cuGraphExecUpdate_v2");
constexpr Function<CUresult(CUgraphNode, const CUDA_HOST_NODE_PARAMS*)> set_call(
    "cuGraphHostNodeSetParams");
constexpr Function<CUresult(CUgraphNode, CUevent)> set_recorded("cuGraphEventRecordNodeSetEvent");
constexpr Function<CUresult(CUgraphNode, CUevent)> set_awaited("cuGraphEventWaitNodeSetEvent");
constexpr Function<CUresult(CUgraphNode, const BatchParams*)> set_batch(
    "cuGraphBatchMemOpNodeSetParams");
constexpr Function<CUresult(CUgraphNode, GenericParams*)> set_any("cuGraphNodeSetParams");
constexpr Function<CUresult(CUgraphExec, CUgraphNode, const CUDA_HOST_NODE_PARAMS*)>
    set_call_inside("cuGraphExecHostNodeSetParams");
constexpr Function<CUresult(CUgraphExec, CUgraphNode, CUevent)> set_recorded_inside(
    "cuGraphExecEventRecordNodeSetEvent");
constexpr Function<CUresult(CUgraphExec, CUgraphNode, CUevent)> set_awaited_inside(
    "cuGraphExecEventWaitNodeSetEvent");
constexpr Function<CUresult(CUgraphExec, CUgraphNode, const BatchParams*)> set_batch_inside(
    "cuGraphExecBatchMemOpNodeSetParams");
constexpr Function<CUresult(CUgraphExec, CUgraphNode, GenericParams*)> set_any_inside(
    "cuGraphExecNodeSetParams");
constexpr Function<CUresult(CUgraphExec, CUgraphNode, CUgraph)> set_child_inside(
    "cuGraphExecChildGraphNodeSetParams");

NodeExecutable* AnyExecutable(ProgramWorld& world) {
  NodeWorld& nodes = NodesOf(world);
  if (nodes.executables.empty()) return nullptr;
  return &nodes.executables[world.Below(nodes.executables.size())];
}

// Its graph, whose nodes name its own. None: it is gone, and they with it.
const NodeGraph* GraphOf(ProgramWorld& world, const NodeExecutable& executable) {
  for (const NodeGraph& graph : NodesOf(world).graphs) {
    if (graph.name == executable.graph.name) return &graph;
  }
  return nullptr;
}

// Mostly one that is inside.
const NodeOfGraph* AnyNodeFor(ProgramWorld& world, const NodeExecutable& executable) {
  const NodeGraph* const graph = GraphOf(world, executable);
  if (graph == nullptr) return nullptr;
  return AnyNodeOf(world, world.OneIn(10) ? graph : &executable.graph);
}

void Instantiate(ProgramWorld& world) {
  NodeWorld& nodes = NodesOf(world);
  const NodeGraph* const graph = AnyGraph(world);
  if (graph == nullptr || nodes.executables.size() > 4) return;
  if (graph->nodes.size() < 3 && !world.OneIn(4)) return;
  NodeExecutable executable;
  executable.graph = *graph;
  bool made = false;
  if (world.OneIn(2)) {
    const unsigned int flags = world.Of({0u, 0u, 0u, 1u, 8u, 16u});
    made = world.Say(cuGraphInstantiateWithFlags(&executable.handle, graph->handle, flags),
                     "cuGraphInstantiateWithFlags", graph->name, flags);
  } else {
    InstantiateParams params;
    params.flags = world.Of({0u, 0u, 1u, 2u, 8u, 16u});
    params.upload = world.AnyStream();
    made = world.Say(instantiate(&executable.handle, graph->handle, &params),
                     "cuGraphInstantiateWithParams", graph->name, params.flags);
    world.Gave(params.result);
  }
  if (!made) return;
  executable.name = "y" + std::to_string(++nodes.executables_made);
  world.Gave(executable.name);
  nodes.executables.push_back(executable);
}

void DestroyExecutable(ProgramWorld& world) {
  NodeWorld& nodes = NodesOf(world);
  if (nodes.executables.empty()) return;
  const size_t which = world.Below(nodes.executables.size());
  const NodeExecutable& executable = nodes.executables[which];
  if (world.Say(cuGraphExecDestroy(executable.handle), "cuGraphExecDestroy", executable.name)) {
    nodes.executables.erase(nodes.executables.begin() + long(which));
  }
}

void Launch(ProgramWorld& world) {
  NodeWorld& nodes = NodesOf(world);
  const NodeExecutable* const executable = AnyExecutable(world);
  // When objects are let go after a launch, nobody says.
  if (executable == nullptr || executable->may_differ || executable->graph.has_objects) return;
  cuMemsetD8(nodes.memory, 0, NodeWorld::kBytes);
  cuCtxSynchronize();
  nodes.calls = 0;
  const CUstream stream = world.AnyStream();
  const std::string name = world.streams.NameOf(stream);
  const int times = world.OneIn(4) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    const bool launched = world.Say(cuGraphLaunch(executable->handle, stream), "cuGraphLaunch",
                                    executable->name, name);
    const CUresult synchronized = cuStreamSynchronize(stream);
    if (launched) {
      world.Gave(int(synchronized), HashOf(nodes.memory, NodeWorld::kBytes), nodes.calls.load());
    }
  }
  const NodeGraph& graph = executable->graph;
  if (graph.allocated == 0 || graph.is_freed) return;
  unsigned int found = 0;
  if (world.Say(cuMemcpyDtoH(&found, graph.allocated, 4), "cuMemcpyDtoH", "allocated")) {
    world.Gave(found);
  }
  world.Say(cuMemFree(graph.allocated), "cuMemFree", "of", executable->name);
}

void AskExecutable(ProgramWorld& world) {
  const NodeExecutable* const executable = AnyExecutable(world);
  if (executable == nullptr) return;
  uint64_t flags = 0;
  if (world.OneIn(3)) {
    if (world.Say(get_flags(executable->handle, &flags), "cuGraphExecGetFlags", executable->name)) {
      world.Gave(flags);
    }
    return;
  }
  if (world.OneIn(3)) {
    world.Say(upload(executable->handle, world.AnyStream()), "cuGraphUpload", executable->name);
    return;
  }
  const NodeOfGraph* const node = AnyNodeFor(world, *executable);
  if (node == nullptr || node->stays) return;
  if (node->type > CU_GRAPH_NODE_TYPE_MEMSET && !world.OneIn(6)) return;
  unsigned int enabled = 9;
  if (world.OneIn(2)) {
    if (world.Say(cuGraphNodeGetEnabled(executable->handle, node->handle, &enabled),
                  "cuGraphNodeGetEnabled", executable->name, node->name)) {
      world.Gave(enabled);
    }
    return;
  }
  enabled = world.Of({0u, 0u, 1u, 1u, 7u});
  world.Say(cuGraphNodeSetEnabled(executable->handle, node->handle, enabled),
            "cuGraphNodeSetEnabled", executable->name, node->name, enabled);
}

CUresult Set(const ProgramWorld& world, CUgraphExec executable, CUgraphNode node,
             const NodeWork& work) {
  const bool inside = executable != nullptr;
  switch (work.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return inside ? cuGraphExecKernelNodeSetParams(executable, node, &work.kernel)
                    : cuGraphKernelNodeSetParams(node, &work.kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return inside ? cuGraphExecMemcpyNodeSetParams(executable, node, &work.copy, world.context)
                    : cuGraphMemcpyNodeSetParams(node, &work.copy);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return inside ? cuGraphExecMemsetNodeSetParams(executable, node, &work.fill, world.context)
                    : cuGraphMemsetNodeSetParams(node, &work.fill);
    case CU_GRAPH_NODE_TYPE_HOST:
      return inside ? set_call_inside(executable, node, &work.call) : set_call(node, &work.call);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return inside ? set_awaited_inside(executable, node, work.event)
                    : set_awaited(node, work.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return inside ? set_recorded_inside(executable, node, work.event)
                    : set_recorded(node, work.event);
    default:
      return inside ? set_batch_inside(executable, node, &work.batch)
                    : set_batch(node, &work.batch);
  }
}

bool HasWork(int type) {
  return type <= CU_GRAPH_NODE_TYPE_HOST || type == CU_GRAPH_NODE_TYPE_WAIT_EVENT ||
         type == CU_GRAPH_NODE_TYPE_EVENT_RECORD || type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
}

// Other work for a node, mostly of its type.
void SetWork(ProgramWorld& world) {
  const NodeExecutable* const executable = world.OneIn(2) ? AnyExecutable(world) : nullptr;
  const NodeOfGraph* const node =
      executable != nullptr ? AnyNodeFor(world, *executable) : AnyNodeOf(world, AnyGraph(world));
  if (node == nullptr || node->stays) return;
  const int type = world.OneIn(8) ? world.Of({0, 1, 2, 3, 6, 7, 12}) : node->type;
  if (!HasWork(type)) return;
  NodeWork work;
  RollWork(world, type, &work);
  if (HasNull(work)) return;
  const CUgraphExec inside = executable != nullptr ? executable->handle : nullptr;
  const std::string of = executable != nullptr ? executable->name : "graph";
  if (world.OneIn(3)) {
    GenericParams any = AsAnyNode(work, world.context);
    world.Say(inside != nullptr ? set_any_inside(inside, node->handle, &any)
                                : set_any(node->handle, &any),
              inside != nullptr ? "cuGraphExecNodeSetParams" : "cuGraphNodeSetParams", of,
              node->name, type, work.words);
    return;
  }
  const bool has_event =
      type == CU_GRAPH_NODE_TYPE_WAIT_EVENT || type == CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  world.Say(Set(world, inside, node->handle, work),
            std::string(inside != nullptr ? "cuGraphExec" : "cuGraph") + NameOfWork(type) +
                (has_event ? "SetEvent" : "SetParams"),
            of, node->name, work.words);
}

// A child graph for the one that a node has: like it, or any.
void SetChild(ProgramWorld& world) {
  NodeExecutable* const executable = AnyExecutable(world);
  if (executable == nullptr) return;
  const NodeGraph* const graph = GraphOf(world, *executable);
  const NodeOfGraph* node = AnyNodeFor(world, *executable);
  for (const NodeOfGraph& each : executable->graph.nodes) {
    if (each.type == CU_GRAPH_NODE_TYPE_GRAPH && graph != nullptr && !world.OneIn(8)) node = &each;
  }
  const NodeGraph* const child = AnyGraph(world);
  if (node == nullptr || child == graph || child->is_nested || child->has_objects) return;
  if (child->allocated != 0) return;
  const bool is_child = node->type == CU_GRAPH_NODE_TYPE_GRAPH;
  if (!is_child && !world.OneIn(8)) return;
  CUgraph own = nullptr;
  CUgraph like = nullptr;
  if (is_child && !graph->has_objects && world.OneIn(2)) {
    cuGraphChildGraphNodeGetGraph(node->handle, &own);
    cuGraphClone(&like, own);
  }
  const CUresult result =
      set_child_inside(executable->handle, node->handle, like != nullptr ? like : child->handle);
  executable->may_differ |=
      !world.Say(result, "cuGraphExecChildGraphNodeSetParams", executable->name, node->name,
                 like != nullptr ? "its own" : child->name);
  if (like != nullptr) cuGraphDestroy(like);
}

void Update(ProgramWorld& world) {
  NodeExecutable* const executable = AnyExecutable(world);
  if (executable == nullptr) return;
  const NodeGraph* const own = GraphOf(world, *executable);
  const NodeGraph* const graph = own == nullptr || world.OneIn(4) ? AnyGraph(world) : own;
  // Whose memory and objects it would then have is not looked at.
  if (graph != nullptr && graph->nodes.size() != executable->graph.nodes.size() &&
      !world.OneIn(4)) {
    return;
  }
  if (graph == nullptr || graph->has_objects || graph->allocated != 0 ||
      executable->graph.allocated != 0)
    return;
  UpdateInfo info = {99, nullptr, nullptr};
  executable->may_differ |= !world.Say(update(executable->handle, graph->handle, &info),
                                       "cuGraphExecUpdate", executable->name, graph->name);
  world.Gave(info.result, info.error_from_node == nullptr);
}

}  // namespace

RandomSteps NodeExecutableSteps() {
  return {{20, Instantiate}, {6, DestroyExecutable}, {24, Launch}, {20, AskExecutable},
          {40, SetWork},     {12, SetChild},         {20, Update}};
}

}  // namespace twinmmu::abi
