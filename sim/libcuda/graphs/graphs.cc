#include "sim/libcuda/graphs/graphs.h"

#include <algorithm>
#include <utility>

namespace twinmmu::libcuda {

std::shared_ptr<Graph> Graphs::Make() {
  auto graph = std::make_shared<Graph>(NextId());
  Add(graph);
  return graph;
}

void Graphs::Add(const std::shared_ptr<Graph>& graph, bool child) {
  Known& known = graphs_[graph->id()];  // one that was moved stays so
  known.graph = graph;
  known.child = child;
  for (const auto& [id, node] : graph->nodes()) {
    nodes_[id] = graph;
    if (const auto* const of_node = std::get_if<ChildWork>(&node.work)) Add(of_node->graph, true);
  }
}

void Graphs::Remove(const std::shared_ptr<Graph>& graph) {
  for (const auto& [id, node] : graph->nodes()) {
    nodes_.erase(id);
    const auto* const child = std::get_if<ChildWork>(&node.work);
    if (child != nullptr) Remove(child->graph);
  }
  graphs_.erase(graph->id());
  GiveUp(graph->id());
}

GraphId Graphs::AddNode(Graph& graph, GraphWork work) {
  const GraphId id = NextId();
  if (const auto* const child = std::get_if<ChildWork>(&work)) {
    Add(child->graph, true);
    graphs_.at(child->graph->id()).moved = child->moved;
  }
  graph.Add(id, std::move(work));
  nodes_[id] = graphs_.at(graph.id()).graph;
  return id;
}

void Graphs::RemoveNode(Graph& graph, GraphId node) {
  const auto* const child = std::get_if<ChildWork>(&graph.Find(node)->work);
  if (child != nullptr) Remove(child->graph);
  graph.Remove(node);
  nodes_.erase(node);
}

std::shared_ptr<Graph> Graphs::Find(cuda_abi::CUgraph graph) const {
  const auto found = graphs_.find(IdOf(graph));
  return found == graphs_.end() ? nullptr : found->second.graph;
}

bool Graphs::IsChild(cuda_abi::CUgraph graph) const {
  const auto found = graphs_.find(IdOf(graph));
  return found != graphs_.end() && found->second.child;
}

bool Graphs::IsMoved(cuda_abi::CUgraph graph) const {
  const auto found = graphs_.find(IdOf(graph));
  return found != graphs_.end() && found->second.moved;
}

std::shared_ptr<Graph> Graphs::FindGraphOf(cuda_abi::CUgraphNode node) const {
  const auto found = nodes_.find(IdOf(node));
  return found == nodes_.end() ? nullptr : found->second;
}

GraphExec* Graphs::Find(cuda_abi::CUgraphExec exec) {
  const auto found = execs_.find(IdOf(exec));
  return found == execs_.end() ? nullptr : &found->second;
}

bool Graphs::HasExecOf(GraphId graph) const {
  return std::any_of(execs_.begin(), execs_.end(),
                     [&](const auto& exec) { return exec.second.graph->id() == graph; });
}

GraphId Graphs::Add(GraphExec exec) {
  const GraphId id = NextId();
  execs_[id] = std::move(exec);
  return id;
}

void Graphs::Remove(cuda_abi::CUgraphExec exec) {
  execs_.erase(IdOf(exec));
  GiveUp(IdOf(exec));
}

std::shared_ptr<Graph> Graphs::Clone(const Graph& graph) {
  return graph.Copy([&](GraphId) { return NextId(); });
}

GraphId Graphs::Add(const UserObject& object) {
  const GraphId id = NextId();
  objects_[id] = object;
  return id;
}

UserObject* Graphs::Find(cuda_abi::CUuserObject object) {
  const auto found = objects_.find(IdOf(object));
  return found == objects_.end() ? nullptr : &found->second;
}

void Graphs::Release(GraphId object, uint64_t count) {
  const auto found = objects_.find(object);
  if (found == objects_.end()) return;
  found->second.references -= std::min(found->second.references, count);
  if (found->second.references != 0) return;
  destructions_.push_back({found->second.pointer, found->second.destroy});
  objects_.erase(found);
}

void Graphs::ShareHeld(const Graph& from, GraphId to) {
  for (const auto& [id, node] : from.nodes()) {
    if (const auto* const child = std::get_if<ChildWork>(&node.work)) ShareHeld(*child->graph, to);
  }
  CopyHeld(from.id(), to);
}

GraphId Graphs::HoldAsWell(cuda_abi::CUgraphExec exec) {
  if (held_.count(IdOf(exec)) == 0) return 0;
  const GraphId holder = NextId();
  CopyHeld(IdOf(exec), holder);
  return holder;
}

void Graphs::CopyHeld(GraphId from, GraphId to) {
  const auto found = held_.find(from);
  if (found == held_.end()) return;
  const std::map<GraphId, uint64_t> shared = found->second;
  for (const auto& [object, count] : shared) {
    const auto known = objects_.find(object);
    if (known == objects_.end()) continue;  // the program gave up what it had moved
    held_[to][object] += count;
    known->second.references += count;
  }
}

void Graphs::ReplaceHeld(const Graph& from, GraphId to) {
  const auto before = held_.extract(to);
  ShareHeld(from, to);
  if (before.empty()) return;
  for (const auto& [object, count] : before.mapped()) Release(object, count);
}

void Graphs::GiveUp(GraphId holder) {
  const auto found = held_.find(holder);
  if (found == held_.end()) return;
  for (const auto& [object, count] : found->second) Release(object, count);
  held_.erase(found);
}

}  // namespace twinmmu::libcuda
