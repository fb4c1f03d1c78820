// Graphs: made, cloned, destroyed; their edges.

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "sim/libcuda/graphs/conditional_nodes.h"
#include "sim/libcuda/graphs/graph_edges.h"
#include "sim/libcuda/graphs/memory_nodes.h"

namespace twinmmu::libcuda {
namespace {

// Whether a capture adds to it, or to a graph inside it.
bool IsCaptured(DriverState& driver, Graph& graph) {
  bool captured = false;
  graph.ForEachGraph([&](Graph& inner) {
    captured |= driver.captures.Any(
        [&](const CapturedStream& stream) { return stream.capture->graph.get() == &inner; });
  });
  return captured;
}

}  // namespace

extern "C" CUresult cuGraphCreate(CUgraph* graph, unsigned int flags) {
  return EnterGraphs(TWINMMU_HERE, {graph}, [&](DriverState&, Graphs& graphs) {
    if (flags != 0) return kInvalidValue;
    *graph = HandleOf<CUgraph>(graphs.Make()->id());
    return CUDA_SUCCESS;
  });
}

// A child graph goes with its node.
extern "C" CUresult cuGraphDestroy(CUgraph graph) {
  return EnterGraph(TWINMMU_HERE, graph, {},
                    [&](DriverState& driver, Graphs& graphs, Graph& found) {
                      if (graphs.IsChild(graph)) return kInvalidValue;
                      if (IsCaptured(driver, found)) return ToResult(DriverCode::kIllegalState);
                      graphs.Remove(graphs.Find(graph));
                      return CUDA_SUCCESS;
                    });
}

extern "C" CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  return EnterGraph(TWINMMU_HERE, original, {clone},
                    [&](DriverState&, Graphs& graphs, Graph& found) {
                      const bool decides = HasConditions(graphs.OutermostOf(found));
                      if (HasMemoryNodes(found) || decides) return kNotSupported;
                      const std::shared_ptr<Graph> made = graphs.Clone(found);
                      graphs.Add(made);
                      absl::Cleanup undo = [&] { graphs.Remove(made); };
                      graphs.ShareHeld(found, made->id());
                      std::move(undo).Cancel();
                      *clone = HandleOf<CUgraph>(made->id());
                      return CUDA_SUCCESS;
                    });
}

extern "C" CUresult cuGraphNodeFindInClone(CUgraphNode* node, CUgraphNode original, CUgraph clone) {
  return EnterGraph(TWINMMU_HERE, clone, {node}, [&](DriverState&, Graphs& graphs, Graph& found) {
    const std::shared_ptr<Graph> of = graphs.FindGraphOf(original);
    if (of == nullptr || found.original() != of->id()) return kInvalidValue;
    for (const auto& [id, copy] : found.nodes()) {
      if (copy.original != IdOf(original)) continue;
      *node = HandleOf<CUgraphNode>(id);
      return CUDA_SUCCESS;
    }
    return kInvalidValue;
  });
}

extern "C" CUresult cuGraphDestroyNode(CUgraphNode node) {
  return EnterNode(TWINMMU_HERE, node, {},
                   [&](DriverState& driver, Graphs& graphs, Graph& graph, GraphNode& found) {
                     const auto* const child = std::get_if<ChildWork>(&found.work);
                     const bool inside = child != nullptr && IsCaptured(driver, *child->graph);
                     if (inside || IsCaptured(driver, graph)) {
                       return ToResult(DriverCode::kIllegalState);
                     }
                     if (HasMemoryNodes(graph)) return kNotSupported;
                     graphs.RemoveNode(graph, IdOf(node));
                     return CUDA_SUCCESS;
                   });
}

// --- Edges ---------------------------------------------------------------------------------------

namespace {

// Whether each pair is of nodes of the graph.
bool AreNodes(const Graph& graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (graph.Find(IdOf(from[i])) == nullptr || graph.Find(IdOf(to[i])) == nullptr) return false;
  }
  return true;
}

// The same, of two each.
bool AreEnds(const Graph& graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (from[i] == to[i]) return false;
  }
  return AreNodes(graph, from, to, count);
}

// Those before the first that cannot be added stay, unless one has an end that no edge can have:
// that is looked at first, for all.
CUresult AddEdges(const CallSite& site, CUgraph graph, const CUgraphNode* from,
                  const CUgraphNode* to, const CUgraphEdgeData* data, size_t count) {
  return EnterGraph(site, graph, {}, [&](DriverState&, Graphs&, Graph& found) {
    if (count == 0) return CUDA_SUCCESS;
    if (from == nullptr || to == nullptr) return kInvalidValue;
    if (!AreEnds(found, from, to, count)) return kInvalidValue;
    for (size_t i = 0; i < count; ++i) {
      const GraphEdge edge{IdOf(from[i]), IdOf(to[i]),
                           data == nullptr ? CUgraphEdgeData{} : data[i]};
      if (!CanAdd(found, edge)) return kInvalidValue;
      found.AddEdge(edge);
    }
    return CUDA_SUCCESS;
  });
}

// Whatever their data; as AddEdges, those before the first that is not there are gone.
CUresult RemoveEdges(const CallSite& site, CUgraph graph, const CUgraphNode* from,
                     const CUgraphNode* to, size_t count) {
  return EnterGraph(site, graph, {}, [&](DriverState&, Graphs&, Graph& found) {
    if (count == 0) return CUDA_SUCCESS;
    if (from == nullptr || to == nullptr) return kInvalidValue;
    if (!AreNodes(found, from, to, count)) return kInvalidValue;
    if (HasMemoryNodes(found)) return kNotSupported;
    for (size_t i = 0; i < count; ++i) {
      if (found.FindEdge(IdOf(from[i]), IdOf(to[i])) == nullptr) return kInvalidValue;
      found.RemoveEdge(IdOf(from[i]), IdOf(to[i]));
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace

extern "C" CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from,
                                           const CUgraphNode* to, size_t count) {
  return AddEdges(TWINMMU_HERE, graph, from, to, nullptr, count);
}

extern "C" CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                              const CUgraphNode* to, const CUgraphEdgeData* data,
                                              size_t count) {
  return AddEdges(TWINMMU_HERE, graph, from, to, data, count);
}

extern "C" CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from,
                                              const CUgraphNode* to, size_t count) {
  return RemoveEdges(TWINMMU_HERE, graph, from, to, count);
}

extern "C" CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from,
                                                 const CUgraphNode* to, const CUgraphEdgeData*,
                                                 size_t count) {
  return RemoveEdges(TWINMMU_HERE, graph, from, to, count);
}

}  // namespace twinmmu::libcuda
