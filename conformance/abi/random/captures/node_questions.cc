// What is told of graphs and their nodes, clones of graphs, attributes, and objects that graphs
// keep.

#include <algorithm>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/captures/node_world.h"

namespace twinmmu::abi {
namespace {

using Nodes = std::vector<CUgraphNode>;

constexpr Function<CUresult(CUgraphNode, AllocParams*)> alloc_params(
    "cuGraphMemAllocNodeGetParams");
constexpr Function<CUresult(CUgraphNode, CUdeviceptr*)> free_params("cuGraphMemFreeNodeGetParams");
constexpr Function<CUresult(CUgraphNode, BatchParams*)> batch_params(
    "cuGraphBatchMemOpNodeGetParams");
constexpr Function<CUresult(CUgraphNode, CUDA_HOST_NODE_PARAMS*)> host_params(
    "cuGraphHostNodeGetParams");
constexpr Function<CUresult(CUgraphNode, CUevent*)> recorded("cuGraphEventRecordNodeGetEvent");
constexpr Function<CUresult(CUgraphNode, CUevent*)> awaited("cuGraphEventWaitNodeGetEvent");
constexpr Function<CUresult(CUgraphNode, CUgraphNode*, EdgeData*, size_t*)> dependencies(
    "cuGraphNodeGetDependencies_v2");
constexpr Function<CUresult(CUgraphNode, CUgraphNode*, EdgeData*, size_t*)> dependent_nodes(
    "cuGraphNodeGetDependentNodes_v2");

std::string NamesOf(const NodeGraph& graph, const Nodes& some) {
  std::vector<std::string> names;
  for (const CUgraphNode handle : some) {
    std::string name = handle == nullptr ? "none" : "unknown";
    for (const NodeOfGraph& node : graph.nodes) {
      if (node.handle == handle) name = node.name;
    }
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  std::string text = std::to_string(some.size());
  for (const std::string& name : names) text += " " + name;
  return text;
}

// Of the four questions of which nodes there are.
void AskNodes(ProgramWorld& world) {
  const NodeGraph* const graph = AnyGraph(world);
  const NodeOfGraph* const node = AnyNodeOf(world, graph);
  if (node == nullptr) return;
  size_t count = 0;
  Nodes found;
  std::vector<EdgeData> data;
  const auto ask = [&](const char* name, const std::string& of, const auto& call) {
    count = 0;
    CUresult result = call(nullptr, nullptr);
    found.resize(count);
    data.resize(count);
    if (result == CUDA_SUCCESS && count != 0) result = call(found.data(), data.data());
    if (world.Say(result, name, of)) world.Gave(NamesOf(*graph, found));
  };
  switch (world.Below(4)) {
    case 0:
      return ask("cuGraphGetNodes", graph->name, [&](CUgraphNode* all, EdgeData*) {
        return cuGraphGetNodes(graph->handle, all, &count);
      });
    case 1:
      return ask("cuGraphGetRootNodes", graph->name, [&](CUgraphNode* all, EdgeData*) {
        return cuGraphGetRootNodes(graph->handle, all, &count);
      });
    case 2:
      return ask("cuGraphNodeGetDependencies", node->name,
                 [&](CUgraphNode* all, EdgeData* of_edges) {
                   return dependencies(node->handle, all, of_edges, &count);
                 });
    default:
      ask("cuGraphNodeGetDependentNodes", node->name, [&](CUgraphNode* all, EdgeData* of_edges) {
        return dependent_nodes(node->handle, all, of_edges, &count);
      });
  }
}

void AskEdges(ProgramWorld& world) {
  const NodeGraph* const graph = AnyGraph(world);
  if (graph == nullptr) return;
  size_t count = 0;
  edges_of_graph(graph->handle, nullptr, nullptr, nullptr, &count);
  Nodes from(count);
  Nodes to(count);
  std::vector<EdgeData> data(count);
  CUresult result = CUDA_SUCCESS;
  if (count != 0) {
    result = edges_of_graph(graph->handle, from.data(), to.data(), data.data(), &count);
  }
  if (!world.Say(result, "cuGraphGetEdges", graph->name)) return;
  std::vector<std::string> edges;
  for (size_t i = 0; i < from.size(); ++i) {
    edges.push_back(NamesOf(*graph, {from[i]}) + ">" + NamesOf(*graph, {to[i]}));
  }
  std::sort(edges.begin(), edges.end());
  std::string text;
  for (const std::string& edge : edges) text += " " + edge;
  world.Gave(count, text);
}

void AskRarerParams(ProgramWorld& world, const NodeGraph& graph, const NodeOfGraph& node,
                    int type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      CUgraph child = nullptr;
      if (!world.Say(cuGraphChildGraphNodeGetGraph(node.handle, &child),
                     "cuGraphChildGraphNodeGetGraph", node.name)) {
        return;
      }
      size_t count = 0;
      cuGraphGetNodes(child, nullptr, &count);
      return world.Gave(count);
    }
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      AllocParams told;
      if (world.Say(alloc_params(node.handle, &told), "cuGraphMemAllocNodeGetParams", node.name)) {
        world.Gave(told.size, told.type, told.grant_count, told.address == graph.allocated);
      }
      return;
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE: {
      CUdeviceptr freed = 0;
      if (world.Say(free_params(node.handle, &freed), "cuGraphMemFreeNodeGetParams", node.name)) {
        world.Gave(freed == graph.allocated);
      }
      return;
    }
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
      BatchParams batch = {};
      if (!world.Say(batch_params(node.handle, &batch), "cuGraphBatchMemOpNodeGetParams",
                     node.name)) {
        return;
      }
      world.Gave(batch.count, batch.flags, batch.context == world.context);
      if (batch.count != 0) world.Gave(batch.operations[0].writeValue.value);
      return;
    }
    default: {
      CUgraphNodeType told = {};
      if (world.Say(cuGraphNodeGetType(node.handle, &told), "cuGraphNodeGetType", node.name)) {
        world.Gave(int(told));
      }
    }
  }
}

// What a node was given, asked for as if it were of that type.
void AskParams(ProgramWorld& world) {
  const NodeWorld& nodes = NodesOf(world);
  const NodeGraph* const graph = AnyGraph(world);
  const NodeOfGraph* const node = AnyNodeOf(world, graph);
  if (node == nullptr) return;
  const int type = world.OneIn(5) ? world.Of({0, 1, 2, 3, 6, 7, 10, 11, 12}) : node->type;
  const auto offset = [&](CUdeviceptr address) { return address - nodes.memory; };
  CUevent event = nullptr;
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      CUDA_KERNEL_NODE_PARAMS kernel = {};
      if (!world.Say(cuGraphKernelNodeGetParams(node->handle, &kernel),
                     "cuGraphKernelNodeGetParams", node->name)) {
        return;
      }
      const auto* const to = static_cast<CUdeviceptr*>(kernel.kernelParams[0]);
      const auto* const value = static_cast<unsigned*>(kernel.kernelParams[1]);
      return world.Gave(offset(*to), *value, kernel.func == nodes.add, kernel.gridDimX,
                        kernel.blockDimX, kernel.sharedMemBytes, kernel.ctx == world.context);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: {
      CUDA_MEMCPY3D copy = {};
      if (world.Say(cuGraphMemcpyNodeGetParams(node->handle, &copy), "cuGraphMemcpyNodeGetParams",
                    node->name)) {
        world.Gave(offset(copy.dstDevice), offset(copy.srcDevice), copy.WidthInBytes, copy.Height,
                   copy.Depth);
      }
      return;
    }
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      CUDA_MEMSET_NODE_PARAMS fill = {};
      if (world.Say(cuGraphMemsetNodeGetParams(node->handle, &fill), "cuGraphMemsetNodeGetParams",
                    node->name)) {
        const bool is_ours = offset(fill.dst) < NodeWorld::kBytes;
        world.Gave(is_ours ? offset(fill.dst) : 0, fill.value, fill.elementSize, fill.width,
                   fill.height);
      }
      return;
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
      CUDA_HOST_NODE_PARAMS call = {};
      if (world.Say(host_params(node->handle, &call), "cuGraphHostNodeGetParams", node->name)) {
        world.Gave(call.userData == &nodes.calls);
      }
      return;
    }
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: {
      const bool waits = type == CU_GRAPH_NODE_TYPE_WAIT_EVENT;
      const CUresult result =
          waits ? awaited(node->handle, &event) : recorded(node->handle, &event);
      if (world.Say(result,
                    waits ? "cuGraphEventWaitNodeGetEvent" : "cuGraphEventRecordNodeGetEvent",
                    node->name)) {
        world.Gave(std::find(nodes.events.begin(), nodes.events.end(), event) -
                   nodes.events.begin());
      }
      return;
    }
    default:
      AskRarerParams(world, *graph, *node, type);
  }
}

void Clone(ProgramWorld& world) {
  const NodeGraph* const graph = AnyGraph(world);
  if (graph == nullptr) return;
  CUgraph clone = nullptr;
  if (!world.Say(cuGraphClone(&clone, graph->handle), "cuGraphClone", graph->name)) return;
  size_t count = 0;
  cuGraphGetNodes(clone, nullptr, &count);
  Nodes all(count);
  if (count != 0) cuGraphGetNodes(clone, all.data(), &count);
  world.Gave(count);
  for (size_t i = 0; i < 2; ++i) {
    const NodeGraph* const of = world.OneIn(4) ? AnyGraph(world) : graph;
    const NodeOfGraph* const node = AnyNodeOf(world, of);
    if (node == nullptr) continue;
    CUgraphNode found = nullptr;
    const bool in_clone = !world.OneIn(6);
    if (world.Say(cuGraphNodeFindInClone(&found, node->handle, in_clone ? clone : graph->handle),
                  "cuGraphNodeFindInClone", node->name, graph->name, in_clone)) {
      world.Gave(std::find(all.begin(), all.end(), found) - all.begin());
    }
  }
  world.Say(cuGraphDestroy(clone), "cuGraphDestroy", "clone");
}

}  // namespace

RandomSteps NodeQuestionSteps() {
  return {{14, AskNodes}, {6, AskEdges}, {24, AskParams}, {8, Clone}};
}

}  // namespace twinmmu::abi
