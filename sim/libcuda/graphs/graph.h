// Graph: nodes and the edges between them. It knows nothing of what nodes do.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/calls/executor/graph_memory.h"
#include "sim/libcuda/graphs/graph_link.h"
#include "sim/libcuda/graphs/graph_work.h"
#include "sim/libcuda/graphs/told_params.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace twinmmu::libcuda {

struct GraphNode {
  GraphWork work;
  std::vector<RememberedMemory> memory;  // that it uses, as it was when the node was made
  std::unique_ptr<ToldParams> told;      // of the work; null: nobody asked
  std::vector<GraphLink> dependencies;   // in the order in which they were added
  std::vector<GraphLink> dependents;     // the same
  GraphId original = 0;                  // of a node of a clone: the node that it is of
  bool enabled = true;                   // in an executable graph
  uint64_t root_since = 0;               // which rises with each root that there is
  uint64_t leaf_since = 0;               // the same of leaves
  // Of a thread of what it runs as kernels, as it was when a node of an executable graph was set.
  size_t stack_bytes = 0;
};

bool IsSameData(const cuda_abi::CUgraphEdgeData& a, const cuda_abi::CUgraphEdgeData& b);

class Graph {
 public:
  using Nodes = std::map<GraphId, GraphNode>;  // in the order in which they were made

  explicit Graph(GraphId id, GraphId original = 0) : id_(id), original_(original) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  GraphId id() const { return id_; }
  GraphId original() const { return original_; }  // of a clone
  const Nodes& nodes() const { return nodes_; }
  const GraphNode* Find(GraphId node) const;
  GraphNode* Find(GraphId node);

  // Whether a node that allocates was ever to be made: the graph is one of memory from then on,
  // even if there was none. Source: an H200 with driver 580.159.
  bool is_of_memory() const { return is_of_memory_; }
  void SetOfMemory() { is_of_memory_ = true; }

  // What its nodes, and those of graphs inside it, may decide by.
  const std::vector<std::shared_ptr<const Condition>>& conditions() const { return conditions_; }
  void Add(std::shared_ptr<const Condition> condition) {
    conditions_.push_back(std::move(condition));
  }

  // The ids of nodes and edges that these take are of this graph, and those that Add takes new.
  GraphNode& Add(GraphId node, GraphWork work);
  void Remove(GraphId node);
  // A node behind these was to allocate and found no memory: they become leaves anew, as if it had
  // been removed. Source: an H200 with driver 580.159.
  void AddInVain(const std::vector<GraphLink>& dependencies);

  const GraphLink* FindEdge(GraphId from, GraphId to) const;
  void AddEdge(const GraphEdge& edge);
  void RemoveEdge(GraphId from, GraphId to);
  std::vector<GraphEdge> Edges() const;
  // Both the latest first.
  std::vector<GraphId> Roots() const;
  std::vector<GraphId> Leaves() const;

  // Each node behind those that it depends on, else in the order in which they were made. With a
  // cycle, the nodes that are in none, nor behind one.
  std::vector<GraphId> Order() const;

  // The same nodes, edges and child graphs, under the ids that rename() gives to those of graphs
  // and nodes. As on an H200, what a node depends on and which leaves are the latest stays in its
  // order; roots and what depends on a node have that of the nodes.
  std::shared_ptr<Graph> Copy(const std::function<GraphId(GraphId)>& rename) const;

  // Calls visit(graph) for this one and all graphs inside it.
  void ForEachGraph(const std::function<void(Graph&)>& visit);

 private:
  const GraphId id_;
  const GraphId original_;
  uint64_t last_root_ = 0;
  uint64_t last_leaf_ = 0;
  bool is_of_memory_ = false;
  Nodes nodes_;
  std::vector<std::shared_ptr<const Condition>> conditions_;
};

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_GRAPH_H_
