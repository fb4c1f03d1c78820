// What the program asks about graphs.

#include <algorithm>
#include <vector>

#include "sim/libcuda/graphs/graph_calls.h"

namespace twinmmu::libcuda {
namespace {

// Where a call wants lists: as many elements as there is room for, and null for the rest; without a
// list only how many there are.
struct Lists {
  CUgraphNode* first = nullptr;
  CUgraphNode* second = nullptr;  // of edges
  CUgraphEdgeData* data = nullptr;
  size_t* count = nullptr;

  bool wants() const { return first != nullptr || second != nullptr || data != nullptr; }
};

CUresult Tell(const std::vector<GraphEdge>& edges, bool both_ends, const Lists& lists) {
  if (lists.count == nullptr) return kInvalidValue;
  if (!lists.wants()) {
    *lists.count = edges.size();
    return CUDA_SUCCESS;
  }
  if (lists.first == nullptr || (both_ends && lists.second == nullptr)) return kInvalidValue;
  const size_t room = *lists.count;
  if (room == 0) return kInvalidValue;
  const CUgraphEdgeData usual = {};
  for (size_t i = 0; i < std::min(room, edges.size()); ++i) {
    const bool lost = lists.data == nullptr && !IsSameData(edges[i].data, usual);
    if (lost) return CUDA_ERROR_LOSSY_QUERY;
  }
  for (size_t i = 0; i < room; ++i) {
    const GraphEdge edge = i < edges.size() ? edges[i] : GraphEdge{};
    lists.first[i] = HandleOf<CUgraphNode>(edge.from);
    if (both_ends) lists.second[i] = HandleOf<CUgraphNode>(edge.to);
    if (lists.data != nullptr) lists.data[i] = edge.data;
  }
  *lists.count = std::min(room, edges.size());
  return CUDA_SUCCESS;
}

std::vector<GraphEdge> AsEdges(const std::vector<GraphLink>& links) {
  std::vector<GraphEdge> edges;
  for (const GraphLink& link : links) edges.push_back({link.node, 0, link.data});
  return edges;
}

CUresult TellEdges(const CallSite& site, CUgraph graph, const Lists& lists) {
  return EnterGraph(site, graph, {}, [&](DriverState&, Graphs&, Graph& found) {
    return Tell(found.Edges(), true, lists);
  });
}

CUresult TellLinks(const CallSite& site, CUgraphNode node, std::vector<GraphLink> GraphNode::*links,
                   const Lists& lists) {
  return EnterNode(site, node, {}, [&](DriverState&, Graphs&, Graph&, GraphNode& found) {
    return Tell(AsEdges(found.*links), false, lists);
  });
}

}  // namespace

extern "C" CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return EnterGraph(TWINMMU_HERE, graph, {}, [&](DriverState&, Graphs&, Graph& found) {
    std::vector<GraphEdge> all;
    for (const auto& [id, node] : found.nodes()) all.push_back({id, 0, {}});
    return Tell(all, false, {nodes, nullptr, nullptr, count});
  });
}

extern "C" CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return EnterGraph(TWINMMU_HERE, graph, {}, [&](DriverState&, Graphs&, Graph& found) {
    std::vector<GraphEdge> all;
    for (const GraphId id : found.Roots()) all.push_back({id, 0, {}});
    return Tell(all, false, {nodes, nullptr, nullptr, count});
  });
}

extern "C" CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                                    size_t* count) {
  return TellEdges(TWINMMU_HERE, graph, {from, to, nullptr, count});
}

extern "C" CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                                       CUgraphEdgeData* data, size_t* count) {
  return TellEdges(TWINMMU_HERE, graph, {from, to, data, count});
}

extern "C" CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* nodes,
                                               size_t* count) {
  return TellLinks(TWINMMU_HERE, node, &GraphNode::dependencies, {nodes, nullptr, nullptr, count});
}

extern "C" CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* nodes,
                                                  CUgraphEdgeData* data, size_t* count) {
  return TellLinks(TWINMMU_HERE, node, &GraphNode::dependencies, {nodes, nullptr, data, count});
}

extern "C" CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* nodes,
                                                 size_t* count) {
  return TellLinks(TWINMMU_HERE, node, &GraphNode::dependents, {nodes, nullptr, nullptr, count});
}

extern "C" CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* nodes,
                                                    CUgraphEdgeData* data, size_t* count) {
  return TellLinks(TWINMMU_HERE, node, &GraphNode::dependents, {nodes, nullptr, data, count});
}

extern "C" CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  return EnterNode(TWINMMU_HERE, node, {type},
                   [&](DriverState&, Graphs&, Graph&, GraphNode& found) {
                     *type = TypeOf(found.work);
                     return CUDA_SUCCESS;
                   });
}

}  // namespace twinmmu::libcuda
