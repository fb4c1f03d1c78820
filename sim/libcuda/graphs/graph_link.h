// GraphLink: which nodes an edge joins, without what nodes are.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_LINK_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_LINK_H_

#include <cstdint>

#include "third_party/cuda_abi/graph_abi.h"

namespace twinmmu::libcuda {

// Names a graph, a node, an executable graph or a user object; never used again.
using GraphId = uint64_t;

// One end of an edge, as the node at the other end keeps it.
struct GraphLink {
  GraphId node = 0;
  cuda_abi::CUgraphEdgeData data = {};
};

struct GraphEdge {
  GraphId from = 0;
  GraphId to = 0;
  cuda_abi::CUgraphEdgeData data = {};
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_LINK_H_
