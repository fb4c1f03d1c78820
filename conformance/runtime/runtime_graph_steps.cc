// Graphs: made, and given nodes.

#include <cstring>
#include <sstream>

#include "conformance/runtime/runtime_graphs.h"

namespace random_runtime {
namespace {

size_t next_slot = 0;

void MakeGraph(RuntimeWorld& world) {
  if (Graphs().graphs.size() >= 4) return;
  const unsigned flags = world.OneIn(6) ? 77 : 0;
  const bool null = world.OneIn(8);
  Graph graph;
  if (!world.Say(cudaGraphCreate(null ? nullptr : &graph.handle, flags), "cudaGraphCreate", flags,
                 null)) {
    return;
  }
  graph.name = Graphs().Name("g");
  world.Gave(graph.name);
  Graphs().graphs.push_back(graph);
}

void DestroyGraph(RuntimeWorld& world) {
  auto& graphs = Graphs().graphs;
  if (world.OneIn(6)) {
    world.Say(cudaGraphDestroy(nullptr), "cudaGraphDestroy", "none");
    return;
  }
  if (graphs.size() < 3) return;
  const size_t at = world.Below(graphs.size());
  if (world.Say(cudaGraphDestroy(graphs[at].handle), "cudaGraphDestroy", graphs[at].name)) {
    graphs.erase(graphs.begin() + static_cast<long>(at));
  }
}

cudaError_t AddWork(RuntimeWorld& world, Graph& graph, GraphNode* node,
                    const std::vector<cudaGraphNode_t>& before, std::string* words) {
  char* const to = node->to;
  switch (node->kind) {
    case 'k': {
      const KernelWork work(world, to);
      *words = work.words;
      return cudaGraphAddKernelNode(&node->handle, graph.handle, before.data(), before.size(),
                                    &work.params);
    }
    case 's': {
      const cudaMemsetParams fill = AnyFill(world, to, words);
      return cudaGraphAddMemsetNode(&node->handle, graph.handle, before.data(), before.size(),
                                    &fill);
    }
    case 'c': {
      const size_t size = world.Of<size_t>({1, 4, 16, 16, 32, 64, 64, 0});
      const cudaMemcpyKind kind = AnyKind(world);
      *words = std::to_string(size) + " " + std::to_string(kind);
      return cudaGraphAddMemcpyNode1D(&node->handle, graph.handle, before.data(), before.size(), to,
                                      ReadOnlySlot(), size, kind);
    }
    case 'h': {
      const size_t by = 1 + world.Below(9);
      const cudaHostNodeParams host = {world.OneIn(8) ? nullptr : CountCall,
                                       reinterpret_cast<void*>(by)};
      *words = std::to_string(by) + (host.fn == nullptr ? " null" : "");
      return cudaGraphAddHostNode(&node->handle, graph.handle, before.data(), before.size(), &host);
    }
    case 'r':
    case 'w': {
      const size_t which = world.Below(2);
      const cudaEvent_t event = world.OneIn(8) ? nullptr : Graphs().events[which];
      *words = event == nullptr ? "none" : std::to_string(which);
      return node->kind == 'r' ? cudaGraphAddEventRecordNode(&node->handle, graph.handle,
                                                             before.data(), before.size(), event)
                               : cudaGraphAddEventWaitNode(&node->handle, graph.handle,
                                                           before.data(), before.size(), event);
    }
    default: {
      const bool null = world.OneIn(8);
      *words = null ? "null" : "";
      return cudaGraphAddEmptyNode(null ? nullptr : &node->handle, graph.handle, before.data(),
                                   before.size());
    }
  }
}

void AddNode(RuntimeWorld& world) {
  Graph* const graph = AnyGraph(world);
  if (graph == nullptr) return;
  std::string names;
  std::string words;
  const auto before = AnyBefore(world, *graph, &names);
  GraphNode node;
  node.kind = world.Of({'k', 'k', 'k', 's', 's', 'c', 'c', 'h', 'r', 'w', 'n'});
  node.to = NextSlot();
  const cudaError_t error = AddWork(world, *graph, &node, before, &words);
  if (!world.Say(error, "cudaGraphAdd", node.kind, graph->name, names, words)) return;
  node.name = Graphs().Name("n");
  world.Gave(node.name);
  graph->nodes.push_back(node);
}

// The same by the call for nodes of all types.
void AddAnyNode(RuntimeWorld& world) {
  Graph* const graph = AnyGraph(world);
  if (graph == nullptr) return;
  std::string names;
  std::string words;
  const auto before = AnyBefore(world, *graph, &names);
  GraphNode node;
  node.kind = world.Of({'k', 's', 'c', 'h', 'n'});
  node.to = NextSlot();
  const KernelWork work(world, node.to);
  cudaGraphNodeParams any = {};
  switch (node.kind) {
    case 'k':
      any.type = cudaGraphNodeTypeKernel;
      any.kernel.func = work.params.func;
      any.kernel.gridDim = work.params.gridDim;
      any.kernel.blockDim = work.params.blockDim;
      any.kernel.kernelParams = work.params.kernelParams;
      words = work.words;
      break;
    case 's': {
      const cudaMemsetParams fill = AnyFill(world, node.to, &words);
      any.type = cudaGraphNodeTypeMemset;
      any.memset.dst = fill.dst;
      any.memset.elementSize = fill.elementSize;
      any.memset.width = fill.width;
      any.memset.height = fill.height;
      any.memset.pitch = fill.pitch;
      any.memset.value = fill.value;
      break;
    }
    case 'c':
      any.type = cudaGraphNodeTypeMemcpy;
      any.memcpy.copyParams.srcPtr = {const_cast<char*>(ReadOnlySlot()), 16, 16, 4};
      any.memcpy.copyParams.dstPtr = {node.to, 16, 16, 4};
      any.memcpy.copyParams.extent = {world.Of<size_t>({1, 8, 16}), world.Of<size_t>({1, 4}), 1};
      any.memcpy.copyParams.kind = world.Of({cudaMemcpyDefault, cudaMemcpyDeviceToDevice});
      any.memcpy.flags = world.OneIn(6) ? 1 : 0;
      words = std::to_string(any.memcpy.copyParams.extent.width) + " " +
              std::to_string(any.memcpy.copyParams.extent.height) + " " +
              std::to_string(any.memcpy.copyParams.kind) + " " + std::to_string(any.memcpy.flags);
      break;
    case 'h':
      any.type = cudaGraphNodeTypeHost;
      any.host.fn = CountCall;
      any.host.userData = reinterpret_cast<void*>(size_t{2});
      break;
    default:
      any.type = world.OneIn(4) ? cudaGraphNodeType(77) : cudaGraphNodeTypeEmpty;
      any.reserved2 = world.OneIn(4) ? 1 : 0;
      words = std::to_string(any.type) + " " + std::to_string(any.reserved2);
  }
  if (!world.Say(cudaGraphAddNode(&node.handle, graph->handle, before.data(), nullptr,
                                  before.size(), &any),
                 "cudaGraphAddNode", node.kind, graph->name, names, words)) {
    return;
  }
  node.name = Graphs().Name("n");
  world.Gave(node.name);
  graph->nodes.push_back(node);
}

}  // namespace

GraphWorld& Graphs() {
  static GraphWorld* const graphs = [] {
    auto* const made = new GraphWorld;
    void* memory = nullptr;
    cudaMalloc(&memory, kSlots * kSlotBytes);
    made->memory = static_cast<char*>(memory);
    cudaMemset(memory, 0, kSlots * kSlotBytes);
    cudaMemset(made->memory + (kSlots - 1) * kSlotBytes, 0x5a, kSlotBytes);
    for (cudaEvent_t& event : made->events) cudaEventCreate(&event);
    return made;
  }();
  return *graphs;
}

char* NextSlot() { return Graphs().memory + kSlotBytes * (next_slot++ % (kSlots - 1)); }
const char* ReadOnlySlot() { return Graphs().memory + (kSlots - 1) * kSlotBytes; }

Graph* AnyGraph(RuntimeWorld& world) {
  auto& graphs = Graphs().graphs;
  return graphs.empty() ? nullptr : &graphs[world.Below(graphs.size())];
}

Steps GraphSteps() {
  Steps steps = {{6, MakeGraph}, {1, DestroyGraph}, {40, AddNode}, {14, AddAnyNode}};
  for (const Steps& more : {GraphNodeSteps(), GraphSettingSteps(), GraphExecutableSteps()}) {
    steps.insert(steps.end(), more.begin(), more.end());
  }
  return steps;
}

}  // namespace random_runtime
