#include "sim/libcuda/graphs/changes/exec_changes.h"

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
    const GraphNode& given = *graph_.Find(node);
    const GraphNode& replaced = *executable_.Find(wanted);
    if (given.dependencies.size() != replaced.dependencies.size()) return Differs(node, 0);
    if (TypeOf(given.work) != TypeOf(replaced.work)) {
      return Differs(node, 0, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
    }
    open_.push_back(node);
    return true;
  }

  bool PairDependencies(GraphId node) {
    const std::vector<GraphLink>& links = graph_.Find(node)->dependencies;
    const std::vector<GraphLink>& wanted = executable_.Find(pairs_.at(node))->dependencies;
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

// A box may only stay as it is.
bool CanBecome(const CopyWork& from, const CopyWork& to) {
  const bool is_same =
      from.context == to.context && std::memcmp(&from.copy, &to.copy, sizeof(to.copy)) == 0;
  if (is_same) return true;
  return from.copy.srcMemoryType == to.copy.srcMemoryType &&
         from.copy.dstMemoryType == to.copy.dstMemoryType && from.context == to.context &&
         IsFlat(from.copy) && IsFlat(to.copy);
}

// Rows may lie elsewhere and get another value, but stay as they are.
bool CanBecome(const FillWork& from, const FillWork& to) {
  const bool has_same_rows = from.fill.pitch == to.fill.pitch &&
                             from.fill.elementSize == to.fill.elementSize &&
                             from.fill.width == to.fill.width && from.fill.height == to.fill.height;
  return from.context == to.context && ((IsFlat(from.fill) && IsFlat(to.fill)) || has_same_rows);
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

bool IsCooperative(const GraphWork& work) {
  const auto* const kernel = std::get_if<KernelWork>(&work);
  if (kernel == nullptr) return false;
  const auto said = kernel->attributes.find(cuda_abi::CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  return said != kernel->attributes.end() && said->second.cooperative != 0;
}

bool IsSame(const LaunchConfig& a, const LaunchConfig& b) {
  const auto is_same = [](const Dim3& one, const Dim3& other) {
    return one.x == other.x && one.y == other.y && one.z == other.z;
  };
  return is_same(a.grid, b.grid) && is_same(a.block, b.block) &&
         a.dynamic_shared_bytes == b.dynamic_shared_bytes;
}

// Of works of one type that run as kernels: whether a driver takes the one for the other.
bool IsSame(const GraphWork& from, const GraphWork& to) {
  if (const auto* const kernel = std::get_if<KernelWork>(&from)) {
    const auto& other = std::get<KernelWork>(to);
    return kernel->function == other.function && IsSame(kernel->config, other.config) &&
           kernel->arguments->bytes == other.arguments->bytes;
  }
  if (const auto* const copy = std::get_if<CopyWork>(&from)) {
    return std::memcmp(&copy->copy, &std::get<CopyWork>(to).copy, sizeof(copy->copy)) == 0;
  }
  const auto* const fill = std::get_if<FillWork>(&from);
  const auto* const other = std::get_if<FillWork>(&to);
  return fill != nullptr && fill->fill.dst == other->fill.dst &&
         fill->fill.value == other->fill.value;
}

// Another condition may decide; what it is by default goes with it.
bool UpdateBodies(DriverState& driver, const ConditionalWork& from, ConditionalWork* to,
                  GraphId node, CUgraphExecUpdateResultInfo* info) {
  if (from.type != to->type || from.bodies.size() != to->bodies.size()) {
    *info = {CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, HandleOf<CUgraphNode>(node), nullptr};
    return false;
  }
  for (size_t i = 0; i < from.bodies.size(); ++i) {
    if (!UpdateGraph(driver, *from.bodies[i], to->bodies[i].get(), info)) return false;
  }
  to->condition = from.condition;
  return true;
}

}  // namespace

bool UpdateGraph(DriverState& driver, const Graph& graph, Graph* executable,
                 CUgraphExecUpdateResultInfo* info) {
  Pairing pairing(graph, *executable, info);
  if (!pairing.Find()) return false;
  for (const auto& [id, changed] : pairing.pairs()) {
    const GraphNode& node = *graph.Find(id);
    GraphNode* const found = executable->Find(changed);
    if (const auto* const child = std::get_if<ChildWork>(&node.work)) {
      Graph* const inner = std::get<ChildWork>(found->work).graph.get();
      if (!UpdateGraph(driver, *child->graph, inner, info)) return false;
      continue;
    }
    if (const auto* const decides = std::get_if<ConditionalWork>(&node.work)) {
      auto* const decider = std::get_if<ConditionalWork>(&found->work);
      if (!UpdateBodies(driver, *decides, decider, id, info)) return false;
      continue;
    }
    if (!CanBecome(found->work, node.work)) {
      *info = {CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, HandleOf<CUgraphNode>(id), nullptr};
      return false;
    }
    if (IsCooperative(found->work) != IsCooperative(node.work)) {
      *info = {CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED, HandleOf<CUgraphNode>(id), nullptr};
      return false;
    }
    const bool is_set = !IsSame(found->work, node.work);
    found->work = node.work;
    found->memory = node.memory;
    if (is_set) NoteStack(driver, found);
  }
  return true;
}

void NoteStack(DriverState& driver, GraphNode* node) {
  const Context* const context = ContextOfKernels(driver, node->work);
  node->stack_bytes = context != nullptr ? context->stack_bytes.load() : 0;
}

bool HasLostStack(DriverState& driver, const GraphNode& node) {
  if (node.stack_bytes == 0) return false;
  const Context* const context = ContextOfKernels(driver, node.work);
  return context != nullptr && node.stack_bytes > context->stack_bytes;
}

GraphNode* FindInside(Graph& graph, GraphId node) {
  GraphNode* found = nullptr;
  graph.ForEachGraph([&](Graph& inner) {
    if (found == nullptr) found = inner.Find(node);
  });
  return found;
}

}  // namespace twinmmu::libcuda
