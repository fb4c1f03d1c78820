#include "sim/libcuda/graphs/graphs.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/cleanup/cleanup.h"

namespace twinmmu::libcuda {
namespace {

// Whether the graph is inside the node that has this work.
bool Holds(const GraphWork& work, GraphId graph) {
  bool holds = false;
  ForEachInside(work,
                [&](const std::shared_ptr<Graph>& inside) { holds |= inside->id() == graph; });
  return holds;
}

}  // namespace

std::shared_ptr<Graph> Graphs::Make() {
  auto graph = std::make_shared<Graph>(NextId());
  Add(graph);
  return graph;
}

void Graphs::Add(const std::shared_ptr<Graph>& graph, bool child) {
  Names names;
  Collect(graph, child, &names);
  graphs_.merge(names.graphs);
  nodes_.merge(names.nodes);
  // What is left was known before. One that was moved stays so.
  for (const auto& [id, known] : names.graphs) {
    graphs_.at(id).graph = known.graph;
    graphs_.at(id).child = known.child;
  }
  for (const auto& [id, owner] : names.nodes) nodes_.at(id) = owner;
}

void Graphs::Collect(const std::shared_ptr<Graph>& graph, bool child, Names* names) {
  names->graphs[graph->id()] = {graph, child, false};
  for (const auto& [id, node] : graph->nodes()) {
    names->nodes[id] = graph;
    ForEachInside(node.work,
                  [&](const std::shared_ptr<Graph>& inside) { Collect(inside, true, names); });
  }
}

void Graphs::Remove(const std::shared_ptr<Graph>& graph) {
  for (const auto& [id, node] : graph->nodes()) {
    nodes_.erase(id);
    ForEachInside(node.work, [&](const std::shared_ptr<Graph>& inside) { Remove(inside); });
  }
  graphs_.erase(graph->id());
  GiveUp(graph->id());
}

GraphId Graphs::AddNode(Graph& graph, GraphWork work, std::vector<RememberedMemory> memory,
                        const std::vector<GraphLink>& dependencies) {
  const GraphId id = NextId();
  const bool moved = std::holds_alternative<ChildWork>(work) && std::get<ChildWork>(work).moved;
  std::vector<std::shared_ptr<Graph>> inside;
  ForEachInside(
      work, [&](const std::shared_ptr<Graph>& graph_of_node) { inside.push_back(graph_of_node); });
  nodes_[id] = graphs_.at(graph.id()).graph;
  absl::Cleanup undo = [&] {
    graph.Remove(id);
    nodes_.erase(id);
    for (const auto& of_node : inside) {
      if (!moved) Remove(of_node);
    }
  };
  graph.Add(id, std::move(work)).memory = std::move(memory);
  for (const GraphLink& link : dependencies) graph.AddEdge({link.node, id, link.data});
  for (const auto& of_node : inside) {
    const auto original = moved ? graphs_.end() : graphs_.find(of_node->original());
    if (original != graphs_.end()) ShareHeld(*original->second.graph, of_node->id());
    Add(of_node, true);
    if (moved) graphs_.at(of_node->id()).moved = true;
  }
  std::move(undo).Cancel();
  return id;
}

void Graphs::RemoveNode(Graph& graph, GraphId node) {
  ForEachInside(graph.Find(node)->work,
                [&](const std::shared_ptr<Graph>& inside) { Remove(inside); });
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

const Graph& Graphs::OutermostOf(const Graph& graph) const {
  const auto known = graphs_.find(graph.id());
  if (known != graphs_.end() && !known->second.child) return graph;
  for (const auto& [node, holder] : nodes_) {
    if (Holds(holder->Find(node)->work, graph.id())) return OutermostOf(*holder);
  }
  return graph;
}

bool Graphs::IsBody(cuda_abi::CUgraph graph) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& entry) {
    const GraphWork& work = entry.second->Find(entry.first)->work;
    return std::holds_alternative<ConditionalWork>(work) && Holds(work, IdOf(graph));
  });
}

bool Graphs::IsMoved(cuda_abi::CUgraph graph) const {
  const auto found = graphs_.find(IdOf(graph));
  return found != graphs_.end() && found->second.moved;
}

std::shared_ptr<Graph> Graphs::FindGraphOf(cuda_abi::CUgraphNode node) const {
  const auto found = nodes_.find(IdOf(node));
  return found == nodes_.end() ? nullptr : found->second;
}

std::shared_ptr<Graph> Graphs::FindHolderOf(cuda_abi::CUgraphConditionalHandle condition) const {
  for (const auto& [id, known] : graphs_) {
    for (const auto& held : known.graph->conditions()) {
      if (held->handle == condition) return known.graph;
    }
  }
  return nullptr;
}

GraphExec* Graphs::Find(cuda_abi::CUgraphExec exec) {
  const auto found = execs_.find(IdOf(exec));
  return found == execs_.end() ? nullptr : &found->second;
}

bool Graphs::HasExecOf(GraphId graph, absl::FunctionRef<bool(const Graph&)> matches) const {
  return std::any_of(execs_.begin(), execs_.end(), [&](const auto& exec) {
    return exec.second.graph->id() == graph && matches(*exec.second.graph);
  });
}

bool Graphs::HasCopyOf(GraphId graph) const {
  return HasExecOf(graph, [](const Graph&) { return true; }) ||
         std::any_of(graphs_.begin(), graphs_.end(),
                     [&](const auto& known) { return known.second.graph->original() == graph; });
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
  found->second.references -= count;
  if (found->second.references != 0) return;
  destructions_.insert(objects_.extract(found));
}

void Graphs::CollectHeld(const Graph& from, Held* held) const {
  for (const auto& [id, node] : from.nodes()) {
    ForEachInside(node.work,
                  [&](const std::shared_ptr<Graph>& inside) { CollectHeld(*inside, held); });
  }
  CollectHeld(from.id(), held);
}

void Graphs::CollectHeld(GraphId holder, Held* held) const {
  const auto found = held_.find(holder);
  if (found == held_.end()) return;
  for (const auto& [object, count] : found->second) {
    // Else the program gave up what it had moved.
    if (objects_.count(object) != 0) (*held)[object] += count;
  }
}

void Graphs::Hold(const Held& more, GraphId to) {
  if (more.empty()) return;
  Held& held = held_[to];
  Held all = held;
  for (const auto& [object, count] : more) all[object] += count;
  held.swap(all);
  for (const auto& [object, count] : more) objects_.at(object).references += count;
}

GraphId Graphs::HoldAsWell(cuda_abi::CUgraphExec exec) {
  Held more;
  CollectHeld(IdOf(exec), &more);
  if (more.empty()) return 0;
  const GraphId holder = NextId();
  Hold(more, holder);
  return holder;
}

void Graphs::ShareHeld(const Graph& from, GraphId to) {
  Held more;
  CollectHeld(from, &more);
  Hold(more, to);
}

void Graphs::ReplaceHeld(const Graph& from, GraphId to) {
  Held held;
  CollectHeld(from, &held);
  if (held.empty()) return GiveUp(to);
  Held& now = held_[to];
  for (const auto& [object, count] : held) objects_.at(object).references += count;
  now.swap(held);
  for (const auto& [object, count] : held) Release(object, count);
}

void Graphs::GiveUp(GraphId holder) {
  const auto found = held_.find(holder);
  if (found == held_.end()) return;
  for (const auto& [object, count] : found->second) Release(object, count);
  held_.erase(found);
}

}  // namespace twinmmu::libcuda
