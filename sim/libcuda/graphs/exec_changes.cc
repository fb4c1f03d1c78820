#include "sim/libcuda/graphs/exec_changes.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

namespace twinmmu::libcuda {
namespace {

bool IsFlat(const CUDA_MEMSET_NODE_PARAMS& fill) { return fill.height == 1; }
bool IsFlat(const CUDA_MEMCPY3D& copy) { return copy.Height == 1 && copy.Depth == 1; }

// Which node of a graph stands where one of an executable graph does: found from the leaves up, the
// latest leaf first, along the dependencies in the order in which they were added.
class Pairing {
 public:
  Pairing(const Graph& graph, const Graph& executable, CUgraphExecUpdateResultInfo* info)
      : graph_(graph), executable_(executable), info_(*info) {}

  bool Find() {
    info_ = {CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr, nullptr};
    if (graph_.nodes().size() != executable_.nodes().size()) return false;
    const std::vector<GraphId> leaves = graph_.Leaves();
    const std::vector<GraphId> wanted = executable_.Leaves();
    if (leaves.size() > wanted.size()) return Differs(leaves[wanted.size()], 0);
    if (leaves.size() < wanted.size()) return false;
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!Pair(leaves[i], wanted[i], 0)) return false;
    }
    while (!open_.empty()) {
      const GraphId node = open_.back();
      open_.pop_back();
      if (!PairDependencies(node)) return false;
    }
    if (pairs_.size() != executable_.nodes().size()) return false;
    info_.result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    return true;
  }

  // The nodes of the executable graph, by those of the other.
  const std::map<GraphId, GraphId>& pairs() const { return pairs_; }

 private:
  bool Differs(GraphId node, GraphId from,
               CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED) {
    info_ = {result, HandleOf<CUgraphNode>(node), HandleOf<CUgraphNode>(from)};
    return false;
  }

  bool Pair(GraphId node, GraphId wanted, GraphId dependent) {
    const auto [paired, is_new] = pairs_.try_emplace(node, wanted);
    if (!is_new) return paired->second == wanted || Differs(dependent, node);
    if (TypeOf(graph_.Find(node)->work) != TypeOf(executable_.Find(wanted)->work)) {
      return Differs(node, 0, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
    }
    open_.push_back(node);
    return true;
  }

  bool PairDependencies(GraphId node) {
    const std::vector<GraphLink>& links = graph_.Find(node)->dependencies;
    const std::vector<GraphLink>& wanted = executable_.Find(pairs_.at(node))->dependencies;
    if (links.size() != wanted.size()) return Differs(node, 0);
    for (size_t i = 0; i < links.size(); ++i) {
      if (!IsSameData(links[i].data, wanted[i].data)) return Differs(node, links[i].node);
      if (!Pair(links[i].node, wanted[i].node, node)) return false;
    }
    return true;
  }

  const Graph& graph_;
  const Graph& executable_;
  CUgraphExecUpdateResultInfo& info_;
  std::map<GraphId, GraphId> pairs_;
  std::vector<GraphId> open_;  // paired, but not what they depend on
};

}  // namespace

bool CanBecome(const CopyWork& from, const CopyWork& to) {
  return from.copy.srcMemoryType == to.copy.srcMemoryType &&
         from.copy.dstMemoryType == to.copy.dstMemoryType && from.context == to.context &&
         IsFlat(from.copy) && IsFlat(to.copy);
}

bool CanBecome(const FillWork& from, const FillWork& to) {
  return from.context == to.context && IsFlat(from.fill) && IsFlat(to.fill);
}

bool CanBecome(const BatchWork& from, const BatchWork& to) {
  return std::equal(from.operations->begin(), from.operations->end(), to.operations->begin(),
                    to.operations->end(), [](const auto& a, const auto& b) {
                      return a.waitValue.operation == b.waitValue.operation;
                    });
}

bool CanBecome(const GraphWork& from, const GraphWork& to) {
  if (const auto* const copy = std::get_if<CopyWork>(&from)) {
    return CanBecome(*copy, std::get<CopyWork>(to));
  }
  if (const auto* const batch = std::get_if<BatchWork>(&from)) {
    return CanBecome(*batch, std::get<BatchWork>(to));
  }
  const auto* const fill = std::get_if<FillWork>(&from);
  return fill == nullptr || CanBecome(*fill, std::get<FillWork>(to));
}

namespace {

bool IsLike(const FillWork& from, const FillWork& to) {
  return from.context == to.context && IsFlat(from.fill) == IsFlat(to.fill);
}

// A box, too, may stay as it is.
bool IsLike(const CopyWork& from, const CopyWork& to) {
  const bool is_same =
      from.context == to.context && std::memcmp(&from.copy, &to.copy, sizeof(to.copy)) == 0;
  return is_same || CanBecome(from, to);
}

bool IsLike(const GraphWork& from, const GraphWork& to) {
  if (const auto* const fill = std::get_if<FillWork>(&from)) {
    return IsLike(*fill, std::get<FillWork>(to));
  }
  const auto* const copy = std::get_if<CopyWork>(&from);
  return copy != nullptr ? IsLike(*copy, std::get<CopyWork>(to)) : CanBecome(from, to);
}

// Another condition may decide; what it is by default goes with it.
bool UpdateBodies(const ConditionalWork& from, ConditionalWork* to, GraphId node,
                  CUgraphExecUpdateResultInfo* info) {
  if (from.type != to->type || from.bodies.size() != to->bodies.size()) {
    *info = {CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, HandleOf<CUgraphNode>(node), nullptr};
    return false;
  }
  for (size_t i = 0; i < from.bodies.size(); ++i) {
    if (!UpdateGraph(*from.bodies[i], to->bodies[i].get(), info)) return false;
  }
  to->condition = from.condition;
  return true;
}

}  // namespace

bool UpdateGraph(const Graph& graph, Graph* executable, CUgraphExecUpdateResultInfo* info) {
  Pairing pairing(graph, *executable, info);
  if (!pairing.Find()) return false;
  for (const auto& [id, changed] : pairing.pairs()) {
    const GraphNode& node = *graph.Find(id);
    GraphNode* const found = executable->Find(changed);
    if (const auto* const child = std::get_if<ChildWork>(&node.work)) {
      Graph* const inner = std::get<ChildWork>(found->work).graph.get();
      if (!UpdateGraph(*child->graph, inner, info)) return false;
      continue;
    }
    if (const auto* const decides = std::get_if<ConditionalWork>(&node.work)) {
      if (!UpdateBodies(*decides, std::get_if<ConditionalWork>(&found->work), id, info))
        return false;
      continue;
    }
    // A fill of rows may only be so all at once.
    if (!IsLike(found->work, node.work)) {
      *info = {CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, HandleOf<CUgraphNode>(id), nullptr};
      return false;
    }
    found->work = node.work;
    found->memory = node.memory;
  }
  return true;
}

GraphNode* FindInside(Graph& graph, GraphId node) {
  GraphNode* found = nullptr;
  graph.ForEachGraph([&](Graph& inner) {
    if (found == nullptr) found = inner.Find(node);
  });
  return found;
}

}  // namespace twinmmu::libcuda
