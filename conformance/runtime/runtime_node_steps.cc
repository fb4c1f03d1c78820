// Nodes of graphs: what they do, what they say, and what is before what.

#include <algorithm>
#include <cstring>
#include <sstream>

#include "conformance/runtime/runtime_graphs.h"

namespace random_runtime {
namespace {

// A graph that no other has, and that is gone after the step.
void AddChild(RuntimeWorld& world) {
  Graph* const graph = AnyGraph(world);
  if (graph == nullptr) return;
  std::string names;
  const auto before = AnyBefore(world, *graph, &names);
  cudaGraph_t child = nullptr;
  cudaGraphNode_t inner = nullptr;
  cudaGraph_t found = nullptr;
  cudaGraphCreate(&child, 0);
  const KernelWork work(world, NextSlot());
  world.Say(cudaGraphAddKernelNode(&inner, child, nullptr, 0, &work.params), "cudaGraphAdd",
            "child's", work.words);
  GraphNode node;
  node.kind = 'g';
  if (world.Say(cudaGraphAddChildGraphNode(&node.handle, graph->handle, before.data(),
                                           before.size(), child),
                "cudaGraphAddChildGraphNode", graph->name, names)) {
    node.name = Graphs().Name("n");
    world.Gave(node.name);
    graph->nodes.push_back(node);
    if (world.Say(cudaGraphChildGraphNodeGetGraph(node.handle, &found),
                  "cudaGraphChildGraphNodeGetGraph")) {
      size_t count = 0;
      cudaGraphGetNodes(found, nullptr, &count);
      world.Gave(found != child, count);
    }
  }
  cudaGraphDestroy(child);
}

// An allocation that is filled, read and freed.
void AddMemory(RuntimeWorld& world) {
  Graph* const graph = AnyGraph(world);
  if (graph == nullptr || !world.OneIn(2)) return;
  cudaMemAllocNodeParams allocation = {};
  allocation.poolProps.allocType = cudaMemAllocationTypePinned;
  allocation.poolProps.location = {cudaMemLocationTypeDevice, world.OneIn(6) ? 100 : 0};
  allocation.bytesize = world.Of<size_t>({64, 1000, 100000, 100000, 0});
  cudaGraphNode_t alloc = nullptr;
  if (!world.Say(cudaGraphAddMemAllocNode(&alloc, graph->handle, nullptr, 0, &allocation),
                 "cudaGraphAddMemAllocNode", graph->name, allocation.poolProps.location.id,
                 allocation.bytesize)) {
    return;
  }
  world.Gave(allocation.dptr != nullptr);
  cudaGraphNode_t fill = nullptr;
  cudaGraphNode_t copy = nullptr;
  cudaGraphNode_t free = nullptr;
  std::string words;
  cudaMemsetParams filling = {};
  filling.dst = allocation.dptr;
  filling.elementSize = 4;
  filling.width = 16;
  filling.height = 1;
  filling.value = static_cast<unsigned>(world.Below(1000));
  world.Say(cudaGraphAddMemsetNode(&fill, graph->handle, &alloc, 1, &filling), "cudaGraphAdd",
            "set of memory", filling.value);
  world.Say(cudaGraphAddMemcpyNode1D(&copy, graph->handle, &fill, 1, NextSlot(), allocation.dptr,
                                     64, cudaMemcpyDeviceToDevice),
            "cudaGraphAdd", "copy of memory");
  world.Say(cudaGraphAddMemFreeNode(&free, graph->handle, &copy, 1, allocation.dptr),
            "cudaGraphAddMemFreeNode", graph->name);
  void* freed = nullptr;
  cudaMemAllocNodeParams found = {};
  if (world.Say(cudaGraphMemAllocNodeGetParams(alloc, &found), "cudaGraphMemAllocNodeGetParams")) {
    world.Gave(found.bytesize, found.dptr == allocation.dptr);
  }
  if (world.Say(cudaGraphMemFreeNodeGetParams(free, &freed), "cudaGraphMemFreeNodeGetParams")) {
    world.Gave(freed == allocation.dptr);
  }
}

// By name, in the order of names.
std::string NamesOf(const Graph& graph, const std::vector<cudaGraphNode_t>& nodes) {
  std::vector<std::string> names;
  for (const cudaGraphNode_t node : nodes) names.push_back(NameOfNode(graph, node));
  std::sort(names.begin(), names.end());
  std::string all;
  for (const std::string& name : names) all += name + ",";
  return all;
}

void AskGraph(RuntimeWorld& world) {
  Graph* const graph = AnyGraph(world);
  if (graph == nullptr) return;
  std::vector<cudaGraphNode_t> found(600);
  std::vector<cudaGraphNode_t> to(600);
  size_t count = world.OneIn(4) ? 2 : found.size();
  const bool null = world.OneIn(10);
  cudaError_t error = cudaSuccess;
  const char* name = nullptr;
  const GraphNode* const node =
      graph->nodes.empty() ? nullptr : &graph->nodes[world.Below(graph->nodes.size())];
  switch (world.Below(5)) {
    case 0:
      name = "cudaGraphGetNodes";
      error = cudaGraphGetNodes(graph->handle, null ? nullptr : found.data(), &count);
      break;
    case 1:
      name = "cudaGraphGetRootNodes";
      error = cudaGraphGetRootNodes(graph->handle, null ? nullptr : found.data(), &count);
      break;
    case 2:
      name = "cudaGraphGetEdges";
      error = cudaGraphGetEdges(graph->handle, nullptr, nullptr, nullptr, &count);
      found.clear();
      break;
    case 3:
      if (node == nullptr) return;
      name = "cudaGraphNodeGetDependencies";
      error = cudaGraphNodeGetDependencies(node->handle, null ? nullptr : found.data(), nullptr,
                                           &count);
      break;
    default:
      if (node == nullptr) return;
      name = "cudaGraphNodeGetDependentNodes";
      error = cudaGraphNodeGetDependentNodes(node->handle, null ? nullptr : found.data(), nullptr,
                                             &count);
  }
  const bool all = !null && !found.empty() && count != 2;
  if (!world.Say(error, name, graph->name, node == nullptr ? "" : node->name.c_str(), null)) return;
  world.Gave(count);
  if (!all) return;
  found.resize(std::min(count, found.size()));
  world.Gave(NamesOf(*graph, found));
}

void ChangeDependencies(RuntimeWorld& world) {
  Graph* const graph = AnyGraph(world);
  if (graph == nullptr || graph->nodes.size() < 2) return;
  size_t from = world.Below(graph->nodes.size());
  size_t to = world.Below(graph->nodes.size());
  if (from > to && !world.OneIn(8)) std::swap(from, to);
  const GraphNode& first = graph->nodes[from];
  const GraphNode& second = graph->nodes[to];
  // A ring is found when the graph is instantiated: the graph would be of no more use.
  if (from > to) {
    world.Say(cudaGraphRemoveDependencies(graph->handle, &first.handle, &second.handle, nullptr, 1),
              "cudaGraphRemoveDependencies", first.name, second.name);
  } else if (world.OneIn(2)) {
    world.Say(cudaGraphAddDependencies(graph->handle, &first.handle, &second.handle, nullptr, 1),
              "cudaGraphAddDependencies", first.name, second.name);
  } else {
    cudaGraphNode_t before[600];
    size_t count = std::size(before);
    if (cudaGraphNodeGetDependencies(second.handle, before, nullptr, &count) != cudaSuccess) return;
    const cudaGraphNode_t other = count == 0 ? first.handle : before[world.Below(count)];
    world.Say(cudaGraphRemoveDependencies(graph->handle, &other, &second.handle, nullptr, 1),
              "cudaGraphRemoveDependencies", NameOfNode(*graph, other), second.name);
  }
}

void DestroyNode(RuntimeWorld& world) {
  Graph* const graph = AnyGraph(world);
  if (graph == nullptr || graph->nodes.empty()) return;
  const size_t at = world.Below(graph->nodes.size());
  if (world.Say(cudaGraphDestroyNode(graph->nodes[at].handle), "cudaGraphDestroyNode",
                graph->nodes[at].name)) {
    graph->nodes.erase(graph->nodes.begin() + static_cast<long>(at));
    // A new node may have its address: what executables say of that one is a matter of luck.
    for (Executable& executable : Graphs().executables) {
      if (executable.graph == graph->name) executable.graph = "none";
    }
  }
}

void Clone(RuntimeWorld& world) {
  Graph* const graph = AnyGraph(world);
  if (graph == nullptr) return;
  cudaGraph_t clone = nullptr;
  if (!world.Say(cudaGraphClone(&clone, graph->handle), "cudaGraphClone", graph->name)) return;
  size_t count = 0;
  cudaGraphGetNodes(clone, nullptr, &count);
  world.Gave(count);
  if (!graph->nodes.empty()) {
    const GraphNode& node = graph->nodes[world.Below(graph->nodes.size())];
    const bool in_clone = !world.OneIn(4);
    cudaGraphNode_t found = nullptr;
    if (world.Say(cudaGraphNodeFindInClone(&found, node.handle, in_clone ? clone : graph->handle),
                  "cudaGraphNodeFindInClone", node.name, in_clone)) {
      world.Gave(found != node.handle);
    }
  }
  world.Say(cudaGraphDestroy(clone), "cudaGraphDestroy", "clone");
}

}  // namespace

std::vector<cudaGraphNode_t> AnyBefore(RuntimeWorld& world, const Graph& graph,
                                       std::string* names) {
  std::vector<cudaGraphNode_t> before;
  for (size_t i = 0; i < graph.nodes.size() && before.size() < 3; ++i) {
    if (!world.OneIn(4)) continue;
    before.push_back(graph.nodes[i].handle);
    *names += graph.nodes[i].name + ",";
  }
  if (world.OneIn(15) && !before.empty()) {  // the same twice
    before.push_back(before[0]);
    *names += "twice";
  }
  return before;
}

std::string NameOfNode(const Graph& graph, cudaGraphNode_t handle) {
  for (const GraphNode& node : graph.nodes) {
    if (node.handle == handle) return node.name;
  }
  return "other";
}

Steps GraphNodeSteps() {
  return {{5, AddChild},    {5, AddMemory}, {18, AskGraph}, {14, ChangeDependencies},
          {4, DestroyNode}, {4, Clone}};
}

}  // namespace random_runtime
