// What the nodes of executable graphs do, changed.

#include <utility>

#include "sim/libcuda/graphs/changes/exec_changes.h"
#include "sim/libcuda/graphs/graphs.h"
#include "sim/libcuda/graphs/memory_nodes.h"
#include "sim/libcuda/graphs/new_nodes.h"

namespace twinmmu::libcuda {
namespace {

CUresult ChangeKernel(const CallSite& site, CUgraphExec exec, CUgraphNode node, const void* params,
                      const CUDA_KERNEL_NODE_PARAMS& given) {
  return ChangeInExec<KernelWork>(site, exec, node, params,
                                  [&](DriverState& driver, KernelWork* work) {
                                    return RemakeKernel(site, driver, given, work);
                                  });
}

}  // namespace

extern "C" CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return ChangeKernel(TWINMMU_HERE, exec, node, params,
                      params == nullptr ? CUDA_KERNEL_NODE_PARAMS{} : LaterForm(*params));
}

extern "C" CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                      const CUDA_KERNEL_NODE_PARAMS* params) {
  return ChangeKernel(TWINMMU_HERE, exec, node, params,
                      params == nullptr ? CUDA_KERNEL_NODE_PARAMS{} : *params);
}

extern "C" CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_MEMCPY3D* params, CUcontext context) {
  const CallSite site = TWINMMU_HERE;
  return MoveInExec<CopyWork>(site, exec, node, params, context,
                              [&](DriverState& driver, CUcontext in, CopyWork* made) {
                                return MakeCopy(site, driver, *params, in, made);
                              });
}

extern "C" CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_MEMSET_NODE_PARAMS* params,
                                                   CUcontext context) {
  const CallSite site = TWINMMU_HERE;
  return MoveInExec<FillWork>(site, exec, node, params, context,
                              [&](DriverState& driver, CUcontext in, FillWork* made) {
                                return MakeFill(site, driver, *params, in, made);
                              });
}

extern "C" CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                 const CUDA_HOST_NODE_PARAMS* params) {
  return ChangeInExec<HostWork>(
      TWINMMU_HERE, exec, node, params,
      [&](DriverState&, HostWork* work) { return MakeHost(*params, work); });
}

extern "C" CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                       CUgraph graph) {
  return EnterGraphs(TWINMMU_HERE, {node}, [&](DriverState& driver, Graphs& graphs) -> CUresult {
    const std::shared_ptr<Graph> given = graphs.Find(graph);
    if (given == nullptr) return NoSuchGraph();
    // That is looked at before anything else. Source: an H200 with driver 580.159.
    if (HasMemoryNodes(*given)) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    if (graphs.Find(exec) == nullptr) return NoSuchGraph();
    return ChangeNode(driver, exec, node, [&](DriverState&, GraphNode* found) -> CUresult {
      ChildWork* const work = std::get_if<ChildWork>(&found->work);
      if (work == nullptr) return kInvalidValue;
      CUgraphExecUpdateResultInfo info;
      if (!UpdateGraph(driver, *given, work->graph.get(), &info)) {
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
      }
      graphs.ShareHeld(*given, IdOf(exec));
      return CUDA_SUCCESS;
    });
  });
}

extern "C" CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                                       CUevent event) {
  const CallSite site = TWINMMU_HERE;
  return ChangeInExec<RecordWork>(site, exec, node, node,
                                  [&](DriverState& driver, RecordWork* work) {
                                    work->event = event;
                                    return CheckEvent(site, driver, event);
                                  });
}

extern "C" CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node,
                                                     CUevent event) {
  const CallSite site = TWINMMU_HERE;
  return ChangeInExec<WaitWork>(site, exec, node, node, [&](DriverState& driver, WaitWork* work) {
    work->event = event;
    return CheckEvent(site, driver, event);
  });
}

// --- Nodes that are left out ---------------------------------------------------------------------

namespace {

// Only these can be.
bool CanBeDisabled(const GraphWork& work) {
  return std::holds_alternative<KernelWork>(work) || std::holds_alternative<CopyWork>(work) ||
         std::holds_alternative<FillWork>(work);
}

}  // namespace

extern "C" CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node,
                                          unsigned int enabled) {
  return ChangeExec(TWINMMU_HERE, exec, node, node, [&](DriverState& driver, GraphNode* found) {
    if (!CanBeDisabled(found->work)) return kInvalidValue;
    if (found->enabled != (enabled != 0)) NoteStack(driver, found);
    found->enabled = enabled != 0;
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node,
                                          unsigned int* enabled) {
  return ChangeExec(TWINMMU_HERE, exec, node, enabled, [&](DriverState&, GraphNode* found) {
    if (!CanBeDisabled(found->work)) return kInvalidValue;
    *enabled = found->enabled ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

// --- All nodes -----------------------------------------------------------------------------------

namespace {

CUresult Update(const CallSite& site, CUgraphExec exec, CUgraph graph,
                CUgraphExecUpdateResultInfo* info) {
  *info = {CU_GRAPH_EXEC_UPDATE_ERROR, nullptr, nullptr};
  return EnterGraph(site, graph, {}, [&](DriverState& driver, Graphs& graphs, Graph& found) {
    GraphExec* const changed = graphs.Find(exec);
    if (changed == nullptr) return NoSuchGraph();
    const std::shared_ptr<Graph> copy = changed->graph->Copy([](GraphId same) { return same; });
    // One executable graph at a time, as in Instantiate. Source: an H200 with driver 580.159.
    const bool is_own = copy->id() == found.id() && HasMemoryNodes(*copy);
    if (HasMemoryNodes(found) && !is_own && graphs.HasExecOf(found.id(), HasMemoryNodes)) {
      info->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
      return kNotSupported;
    }
    if (!UpdateGraph(driver, found, copy.get(), info)) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    graphs.ReplaceHeld(found, IdOf(exec));
    changed->graph = copy;
    changed->generation = 0;
    changed->told.clear();
    return CUDA_SUCCESS;
  });
}

}  // namespace

extern "C" CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node,
                                      CUgraphExecUpdateResult* result) {
  CUgraphExecUpdateResultInfo info;
  const CUresult updated = Update(TWINMMU_HERE, exec, graph, &info);
  if (error_node != nullptr) *error_node = info.errorNode;
  // As an H100 says in this form that there are fewer or more nodes.
  constexpr CUgraphExecUpdateResult kNotSupportedChange = 6;
  const bool other_count =
      info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && info.errorNode == nullptr;
  if (result != nullptr) *result = other_count ? kNotSupportedChange : info.result;
  return updated;
}

extern "C" CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                                         CUgraphExecUpdateResultInfo* info) {
  CUgraphExecUpdateResultInfo told;
  const CUresult updated = Update(TWINMMU_HERE, exec, graph, &told);
  if (info != nullptr) *info = told;
  return updated;
}

}  // namespace twinmmu::libcuda
