// What the calls for graphs have in common.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_CALLS_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_CALLS_H_

#include <algorithm>
#include <mutex>

#include "sim/libcuda/calls/convert.h"
#include "sim/libcuda/calls/enter.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/graphs/graphs.h"
#include "sim/libcuda/process.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace twinmmu::libcuda {

inline constexpr CUresult kInvalidValue = 1;
inline constexpr CUresult kNotSupported = 801;

// A graph or a node that a call names does not exist, or no longer: the genuine driver may end the
// process.
inline CUresult NoSuchGraph() { return kInvalidValue; }

// Calls them, with no lock held; the result of the call that found them due, unless one threw.
inline CUresult Destroy(const CallSite& site, const Destructions& due, CUresult result) {
  for (const auto& [id, object] : due) {
    const UserObject& of = object;  // a lambda takes no part of a binding
    const DriverCode code = CallBack(site, [&] { of.destroy(of.pointer); });
    if (code != DriverCode::kSuccess) result = ToResult(code);
  }
  return result;
}

// Enter with body(driver, graphs), which has the graphs to itself.
template <typename Body>
CUresult EnterGraphs(const CallSite& site, Needed needed, const Body& body) {
  return Enter(site, needed, [&](DriverState& driver) {
    CUresult result = CUDA_SUCCESS;
    Destructions due;
    {
      const std::lock_guard lock(driver.graphs->mutex);
      result = ToResult(body(driver, *driver.graphs));
      due = driver.graphs->TakeDestructions();
    }
    return Destroy(site, due, result);
  });
}

// The same with body(driver, graphs, graph), for calls that name a graph.
template <typename Body>
CUresult EnterGraph(const CallSite& site, CUgraph graph, Needed needed, const Body& body) {
  return EnterGraphs(site, needed, [&](DriverState& driver, Graphs& graphs) -> CUresult {
    const std::shared_ptr<Graph> found = graphs.Find(graph);
    return found == nullptr ? NoSuchGraph() : ToResult(body(driver, graphs, *found));
  });
}

// The same for calls that need a context, which counts before what is null, as a fault does.
template <typename Body>
CUresult EnterGraphInContext(const CallSite& site, CUgraph graph, Needed needed, const Body& body) {
  return EnterGraphs(site, {}, [&](DriverState& driver, Graphs& graphs) -> CUresult {
    Context* context = nullptr;
    const DriverCode current = CurrentContext(site, &context);
    if (current != DriverCode::kSuccess) return ToResult(current);
    const std::shared_ptr<Graph> found = graphs.Find(graph);
    const bool is_complete =
        found != nullptr && std::count(needed.begin(), needed.end(), nullptr) == 0;
    const CUresult fault = is_complete ? CUDA_SUCCESS : FaultOf(site, driver);
    if (fault != CUDA_SUCCESS) return fault;
    const DriverCode there = CheckNeeded(site, needed);
    if (there != DriverCode::kSuccess) return ToResult(there);
    return found == nullptr ? NoSuchGraph() : ToResult(body(driver, graphs, *found));
  });
}

// And with body(driver, graphs, graph, node), for calls that name a node.
template <typename Body>
CUresult EnterNode(const CallSite& site, CUgraphNode node, Needed needed, const Body& body) {
  return EnterGraphs(site, needed, [&](DriverState& driver, Graphs& graphs) -> CUresult {
    const std::shared_ptr<Graph> graph = graphs.FindGraphOf(node);
    if (graph == nullptr) return NoSuchGraph();
    return ToResult(body(driver, graphs, *graph, *graph->Find(IdOf(node))));
  });
}

// For calls that name a node of type `Work`: with body(driver, work).
template <typename Work, typename Body>
CUresult EnterWork(const CallSite& site, CUgraphNode node, Needed needed, const Body& body) {
  return EnterNode(site, node, needed,
                   [&](DriverState& driver, Graphs&, Graph&, GraphNode& found) -> CUresult {
                     Work* const work = std::get_if<Work>(&found.work);
                     return work == nullptr ? kInvalidValue : ToResult(body(driver, *work));
                   });
}

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_CALLS_H_
