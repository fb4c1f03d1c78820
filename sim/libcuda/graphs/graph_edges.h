// Which edges a graph can have.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_EDGES_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_EDGES_H_

#include <vector>

#include "sim/libcuda/graphs/graph_calls.h"

namespace twinmmu::libcuda {

// Whether a node of that work can be at the end of an edge from `from`.
bool IsValidData(const GraphNode& from, const GraphWork& to, const CUgraphEdgeData& data);

// Whether both ends are of the graph, and not the same, and there is no such edge. Cycles show when
// a graph is instantiated.
bool CanAdd(const Graph& graph, const GraphEdge& edge);

// The dependencies of a new node, as a call has them. INVALID_VALUE: one of another graph, or dead,
// or given twice.
CUresult FindDependencies(const Graph& graph, const GraphWork& work,
                          const CUgraphNode* dependencies, const CUgraphEdgeData* data,
                          size_t count, std::vector<GraphLink>* found);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_EDGES_H_
