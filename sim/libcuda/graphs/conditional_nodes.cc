#include "sim/libcuda/graphs/conditional_nodes.h"

#include <algorithm>
#include <memory>
#include <set>

#include "sim/libcuda/graphs/graphs.h"

namespace twinmmu::libcuda {
namespace {

// A loop that goes on for longer is taken for one without an end.
constexpr int kMostTurns = 100000;
// So that a wild number takes no memory.
constexpr unsigned int kMostBodies = 1u << 16;

// Calls visit(graph) for it and all graphs inside it.
template <typename Visit>
void ForEachGraph(const Graph& graph, const Visit& visit) {
  visit(graph);
  for (const auto& [id, node] : graph.nodes()) {
    ForEachInside(node.work,
                  [&](const std::shared_ptr<Graph>& inside) { ForEachGraph(*inside, visit); });
  }
}

// Calls visit(work) for each node that decides.
template <typename Visit>
void ForEachConditional(const Graph& graph, const Visit& visit) {
  ForEachGraph(graph, [&](const Graph& each) {
    for (const auto& [id, node] : each.nodes()) {
      if (const auto* const work = std::get_if<ConditionalWork>(&node.work)) visit(*work);
    }
  });
}

bool IsSize(CUgraphConditionalNodeType type, unsigned int size) {
  switch (type) {
    case CU_GRAPH_COND_TYPE_IF:
      return size == 1 || size == 2;
    case CU_GRAPH_COND_TYPE_WHILE:
      return size == 1;
    case CU_GRAPH_COND_TYPE_SWITCH:
      return size != 0 && size <= kMostBodies;
    default:
      return false;
  }
}

// The condition, if a node of `parent` may decide by it: it is of that graph or of one around it,
// and no other node does.
std::shared_ptr<const Condition> FindFree(DriverState& driver, CUgraphConditionalHandle handle,
                                          CUgraph parent) {
  const std::shared_ptr<Graph> holder = driver.graphs->FindHolderOf(handle);
  if (holder == nullptr) return nullptr;
  bool inside = false;
  bool used = false;
  ForEachGraph(*holder, [&](const Graph& graph) { inside |= graph.id() == IdOf(parent); });
  ForEachConditional(
      *holder, [&](const ConditionalWork& work) { used |= work.condition->handle == handle; });
  if (!inside || used) return nullptr;
  const auto& all = holder->conditions();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const auto& condition) { return condition->handle == handle; });
  return *found;
}

// A node that a body may not have; 0: there is none.
GraphId FindForbidden(const Graph& graph) {
  GraphId forbidden = 0;
  ForEachGraph(graph, [&](const Graph& each) {
    for (const auto& [id, node] : each.nodes()) {
      const CUgraphNodeType type = TypeOf(node.work);
      const bool allowed = type <= CU_GRAPH_NODE_TYPE_MEMSET || type == CU_GRAPH_NODE_TYPE_GRAPH ||
                           type == CU_GRAPH_NODE_TYPE_EMPTY ||
                           type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
      if (!allowed && forbidden == 0) forbidden = id;
    }
  });
  return forbidden;
}

// Null: none runs.
const Graph* BodyOf(const ConditionalWork& work, uint32_t value) {
  size_t body = value;
  if (work.type == CU_GRAPH_COND_TYPE_IF) body = value != 0 ? 0 : 1;
  if (work.type == CU_GRAPH_COND_TYPE_WHILE) body = value != 0 ? 0 : 1;
  return body < work.bodies.size() ? work.bodies[body].get() : nullptr;
}

}  // namespace

CUresult MakeConditional(DriverState& driver, const CUDA_CONDITIONAL_NODE_PARAMS& given,
                         CUgraph parent, ConditionalWork* made) {
  if (!IsSize(given.type, given.size)) return kInvalidValue;
  if (given.ctx == nullptr) return ToResult(DriverCode::kInvalidContext);
  made->condition = FindFree(driver, given.handle, parent);
  const bool fits =
      made->condition != nullptr && made->condition->context == driver.contexts.Find(given.ctx);
  if (!fits) return kInvalidValue;
  made->type = given.type;
  made->told = std::make_shared<std::vector<CUgraph>>();
  for (unsigned int i = 0; i < given.size; ++i) {
    made->bodies.push_back(std::make_shared<Graph>(driver.graphs->NextId()));
    made->told->push_back(HandleOf<CUgraph>(made->bodies.back()->id()));
  }
  return CUDA_SUCCESS;
}

bool HasConditions(const Graph& graph) {
  bool found = false;
  ForEachGraph(graph, [&](const Graph& each) { found |= !each.conditions().empty(); });
  return found;
}

CUresult CheckConditions(const Graph& graph, CUgraphInstantiateResult* why, GraphId* node) {
  std::set<CUgraphConditionalHandle> used;
  GraphId forbidden = 0;
  ForEachConditional(graph, [&](const ConditionalWork& work) {
    used.insert(work.condition->handle);
    for (const std::shared_ptr<Graph>& body : work.bodies) {
      if (forbidden == 0) forbidden = FindForbidden(*body);
    }
  });
  if (forbidden != 0) {
    *why = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
    *node = forbidden;
    return kInvalidValue;
  }
  bool unused = false;
  ForEachGraph(graph, [&](const Graph& each) {
    for (const auto& condition : each.conditions()) unused |= used.count(condition->handle) == 0;
  });
  if (!unused) return CUDA_SUCCESS;
  *why = CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
  return kInvalidValue;
}

CUresult AssignDefaults(DriverState& driver, const Graph& graph, Stream stream) {
  std::set<const Condition*> assigned;
  ForEachConditional(graph, [&](const ConditionalWork& work) {
    if (work.condition->assigns_default) assigned.insert(work.condition.get());
  });
  if (assigned.empty()) return CUDA_SUCCESS;
  // What was launched before reads them.
  const absl::Status done = driver.executor.SynchronizeStream(stream);
  if (!done.ok()) return ToResult(done);
  for (const Condition* const condition : assigned) {
    condition->values->Set(condition->handle, condition->default_value);
  }
  return CUDA_SUCCESS;
}

CUresult Decide(DriverState& driver, const ConditionalWork& work, Stream stream,
                absl::FunctionRef<CUresult(const Graph&)> launch) {
  const Condition& condition = *work.condition;
  for (int turn = 0; turn < kMostTurns; ++turn) {
    const absl::Status done = driver.executor.SynchronizeStream(stream);
    if (!done.ok()) return ToResult(done);
    const Graph* const body = BodyOf(work, condition.values->Get(condition.handle));
    if (body == nullptr) return CUDA_SUCCESS;
    const CUresult launched = launch(*body);
    if (launched != CUDA_SUCCESS || work.type != CU_GRAPH_COND_TYPE_WHILE) return launched;
  }
  return ToResult(DriverCode::kLaunchTimeout);
}

}  // namespace twinmmu::libcuda
