// A launch of a graph: its nodes as work of streams.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_LAUNCH_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_LAUNCH_H_

#include "sim/libcuda/graphs/graph_calls.h"

namespace twinmmu::libcuda {

// Gives all nodes to `stream` and to streams of its own, so that each node waits for those that it
// depends on and for nothing else, and what is later given to `stream` waits for all of them. No
// lock of graphs may be held: host functions run. Where a node cannot be given, the nodes behind it
// are not given either. `lanes`: streams that nobody uses otherwise; it may take some and add
// others, and all are there again when it returns.
CUresult LaunchGraph(const CallSite& site, DriverState& driver, const Graph& graph, Stream stream,
                     std::vector<Stream>* lanes);

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_LAUNCH_H_
