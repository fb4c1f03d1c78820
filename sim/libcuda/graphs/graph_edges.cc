#include "sim/libcuda/graphs/graph_edges.h"

#include <algorithm>

namespace twinmmu::libcuda {

bool IsValidData(const GraphNode& from, const GraphWork& to, const CUgraphEdgeData& data) {
  CUgraphEdgeData usual = {};
  if (IsSameData(data, usual)) return true;
  // Only kernels have other ports.
  if (!std::holds_alternative<KernelWork>(from.work)) return false;
  usual.from_port = CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER;
  if (IsSameData(data, usual)) return true;
  // Programmatic ones go to kernels, from either port.
  usual.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  bool is_programmatic = IsSameData(data, usual);
  usual.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  is_programmatic |= IsSameData(data, usual);
  return is_programmatic && std::holds_alternative<KernelWork>(to);
}

bool CanAdd(const Graph& graph, const GraphEdge& edge) {
  const GraphNode* const from = graph.Find(edge.from);
  const GraphNode* const to = graph.Find(edge.to);
  return from != nullptr && to != nullptr && from != to &&
         graph.FindEdge(edge.from, edge.to) == nullptr && IsValidData(*from, to->work, edge.data);
}

CUresult FindDependencies(const Graph& graph, const GraphWork& work,
                          const CUgraphNode* dependencies, const CUgraphEdgeData* data,
                          size_t count, std::vector<GraphLink>* found) {
  if (count != 0 && dependencies == nullptr) return kInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    const GraphLink link{IdOf(dependencies[i]), data == nullptr ? CUgraphEdgeData{} : data[i]};
    const GraphNode* const node = graph.Find(link.node);
    const bool again = std::any_of(found->begin(), found->end(),
                                   [&](const GraphLink& other) { return other.node == link.node; });
    if (node == nullptr || again || !IsValidData(*node, work, link.data)) return kInvalidValue;
    found->push_back(link);
  }
  return CUDA_SUCCESS;
}

}  // namespace twinmmu::libcuda
