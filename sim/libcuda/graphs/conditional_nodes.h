// Nodes that decide whether, how often, or which of their graphs runs.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_CONDITIONAL_NODES_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_CONDITIONAL_NODES_H_

#include "absl/functional/function_ref.h"
#include "sim/libcuda/graphs/graph_calls.h"

namespace twinmmu::libcuda {

CUresult MakeConditional(DriverState& driver, const CUDA_CONDITIONAL_NODE_PARAMS& given,
                         CUgraph parent, ConditionalWork* made);

// Whether it, or a graph inside it, has something that such a node may decide by. Then it is not
// copied. Source: an H200 with driver 580.159.
bool HasConditions(const Graph& graph);
// Whether it can be instantiated; if not, why, and which node is in the way.
CUresult CheckConditions(const Graph& graph, CUgraphInstantiateResult* why, GraphId* node);

// Before a launch in `stream`: conditions that have a value at the beginning get it.
CUresult AssignDefaults(DriverState& driver, const Graph& graph, Stream stream);
// Waits for what `stream` has, launches what is to run by launch(body), and again while it is to.
CUresult Decide(DriverState& driver, const ConditionalWork& work, Stream stream,
                absl::FunctionRef<CUresult(const Graph&)> launch);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_CONDITIONAL_NODES_H_
