// Graphs of fills, copies, events and other graphs.

#include <algorithm>

#include "conformance/abi/abi_fixtures.h"
#include "conformance/abi/random/program_world.h"

namespace twinmmu::abi {
namespace {

constexpr size_t kMostNodes = 40;

inline constexpr Function<CUresult(CUgraph, const CUgraphNode*, const CUgraphNode*, size_t)>
    add_edges("cuGraphAddDependencies");
inline constexpr Function<CUresult(CUgraph, const CUgraphNode*, const CUgraphNode*, size_t)>
    remove_edges("cuGraphRemoveDependencies");
inline constexpr Function<CUresult(CUgraph, CUgraphNode*, CUgraphNode*, size_t*)> get_edges(
    "cuGraphGetEdges");

void Create(ProgramWorld& world) {
  if (world.graphs.size() > 3) return;
  CUgraph graph = nullptr;
  const unsigned flags = world.OneIn(6) ? 1 : 0;
  if (world.Say(cuGraphCreate(&graph, flags), "cuGraphCreate", flags)) {
    world.Gave(world.graphs.Add(graph));
  }
}

void ForgetNodesOf(ProgramWorld& world, const std::string& graph) {
  for (size_t i = world.nodes.size(); i-- > 0;) {
    if (world.nodes[i].kind == graph) world.nodes.Remove(std::string(world.nodes[i].name));
  }
}

void Destroy(ProgramWorld& world) {
  if (world.graphs.empty()) return;
  const auto graph = world.One(world.graphs);
  if (world.Say(cuGraphDestroy(graph.handle), "cuGraphDestroy", graph.name)) {
    ForgetNodesOf(world, graph.name);
    world.graphs.Remove(graph.name);
  }
}

// A part of a block that stays.
RandomBlock PartForGraph(ProgramWorld& world) {
  const RandomBlock part = world.Part(4096);
  for (RandomBlock& block : world.blocks) {
    block.in_graph |= part.base - block.base < block.size;
  }
  return part;
}

CUDA_MEMSET_NODE_PARAMS AnyFill(ProgramWorld& world, std::string* words) {
  const RandomBlock part = PartForGraph(world);
  CUDA_MEMSET_NODE_PARAMS fill = {};
  fill.dst = part.base;
  fill.value = static_cast<unsigned>(world.Below(512));
  fill.elementSize = world.Of({1u, 1u, 2u, 4u, 3u});
  fill.height = world.Of<size_t>({1, 1, 1, 0});
  fill.width = std::max<size_t>(part.size / 4, 1);
  fill.pitch = world.Of<size_t>({0, 0, part.size});
  std::ostringstream text;
  text << part.name << ' ' << fill.value << ' ' << fill.elementSize << ' ' << fill.width << ' '
       << fill.height << ' ' << fill.pitch;
  *words = text.str();
  return fill;
}

CUDA_MEMCPY3D AnyCopy(ProgramWorld& world, std::string* words) {
  const RandomBlock to = PartForGraph(world);
  const RandomBlock from = PartForGraph(world);
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from.base;
  copy.dstDevice = to.base;
  copy.WidthInBytes = std::min(to.size, from.size);
  copy.Height = copy.Depth = 1;
  *words = to.name + " " + from.name + " " + std::to_string(copy.WidthInBytes);
  const bool apart = to.base + to.size <= from.base || from.base + from.size <= to.base;
  if (!apart) copy.WidthInBytes = 0;
  return copy;
}

void AddNode(ProgramWorld& world) {
  if (world.graphs.empty() || world.blocks.empty() || world.nodes.size() >= kMostNodes) return;
  const auto& graph = world.One(world.graphs);
  std::vector<CUgraphNode> before;
  std::string after = "after";
  for (size_t i = 0; i < world.nodes.size() && before.size() < 2; ++i) {
    const auto& node = world.nodes[i];
    if (world.OneIn(node.kind == graph.name ? 4 : 60)) {
      before.push_back(node.handle);
      after += " " + node.name;
    }
  }
  CUgraphNode node = nullptr;
  std::string words;
  bool made = false;
  switch (world.Below(5)) {
    case 0:
      made = world.Say(cuGraphAddEmptyNode(&node, graph.handle, before.data(), before.size()),
                       "cuGraphAddEmptyNode", graph.name, after);
      break;
    case 1:
    case 2: {
      const CUDA_MEMSET_NODE_PARAMS fill = AnyFill(world, &words);
      made = world.Say(cuGraphAddMemsetNode(&node, graph.handle, before.data(), before.size(),
                                            &fill, world.context),
                       "cuGraphAddMemsetNode", graph.name, after, words);
      break;
    }
    case 3: {
      const CUDA_MEMCPY3D copy = AnyCopy(world, &words);
      if (copy.WidthInBytes == 0) return;
      made = world.Say(cuGraphAddMemcpyNode(&node, graph.handle, before.data(), before.size(),
                                            &copy, world.context),
                       "cuGraphAddMemcpyNode", graph.name, after, words);
      break;
    }
    default: {
      const auto& child = world.One(world.graphs);
      if (child.name == graph.name) return;  // the genuine driver ends the process
      made = world.Say(
          cuGraphAddChildGraphNode(&node, graph.handle, before.data(), before.size(), child.handle),
          "cuGraphAddChildGraphNode", graph.name, after, child.name);
    }
  }
  if (made) world.Gave(world.nodes.Add(node, graph.name));
}

void ChangeEdges(ProgramWorld& world) {
  if (world.nodes.size() < 2) return;
  // No cycles: some of nodes that do nothing go unnoticed by the genuine driver.
  const size_t first = world.Below(world.nodes.size() - 1);
  const size_t behind = world.Below(world.nodes.size() - first - 1);
  const auto& from = world.nodes[first];
  const auto& to = world.nodes[first + 1 + behind];
  const CUgraph graph = [&] {
    for (size_t i = 0; i < world.graphs.size(); ++i) {
      if (world.graphs[i].name == from.kind) return world.graphs[i].handle;
    }
    return CUgraph(nullptr);
  }();
  if (graph == nullptr) return;
  if (world.OneIn(3)) {
    world.Say(remove_edges(graph, &from.handle, &to.handle, 1), "cuGraphRemoveDependencies",
              from.kind, from.name, to.name);
  } else {
    world.Say(add_edges(graph, &from.handle, &to.handle, 1), "cuGraphAddDependencies", from.kind,
              from.name, to.name);
  }
}

void DestroyNode(ProgramWorld& world) {
  if (world.nodes.empty()) return;
  const auto node = world.One(world.nodes);
  if (world.Say(cuGraphDestroyNode(node.handle), "cuGraphDestroyNode", node.name)) {
    world.nodes.Remove(node.name);
  }
}

void Ask(ProgramWorld& world) {
  if (world.graphs.empty()) return;
  const auto& graph = world.One(world.graphs);
  size_t nodes = 0;
  size_t roots = 0;
  size_t edges = 0;
  const CUresult result = cuGraphGetNodes(graph.handle, nullptr, &nodes);
  cuGraphGetRootNodes(graph.handle, nullptr, &roots);
  get_edges(graph.handle, nullptr, nullptr, &edges);
  if (world.Say(result, "cuGraphGetNodes", graph.name)) world.Gave(nodes, roots, edges);
  if (world.nodes.empty()) return;
  const auto& node = world.One(world.nodes);
  CUgraphNodeType type = {};
  if (world.Say(cuGraphNodeGetType(node.handle, &type), "cuGraphNodeGetType", node.name)) {
    world.Gave(int(type));
  }
}

void SetParams(ProgramWorld& world) {
  if (world.nodes.empty() || world.blocks.empty()) return;
  const auto& node = world.One(world.nodes);
  CUgraphNodeType type = {};
  cuGraphNodeGetType(node.handle, &type);
  std::string words;
  const CUDA_MEMSET_NODE_PARAMS fill = AnyFill(world, &words);
  if (type != CU_GRAPH_NODE_TYPE_MEMSET) return;
  if (world.executables.empty() || world.OneIn(2)) {
    world.Say(cuGraphMemsetNodeSetParams(node.handle, &fill), "cuGraphMemsetNodeSetParams",
              node.name, words);
  } else {
    const auto& executable = world.One(world.executables);
    world.Say(cuGraphExecMemsetNodeSetParams(executable.handle, node.handle, &fill, world.context),
              "cuGraphExecMemsetNodeSetParams", executable.name, node.name, words);
  }
}

void Instantiate(ProgramWorld& world) {
  if (world.graphs.empty() || world.executables.size() > 3) return;
  const auto& graph = world.One(world.graphs);
  const unsigned flags = world.Of({0u, 0u, 0u, 1u, 8u, 64u});
  CUgraphExec executable = nullptr;
  if (world.Say(cuGraphInstantiateWithFlags(&executable, graph.handle, flags),
                "cuGraphInstantiateWithFlags", graph.name, flags)) {
    world.Gave(world.executables.Add(executable, graph.name));
  }
}

// What nothing orders may run in either order, and so only what a graph says is asked of it.
void DestroyExecutable(ProgramWorld& world) {
  if (world.executables.empty()) return;
  const auto executable = world.One(world.executables);
  if (world.Say(cuGraphExecDestroy(executable.handle), "cuGraphExecDestroy", executable.name)) {
    world.executables.Remove(executable.name);
  }
}

}  // namespace

RandomSteps GraphSteps() {
  return {{4, Create}, {2, Destroy},   {14, AddNode},    {8, ChangeEdges},      {2, DestroyNode},
          {6, Ask},    {5, SetParams}, {4, Instantiate}, {2, DestroyExecutable}};
}

}  // namespace twinmmu::abi
