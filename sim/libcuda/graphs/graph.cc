#include "sim/libcuda/graphs/graph.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <utility>

namespace twinmmu::libcuda {
namespace {

std::vector<GraphLink>::iterator FindLink(std::vector<GraphLink>& links, GraphId node) {
  return std::find_if(links.begin(), links.end(),
                      [&](const GraphLink& link) { return link.node == node; });
}

void RemoveLink(std::vector<GraphLink>* links, GraphId node) {
  const auto found = FindLink(*links, node);
  if (found != links->end()) links->erase(found);
}

}  // namespace

bool IsSameData(const cuda_abi::CUgraphEdgeData& a, const cuda_abi::CUgraphEdgeData& b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

const GraphNode* Graph::Find(GraphId node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : &found->second;
}

GraphNode* Graph::Find(GraphId node) {
  return const_cast<GraphNode*>(static_cast<const Graph*>(this)->Find(node));
}

GraphNode& Graph::Add(GraphId node, GraphWork work) {
  GraphNode& added = nodes_[node];
  added.work = std::move(work);
  added.root_since = ++last_root_;
  added.leaf_since = ++last_leaf_;
  return added;
}

void Graph::Remove(GraphId node) {
  const GraphNode* const removed = Find(node);
  if (removed == nullptr) return;
  for (const GraphLink& link : removed->dependencies) {
    GraphNode* const before = Find(link.node);
    RemoveLink(&before->dependents, node);
    before->leaf_since = ++last_leaf_;
  }
  for (const GraphLink& link : removed->dependents) {
    GraphNode* const dependent = Find(link.node);
    RemoveLink(&dependent->dependencies, node);
    dependent->root_since = ++last_root_;
  }
  nodes_.erase(node);
}

void Graph::AddInVain(const std::vector<GraphLink>& dependencies) {
  for (const GraphLink& link : dependencies) Find(link.node)->leaf_since = ++last_leaf_;
}

const GraphLink* Graph::FindEdge(GraphId from, GraphId to) const {
  const GraphNode* const node = Find(to);
  if (node == nullptr) return nullptr;
  for (const GraphLink& link : node->dependencies) {
    if (link.node == from) return &link;
  }
  return nullptr;
}

void Graph::AddEdge(const GraphEdge& edge) {
  GraphNode* const from = Find(edge.from);
  GraphNode* const to = Find(edge.to);
  // So that what follows it cannot fail. By doubling: a node may have any number of them.
  std::vector<GraphLink>& dependents = from->dependents;
  if (dependents.size() == dependents.capacity()) dependents.reserve(2 * dependents.size() + 1);
  to->dependencies.push_back({edge.from, edge.data});
  dependents.push_back({edge.to, edge.data});
}

void Graph::RemoveEdge(GraphId from, GraphId to) {
  RemoveLink(&Find(from)->dependents, to);
  // The last one takes its place, as an H200 does it.
  std::vector<GraphLink>& dependencies = Find(to)->dependencies;
  const auto removed = FindLink(dependencies, from);
  if (removed != dependencies.end()) {
    *removed = dependencies.back();
    dependencies.pop_back();
  }
  Find(to)->root_since = ++last_root_;
  Find(from)->leaf_since = ++last_leaf_;
}

std::vector<GraphEdge> Graph::Edges() const {
  std::vector<GraphEdge> edges;
  for (const auto& [id, node] : nodes_) {
    for (const GraphLink& link : node.dependents) edges.push_back({id, link.node, link.data});
  }
  return edges;
}

std::vector<GraphId> Graph::Roots() const {
  std::map<uint64_t, GraphId, std::greater<>> roots;
  for (const auto& [id, node] : nodes_) {
    if (node.dependencies.empty()) roots[node.root_since] = id;
  }
  std::vector<GraphId> latest_first;
  for (const auto& [since, id] : roots) latest_first.push_back(id);
  return latest_first;
}

std::vector<GraphId> Graph::Leaves() const {
  std::map<uint64_t, GraphId, std::greater<>> leaves;
  for (const auto& [id, node] : nodes_) {
    if (node.dependents.empty()) leaves[node.leaf_since] = id;
  }
  std::vector<GraphId> latest_first;
  for (const auto& [since, id] : leaves) latest_first.push_back(id);
  return latest_first;
}

std::vector<GraphId> Graph::Order() const {
  std::vector<GraphId> order;
  std::map<GraphId, size_t> missing;
  std::set<GraphId> ready;
  for (const auto& [id, node] : nodes_) {
    missing[id] = node.dependencies.size();
    if (node.dependencies.empty()) ready.insert(id);
  }
  while (!ready.empty()) {
    const GraphId id = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(id);
    for (const GraphLink& link : Find(id)->dependents) {
      if (--missing[link.node] == 0) ready.insert(link.node);
    }
  }
  return order;
}

std::shared_ptr<Graph> Graph::Copy(const std::function<GraphId(GraphId)>& rename) const {
  auto copy = std::make_shared<Graph>(rename(id_), id_);
  std::map<GraphId, GraphId> names;
  for (const auto& [id, node] : nodes_) {
    names[id] = rename(id);
    GraphNode& copied = copy->Add(names[id], node.work);
    copied.memory = node.memory;
    copied.original = id;
    copied.enabled = node.enabled;
    copied.stack_bytes = node.stack_bytes;
    copied.leaf_since = node.leaf_since;
    ForEachInside(copied.work,
                  [&](std::shared_ptr<Graph>& inside) { inside = inside->Copy(rename); });
  }
  copy->last_leaf_ = last_leaf_;
  copy->is_of_memory_ = is_of_memory_;
  copy->conditions_ = conditions_;
  for (const auto& [id, node] : nodes_) {
    GraphNode* const copied = copy->Find(names[id]);
    for (const GraphLink& link : node.dependencies) {
      copied->dependencies.push_back({names[link.node], link.data});
      copy->Find(names[link.node])->dependents.push_back({names[id], link.data});
    }
  }
  return copy;
}

void Graph::ForEachGraph(const std::function<void(Graph&)>& visit) {
  visit(*this);
  for (auto& [id, node] : nodes_) {
    ForEachInside(node.work,
                  [&](const std::shared_ptr<Graph>& inside) { inside->ForEachGraph(visit); });
  }
}

}  // namespace twinmmu::libcuda
