// The graphs of random programs of the runtime.
//
// Each node writes words that no other writes, so that it does not matter in which order they run;
// and their memory and events stay for as long as the program.

#ifndef TWINMMU_CONFORMANCE_RUNTIME_RUNTIME_GRAPHS_H_
#define TWINMMU_CONFORMANCE_RUNTIME_RUNTIME_GRAPHS_H_

#include <atomic>
#include <string>
#include <vector>

#include "conformance/runtime/runtime_kernels.h"
#include "conformance/runtime/runtime_world.h"

namespace random_runtime {

struct GraphNode {
  std::string name;
  cudaGraphNode_t handle = nullptr;
  char kind = 'n';  // k(ernel), s(et), c(opy), h(ost), r(ecord), w(ait), g(raph), m(emory), n(one)
  char* to = nullptr;
};

struct Graph {
  std::string name;
  cudaGraph_t handle = nullptr;
  std::vector<GraphNode> nodes;
};

struct Executable {
  std::string name;
  cudaGraphExec_t handle = nullptr;
  std::string graph;  // the name of what it was made of
};

struct GraphWorld {
  std::vector<Graph> graphs;
  std::vector<Executable> executables;
  std::atomic<int> calls{0};
  int destroyed = 0;
  int made = 0;
  char* memory = nullptr;
  cudaEvent_t events[2] = {};

  std::string Name(const char* prefix) { return prefix + std::to_string(++made); }
};

constexpr size_t kSlotBytes = 64;  // that a node writes
constexpr size_t kSlots = 4096;    // the last of them only read

// With its memory and events, from the first call on.
GraphWorld& Graphs();
char* NextSlot();
const char* ReadOnlySlot();
uint64_t HashOfSlots();

Graph* AnyGraph(RuntimeWorld& world);  // null: there is none
// Nodes before a new one: some of those of the graph.
std::vector<cudaGraphNode_t> AnyBefore(RuntimeWorld& world, const Graph& graph, std::string* names);
std::string NameOfNode(const Graph& graph, cudaGraphNode_t node);
// A node that is of one of the kinds, or null.
GraphNode* AnyNodeOf(RuntimeWorld& world, Graph& graph, const char* kinds);
void CUDART_CB CountCall(void* by);

// A kernel's parameters, right ones mostly.
struct KernelWork {
  KernelWork(RuntimeWorld& world, char* at);
  char* to;
  unsigned count = kSlotBytes / 4;
  unsigned value;
  void* pointers[3] = {&to, &count, &value};
  cudaKernelNodeParams params = {};
  std::string words;
};
cudaMemsetParams AnyFill(RuntimeWorld& world, char* to, std::string* words);
cudaMemcpyKind AnyKind(RuntimeWorld& world);

// Parts of GraphSteps().
Steps GraphNodeSteps();
Steps GraphSettingSteps();
Steps GraphExecutableSteps();

}  // namespace random_runtime

#endif  // TWINMMU_CONFORMANCE_RUNTIME_RUNTIME_GRAPHS_H_
