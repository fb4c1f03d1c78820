// Nodes of each type, added to a graph.

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "sim/libcuda/graphs/conditional_nodes.h"
#include "sim/libcuda/graphs/graph_edges.h"
#include "sim/libcuda/graphs/graph_nodes.h"
#include "sim/libcuda/graphs/graphs.h"
#include "sim/libcuda/graphs/memory_nodes.h"
#include "sim/libcuda/graphs/new_nodes.h"

namespace twinmmu::libcuda {

bool HasDependencies(const Graph& graph, const NewNode& node) {
  if (node.dependencies == nullptr) return node.count == 0;
  return std::all_of(node.dependencies, node.dependencies + node.count,
                     [&](CUgraphNode each) { return graph.Find(IdOf(each)) != nullptr; });
}

namespace {

CUresult AddTo(const CallSite& site, DriverState& driver, Graphs& graphs, Graph& graph,
               const NewNode& node, absl::FunctionRef<CUresult(DriverState&, GraphWork*)> make) {
  GraphWork work = EmptyWork();
  const CUresult made = make(driver, &work);
  if (made != CUDA_SUCCESS) {
    // An H200 with driver 580.159 looks at the dependencies before a fault, if the node does
    // operations on memory, not for kernels, copies and fills; and before what a child may not be.
    const bool looks = std::holds_alternative<BatchWork>(work) && made == FaultOf(site, driver);
    const bool is_child = std::holds_alternative<ChildWork>(work) && made == kNotSupported;
    return (looks || is_child) && !HasDependencies(graph, node) ? kInvalidValue : made;
  }
  std::vector<GraphLink> dependencies;
  const CUresult found =
      FindDependencies(graph, work, node.dependencies, node.data, node.count, &dependencies);
  if (found != CUDA_SUCCESS) return found;
  std::vector<RememberedMemory> memory = MemoryOf(site, driver, work);
  const GraphId id = graphs.AddNode(graph, std::move(work), std::move(memory), dependencies);
  *node.node = HandleOf<CUgraphNode>(id);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult AddNode(const CallSite& site, const NewNode& node, const void* params,
                 absl::FunctionRef<CUresult(DriverState&, GraphWork*)> make) {
  return EnterGraphs(site, {}, [&](DriverState& driver, Graphs& graphs) {
    const CUresult fault = node.context != nullptr ? FaultOf(site, driver) : CUDA_SUCCESS;
    if (fault != CUDA_SUCCESS) return fault;
    const DriverCode there = CheckNeeded(site, {node.node, params});
    if (there != DriverCode::kSuccess) return ToResult(there);
    const std::shared_ptr<Graph> graph = graphs.Find(node.graph);
    return graph == nullptr ? NoSuchGraph() : AddTo(site, driver, graphs, *graph, node, make);
  });
}

CUresult MakeChild(DriverState& driver, CUgraph graph, CUgraph parent, ChildWork* made) {
  const std::shared_ptr<Graph> given = driver.graphs->Find(graph);
  if (given == nullptr) return kInvalidValue;
  const bool copied = graph != parent && !driver.graphs->IsMoved(graph) &&
                      !HasMemoryNodes(*given) && !HasConditions(*given);
  if (!copied) return kNotSupported;
  made->graph = driver.graphs->Clone(*given);
  return CUDA_SUCCESS;
}

// An H100 lets a graph become a child of itself, and of graphs inside it; then nothing can be done
// with either.
CUresult MoveChild(DriverState& driver, CUgraph graph, CUgraph parent, ChildWork* made) {
  const std::shared_ptr<Graph> given = driver.graphs->Find(graph);
  if (given == nullptr) return kInvalidValue;
  bool around = false;
  given->ForEachGraph([&](Graph& inner) { around |= inner.id() == IdOf(parent); });
  if (around || driver.graphs->IsChild(graph)) return kNotSupported;
  made->graph = given;
  made->moved = true;
  return CUDA_SUCCESS;
}

bool NamesKernel(const CUDA_KERNEL_NODE_PARAMS& params) {
  return params.func != nullptr || params.kern != nullptr;
}

CUresult RefuseNoKernel(const CallSite& site) {
  return RefuseAnywhere(site, DriverCode::kInvalidHandle);
}

namespace {

CUresult AddKernel(const CallSite& site, const NewNode& node, const void* params,
                   const CUDA_KERNEL_NODE_PARAMS& given) {
  if (params != nullptr && !NamesKernel(given)) return RefuseNoKernel(site);
  return AddNode(site, node, params, [&](DriverState& driver, GraphWork* work) {
    return MakeKernel(site, driver, given, &work->emplace<KernelWork>());
  });
}

}  // namespace

extern "C" CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph,
                                         const CUgraphNode* dependencies, size_t count,
                                         const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return AddKernel(TWINMMU_HERE, {node, graph, dependencies, nullptr, count}, params,
                   params == nullptr ? CUDA_KERNEL_NODE_PARAMS{} : LaterForm(*params));
}

extern "C" CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph,
                                            const CUgraphNode* dependencies, size_t count,
                                            const CUDA_KERNEL_NODE_PARAMS* params) {
  return AddKernel(TWINMMU_HERE, {node, graph, dependencies, nullptr, count}, params,
                   params == nullptr ? CUDA_KERNEL_NODE_PARAMS{} : *params);
}

extern "C" CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph,
                                         const CUgraphNode* dependencies, size_t count,
                                         const CUDA_MEMCPY3D* copy, CUcontext context) {
  const CallSite site = TWINMMU_HERE;
  return AddNode(site, {node, graph, dependencies, nullptr, count, context}, copy,
                 [&](DriverState& driver, GraphWork* work) {
                   return MakeCopy(site, driver, *copy, context, &work->emplace<CopyWork>());
                 });
}

extern "C" CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph,
                                         const CUgraphNode* dependencies, size_t count,
                                         const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext context) {
  const CallSite site = TWINMMU_HERE;
  return AddNode(site, {node, graph, dependencies, nullptr, count, context}, fill,
                 [&](DriverState& driver, GraphWork* work) {
                   return MakeFill(site, driver, *fill, context, &work->emplace<FillWork>());
                 });
}

extern "C" CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph,
                                       const CUgraphNode* dependencies, size_t count,
                                       const CUDA_HOST_NODE_PARAMS* call) {
  return AddNode(
      TWINMMU_HERE, {node, graph, dependencies, nullptr, count}, call,
      [&](DriverState&, GraphWork* work) { return MakeHost(*call, &work->emplace<HostWork>()); });
}

extern "C" CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph,
                                             const CUgraphNode* dependencies, size_t count,
                                             CUgraph child) {
  return AddNode(TWINMMU_HERE, {node, graph, dependencies, nullptr, count}, node,
                 [&](DriverState& driver, GraphWork* work) {
                   return MakeChild(driver, child, graph, &work->emplace<ChildWork>());
                 });
}

extern "C" CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph,
                                        const CUgraphNode* dependencies, size_t count) {
  return AddNode(TWINMMU_HERE, {node, graph, dependencies, nullptr, count}, node,
                 [](DriverState&, GraphWork*) { return CUDA_SUCCESS; });
}

extern "C" CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph,
                                              const CUgraphNode* dependencies, size_t count,
                                              CUevent event) {
  const CallSite site = TWINMMU_HERE;
  return AddNode(site, {node, graph, dependencies, nullptr, count}, node,
                 [&](DriverState& driver, GraphWork* work) {
                   *work = RecordWork{event};
                   return CheckEvent(site, driver, event);
                 });
}

extern "C" CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph,
                                            const CUgraphNode* dependencies, size_t count,
                                            CUevent event) {
  const CallSite site = TWINMMU_HERE;
  return AddNode(site, {node, graph, dependencies, nullptr, count}, node,
                 [&](DriverState& driver, GraphWork* work) {
                   *work = WaitWork{event};
                   return CheckEvent(site, driver, event);
                 });
}

}  // namespace twinmmu::libcuda
