// Graphs, and what they are made of as a whole.

#include "conformance/abi/values/cases/all_cases.h"
#include "conformance/abi/values/cases/graph_objects.h"

namespace twinmmu::abi {
namespace {

void Create(Trial& trial) {
  unsigned int flags = 0;
  trial.Any(FIELD(flags));
  CUgraph graph = nullptr;
  const CUresult result = Call("cuGraphCreate", &graph, flags);
  trial.Answer(result);
  if (result == CUDA_SUCCESS) Must("cuGraphDestroy", graph);
}

void InstantiateGraph(Trial& trial, CUgraph graph) {
  unsigned long long flags = 0;
  trial.Any(FIELD(flags));
  CUgraphExec executable = nullptr;
  const CUresult result = Call("cuGraphInstantiateWithFlags", &executable, graph, flags);
  trial.Answer(result);
  if (result != CUDA_SUCCESS) return;
  uint64_t told = 77;
  Must("cuGraphExecGetFlags", executable, &told);
  if (told != flags) trial.Tell(told);
  Must("cuGraphExecDestroy", executable);
}
void Instantiate(Trial& trial) {
  const OwnGraph graph;
  InstantiateGraph(trial, graph.get());
}
void InstantiateKernel(Trial& trial) {
  const OwnGraph graph;
  graph.AddKernel();
  InstantiateGraph(trial, graph.get());
}
void InstantiateWithParams(Trial& trial) {
  const OwnGraph graph;
  CUDA_GRAPH_INSTANTIATE_PARAMS params = {};
  params.hUploadStream = Stream();
  trial.Any(FIELD(params.flags));
  CUgraphExec executable = nullptr;
  const CUresult result = Call("cuGraphInstantiateWithParams", &executable, graph.get(), &params);
  trial.Answer(result);
  trial.Tell(params.result_out);
  if (result == CUDA_SUCCESS) Must("cuGraphExecDestroy", executable);
}

void CallNothing(void* /*argument*/) {}

void CreateUserObject(Trial& trial) {
  unsigned int count = 1;
  unsigned int flags = 1;
  trial.Any(FIELD(count));
  trial.Any(FIELD(flags));
  void* object = nullptr;
  const CUresult result = Call("cuUserObjectCreate", &object, nullptr, CallNothing, count, flags);
  trial.Answer(result);
  if (result == CUDA_SUCCESS && count <= 0x7fffffff) Must("cuUserObjectRelease", object, count);
}
void* UserObject(unsigned int count) {
  void* object = nullptr;
  Must("cuUserObjectCreate", &object, nullptr, CallNothing, count, 1);
  return object;
}
void RetainUserObject(Trial& trial) {
  void* const object = UserObject(1);
  unsigned int count = 1;
  trial.Where([](uint64_t value) { return value <= 1000 || value >= 0x80000000; }, FIELD(count));
  const CUresult result = Call("cuUserObjectRetain", object, count);
  trial.Answer(result);
  Must("cuUserObjectRelease", object, result == CUDA_SUCCESS ? count + 1 : 1);
}
void GraphRetainsUserObject(Trial& trial) {
  void* const object = UserObject(4000);
  const OwnGraph graph;
  unsigned int count = 1;
  unsigned int flags = 0;
  trial.UpTo(2000, FIELD(count));
  trial.Any(FIELD(flags));
  trial.Answer(Call("cuGraphRetainUserObject", graph.get(), object, count, flags));
}

void Print(Trial& trial) {
  const OwnGraph graph;
  unsigned int flags = 0;
  trial.Any(FIELD(flags));
  trial.Answer(Call("cuGraphDebugDotPrint", graph.get(), "/dev/null", flags));
}
void AddEdge(Trial& trial, const OwnGraph& graph, CUgraphNode from, CUgraphNode to,
             CUgraphEdgeData edge) {
  trial.Any(FIELD(edge.from_port));
  trial.Any(FIELD(edge.to_port));
  trial.Any(FIELD(edge.type));
  trial.Any(FIELD(edge.reserved[0]));
  trial.Any(FIELD(edge.reserved[4]));
  trial.Answer(Call("cuGraphAddDependencies_v2", graph.get(), &from, &to, &edge, 1));
  trial.Answer(graph.Instantiated());
}
void AddPlainEdge(Trial& trial) {
  const OwnGraph graph;
  AddEdge(trial, graph, graph.AddEmpty(), graph.AddEmpty(), {});
}
void AddKernelEdge(Trial& trial) {
  const OwnGraph graph;
  CUgraphEdgeData edge = {};
  edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  AddEdge(trial, graph, graph.AddKernel(), graph.AddKernel(), edge);
}
void CreateConditionalHandle(Trial& trial) {
  const OwnGraph graph;
  unsigned int value = 0;
  unsigned int flags = 0;
  trial.Any(FIELD(value));
  trial.Any(FIELD(flags));
  CUgraphConditionalHandle handle = 0;
  trial.Answer(
      Call("cuGraphConditionalHandleCreate", &handle, graph.get(), PrimaryContext(), value, flags));
}

}  // namespace

std::vector<Case> GraphCases() {
  return {{"cuGraphCreate", Create},
          {"cuGraphInstantiate/empty", Instantiate},
          {"cuGraphInstantiate/kernel", InstantiateKernel},
          {"cuGraphInstantiateWithParams", InstantiateWithParams},
          {"cuUserObjectCreate", CreateUserObject},
          {"cuUserObjectRetain", RetainUserObject},
          {"cuGraphRetainUserObject", GraphRetainsUserObject},
          {"cuGraphDebugDotPrint", Print},
          {"cuGraphAddDependencies/empty", AddPlainEdge},
          {"cuGraphAddDependencies/kernels", AddKernelEdge},
          {"cuGraphConditionalHandleCreate", CreateConditionalHandle}};
}

}  // namespace twinmmu::abi
