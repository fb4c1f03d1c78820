// Changes of executable graphs.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_CHANGES_EXEC_CHANGES_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_CHANGES_EXEC_CHANGES_H_

#include <memory>
#include <utility>
#include <variant>

#include "sim/libcuda/graphs/graph_nodes.h"

namespace twinmmu::libcuda {

// Whether the operation of an executable node can be changed so: from the same kind of memory to
// the same kind, and in as many dimensions; as many operations of the same types.
bool CanBecome(const CopyWork& from, const CopyWork& to);
bool CanBecome(const FillWork& from, const FillWork& to);
bool CanBecome(const BatchWork& from, const BatchWork& to);
// The same of any work, which is of one type.
bool CanBecome(const GraphWork& from, const GraphWork& to);

// Gives each node of an executable graph the work of the node of `graph` that stands where it does.
// False: they differ in more than that, and `info` says where.
bool UpdateGraph(DriverState& driver, const Graph& graph, Graph* executable,
                 CUgraphExecUpdateResultInfo* info);

// The node of an executable graph is set: its threads have the stacks that the context gives now.
void NoteStack(DriverState& driver, GraphNode* node);
// Whether the context gives smaller ones since. Where that is so an H200 with driver 580.159 fails
// the launch, whether or not the node is enabled.
bool HasLostStack(DriverState& driver, const GraphNode& node);

// The node of that id in a graph or in a child graph of it; null: there is none.
GraphNode* FindInside(Graph& graph, GraphId node);

// change(driver, &node) for a node of an executable graph. Launches that run keep what they had.
template <typename Change>
CUresult ChangeNode(DriverState& driver, CUgraphExec exec, CUgraphNode node, const Change& change) {
  GraphExec* const found = driver.graphs->Find(exec);
  if (found == nullptr) return NoSuchGraph();
  const std::shared_ptr<Graph> copy = found->graph->Copy([](GraphId same) { return same; });
  GraphNode* const changed = FindInside(*copy, IdOf(node));
  if (changed == nullptr) return kInvalidValue;
  const CUresult done = change(driver, changed);
  if (done != CUDA_SUCCESS) return done;
  found->graph = copy;
  found->generation = 0;
  found->told.erase(IdOf(node));
  return CUDA_SUCCESS;
}
template <typename Change>
CUresult ChangeExec(const CallSite& site, CUgraphExec exec, CUgraphNode node, const void* params,
                    const Change& change) {
  return EnterGraphs(site, {params}, [&](DriverState& driver, Graphs&) {
    return ChangeNode(driver, exec, node, change);
  });
}

// The same with change(driver, &work) for a node that has this work.
template <typename Work, typename Change>
CUresult ChangeInExec(const CallSite& site, CUgraphExec exec, CUgraphNode node, const void* params,
                      const Change& change) {
  return EnterGraphs(site, {params}, [&](DriverState& driver, Graphs&) {
    return ChangeNode(driver, exec, node, [&](DriverState&, GraphNode* found) {
      Work* const work = std::get_if<Work>(&found->work);
      if (work == nullptr) return kInvalidValue;
      const CUresult done = change(driver, work);
      if (done != CUDA_SUCCESS) return done;
      found->memory = MemoryOf(site, driver, found->work);
      NoteStack(driver, found);
      return CUDA_SUCCESS;
    });
  });
}

// And with make(driver, context, &made) for a copy or a fill in a context. Where one is named, a
// fault counts before all else; without one, there must be a current one, and the node keeps its
// own. Source: an H200 with driver 580.159.
template <typename Work, typename Make>
CUresult MoveInExec(const CallSite& site, CUgraphExec exec, CUgraphNode node, const void* params,
                    CUcontext context, const Make& make) {
  return EnterGraphs(site, {}, [&](DriverState& driver, Graphs&) {
    const CUresult fault = context != nullptr ? FaultOf(site, driver) : CUDA_SUCCESS;
    if (fault != CUDA_SUCCESS) return fault;
    const DriverCode there = CheckNeeded(site, {params});
    if (there != DriverCode::kSuccess) return ToResult(there);
    if (context == nullptr && !HasCurrentContext()) {
      return ToResult(Misused(site, DiagnosticKind::kNoCurrentContext, DriverCode::kInvalidValue));
    }
    return ChangeNode(driver, exec, node, [&](DriverState&, GraphNode* found) {
      Work* const work = std::get_if<Work>(&found->work);
      if (work == nullptr) return kInvalidValue;
      Work made;
      const CUresult possible =
          make(driver, context != nullptr ? context : work->context->handle(), &made);
      if (possible != CUDA_SUCCESS) return possible;
      if (!CanBecome(*work, made)) return kInvalidValue;
      *work = made;
      found->memory = MemoryOf(site, driver, found->work);
      NoteStack(driver, found);
      return CUDA_SUCCESS;
    });
  });
}

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_CHANGES_EXEC_CHANGES_H_
