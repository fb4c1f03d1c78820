// What nodes of graphs are told to do, before and after.

#include <cstring>
#include <sstream>

#include "conformance/runtime/runtime_graphs.h"

namespace random_runtime {
namespace {

void AskType(RuntimeWorld& world, const GraphNode& node) {
  cudaGraphNodeType type = {};
  const bool null = world.OneIn(8);
  if (world.Say(cudaGraphNodeGetType(node.handle, null ? nullptr : &type), "cudaGraphNodeGetType",
                node.name, null)) {
    world.Gave(int(type));
  }
}

// The getter of one kind of node, mostly of a node of that kind.
void AskNode(RuntimeWorld& world) {
  Graph* const graph = AnyGraph(world);
  if (graph == nullptr || graph->nodes.empty()) return;
  const GraphNode& node = graph->nodes[world.Below(graph->nodes.size())];
  cudaKernelNodeParams kernel = {};
  cudaMemsetParams fill = {};
  cudaMemcpy3DParms copy = {};
  cudaHostNodeParams host = {};
  cudaEvent_t event = nullptr;
  const char kind = world.OneIn(6) ? world.Of({'k', 's', 'c', 'h', 'r', 'w'}) : node.kind;
  const auto number = [&] { return event == Graphs().events[0] ? 0 : 1; };
  switch (kind) {
    case 'k':
      if (world.Say(cudaGraphKernelNodeGetParams(node.handle, &kernel),
                    "cudaGraphKernelNodeGetParams", node.name)) {
        world.Gave(kernel.gridDim.x, kernel.gridDim.y, kernel.blockDim.x, kernel.sharedMemBytes,
                   *static_cast<unsigned*>(kernel.kernelParams[2]), kernel.extra == nullptr);
      }
      return;
    case 's':
      if (world.Say(cudaGraphMemsetNodeGetParams(node.handle, &fill),
                    "cudaGraphMemsetNodeGetParams", node.name)) {
        world.Gave(fill.elementSize, fill.width, fill.height, fill.value, fill.dst == node.to);
      }
      return;
    case 'c':
      if (world.Say(cudaGraphMemcpyNodeGetParams(node.handle, &copy),
                    "cudaGraphMemcpyNodeGetParams", node.name)) {
        world.Gave(int(copy.kind), copy.extent.width, copy.extent.height, copy.extent.depth);
      }
      return;
    case 'h':
      if (world.Say(cudaGraphHostNodeGetParams(node.handle, &host), "cudaGraphHostNodeGetParams",
                    node.name)) {
        world.Gave(host.fn == CountCall, reinterpret_cast<size_t>(host.userData));
      }
      return;
    case 'r':
      if (world.Say(cudaGraphEventRecordNodeGetEvent(node.handle, &event),
                    "cudaGraphEventRecordNodeGetEvent", node.name)) {
        world.Gave(number());
      }
      return;
    case 'w':
      if (world.Say(cudaGraphEventWaitNodeGetEvent(node.handle, &event),
                    "cudaGraphEventWaitNodeGetEvent", node.name)) {
        world.Gave(number());
      }
      return;
    default:
      AskType(world, node);
  }
}

// In the graph, or in an executable of it.
void SetParams(RuntimeWorld& world) {
  Graph* const graph = AnyGraph(world);
  if (graph == nullptr || graph->nodes.empty()) return;
  GraphNode& node = graph->nodes[world.Below(graph->nodes.size())];
  cudaGraphExec_t inside = nullptr;
  std::string where = "graph";
  for (const Executable& executable : Graphs().executables) {
    if (executable.graph != graph->name || world.OneIn(3)) continue;
    inside = executable.handle;
    where = executable.name;
  }
  const char kind = world.OneIn(8) ? world.Of({'k', 's', 'c', 'h', 'r', 'w'}) : node.kind;
  std::string words;
  cudaError_t error = cudaSuccess;
  char* const to = node.to == nullptr ? NextSlot() : node.to;
  switch (kind) {
    case 'k': {
      const KernelWork work(world, to);
      words = work.words;
      error = inside == nullptr
                  ? cudaGraphKernelNodeSetParams(node.handle, &work.params)
                  : cudaGraphExecKernelNodeSetParams(inside, node.handle, &work.params);
      break;
    }
    case 's': {
      const cudaMemsetParams fill = AnyFill(world, to, &words);
      error = inside == nullptr ? cudaGraphMemsetNodeSetParams(node.handle, &fill)
                                : cudaGraphExecMemsetNodeSetParams(inside, node.handle, &fill);
      break;
    }
    case 'c': {
      const size_t size = world.Of<size_t>({1, 4, 16, 16, 32, 64, 64, 0});
      const cudaMemcpyKind how = AnyKind(world);
      words = std::to_string(size) + " " + std::to_string(how);
      error = inside == nullptr
                  ? cudaGraphMemcpyNodeSetParams1D(node.handle, to, ReadOnlySlot(), size, how)
                  : cudaGraphExecMemcpyNodeSetParams1D(inside, node.handle, to, ReadOnlySlot(),
                                                       size, how);
      break;
    }
    case 'h': {
      const size_t by = 1 + world.Below(9);
      const cudaHostNodeParams host = {world.OneIn(8) ? nullptr : CountCall,
                                       reinterpret_cast<void*>(by)};
      words = std::to_string(by) + (host.fn == nullptr ? " null" : "");
      error = inside == nullptr ? cudaGraphHostNodeSetParams(node.handle, &host)
                                : cudaGraphExecHostNodeSetParams(inside, node.handle, &host);
      break;
    }
    case 'r':
    case 'w': {
      const size_t which = world.Below(2);
      const cudaEvent_t event = Graphs().events[which];
      words = std::to_string(which);
      if (kind == 'r') {
        error = inside == nullptr
                    ? cudaGraphEventRecordNodeSetEvent(node.handle, event)
                    : cudaGraphExecEventRecordNodeSetEvent(inside, node.handle, event);
      } else {
        error = inside == nullptr ? cudaGraphEventWaitNodeSetEvent(node.handle, event)
                                  : cudaGraphExecEventWaitNodeSetEvent(inside, node.handle, event);
      }
      break;
    }
    default:
      return AskType(world, node);
  }
  world.Say(error, "cudaGraphNodeSet", kind, where, node.name, words);
}

// Attributes of kernels, and whether nodes are enabled.
void UseAttribute(RuntimeWorld& world) {
  Graph* const graph = AnyGraph(world);
  if (graph == nullptr) return;
  const GraphNode* const node = AnyNodeOf(world, *graph, world.OneIn(8) ? "sch" : "k");
  const GraphNode* const other = AnyNodeOf(world, *graph, "k");
  if (node == nullptr || other == nullptr) return;
  const int attribute = world.Of({2, 3, 4, 8, 8, 10, 100});
  cudaKernelNodeAttrValue value = {};
  switch (world.Below(3)) {
    case 0:
      if (world.Say(cudaGraphKernelNodeGetAttribute(
                        node->handle, static_cast<cudaLaunchAttributeID>(attribute), &value),
                    "cudaGraphKernelNodeGetAttribute", node->name, attribute)) {
        world.Gave(value.priority);
      }
      return;
    case 1:
      world.Say(cudaGraphKernelNodeCopyAttributes(node->handle, other->handle),
                "cudaGraphKernelNodeCopyAttributes", node->name, other->name);
      return;
    default:
      value.priority = world.Of({0, -1, -3, -8, 2});
      world.Say(cudaGraphKernelNodeSetAttribute(node->handle, cudaLaunchAttributePriority, &value),
                "cudaGraphKernelNodeSetAttribute", node->name, value.priority);
  }
}

}  // namespace

KernelWork::KernelWork(RuntimeWorld& world, char* at) : to(at), value(unsigned(world.Below(1000))) {
  const Kernel kernel = AnyKernel(world);
  params.func = const_cast<void*>(kernel.function);
  params.gridDim = {world.Of({1u, 2u, 4u, 4u}), world.OneIn(8) ? 2u : 1u, 1};
  params.blockDim = {world.Of({1u, 16u, 32u, 64u}), 1, 1};
  if (world.OneIn(12)) params.blockDim.x = world.Of({0u, 5000u});
  params.sharedMemBytes = world.Of({0u, 0u, 1024u});
  params.kernelParams = pointers;
  std::ostringstream text;
  text << kernel.name << ' ' << params.gridDim.x << ' ' << params.gridDim.y << ' '
       << params.blockDim.x << ' ' << params.sharedMemBytes << ' ' << value;
  words = text.str();
}

cudaMemsetParams AnyFill(RuntimeWorld& world, char* to, std::string* words) {
  cudaMemsetParams fill = {};
  fill.dst = world.OneIn(20) ? nullptr : to;
  fill.elementSize = world.Of({1u, 2u, 4u, 4u, 4u, 4u, 4u, 3u});
  fill.width = world.Of<size_t>({1, 8, 8, 16, 16, 16, 16, 0});
  fill.height = 1;
  fill.value = static_cast<unsigned>(world.Below(200));
  std::ostringstream text;
  text << fill.elementSize << ' ' << fill.width << ' ' << fill.value
       << (fill.dst == nullptr ? " null" : "");
  *words = text.str();
  return fill;
}

cudaMemcpyKind AnyKind(RuntimeWorld& world) {
  return world.OneIn(8) ? cudaMemcpyKind(77)
                        : world.Of({cudaMemcpyDefault, cudaMemcpyDeviceToDevice});
}

GraphNode* AnyNodeOf(RuntimeWorld& world, Graph& graph, const char* kinds) {
  std::vector<GraphNode*> fit;
  for (GraphNode& node : graph.nodes) {
    if (std::strchr(kinds, node.kind) != nullptr) fit.push_back(&node);
  }
  return fit.empty() ? nullptr : fit[world.Below(fit.size())];
}

void CUDART_CB CountCall(void* by) {
  Graphs().calls += static_cast<int>(reinterpret_cast<size_t>(by));
}

Steps GraphSettingSteps() { return {{16, AskNode}, {22, SetParams}, {10, UseAttribute}}; }

}  // namespace random_runtime
