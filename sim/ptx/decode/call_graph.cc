#include "sim/ptx/decode/call_graph.h"

namespace twinmmu::ptx {

CallGraph::CallGraph(const std::vector<FunctionCode>& functions)
    : functions_(functions),
      matters_(functions.size() + 1),
      leads_there_(functions.size() + 1),
      seen_(functions.size() + 1, -1) {
  std::vector<size_t> found;
  for (size_t i = 0; i < functions.size(); ++i) {
    if (functions[i].address_taken && !functions[i].entry)
      by_address_.push_back(static_cast<int>(i));
    matters_[i] = !functions[i].shared.empty() || !functions[i].refusals.empty();
    if (matters_[i]) found.push_back(i);
  }
  std::vector<std::vector<size_t>> callers(functions.size() + 1);
  for (size_t i = 0; i <= functions.size(); ++i) {
    ForEachCallee(i, [&](size_t callee) { callers[callee].push_back(i); });
  }
  for (const size_t i : found) leads_there_[i] = true;
  for (size_t next = 0; next < found.size(); ++next) {
    for (const size_t caller : callers[found[next]]) {
      if (leads_there_[caller]) continue;
      leads_there_[caller] = true;
      found.push_back(caller);
    }
  }
}

template <typename Visit>
void CallGraph::ForEachCallee(size_t node, const Visit& visit) const {
  const std::vector<int>& callees =
      node == functions_.size() ? by_address_ : functions_[node].callees;
  for (const int callee : callees) visit(static_cast<size_t>(callee));
  if (node < functions_.size() && functions_[node].calls_by_address) visit(functions_.size());
}

std::vector<int> CallGraph::Reached(int kernel) {
  std::vector<int> reached;
  std::vector<size_t> nodes;
  const auto add = [&](size_t node) {
    if (!leads_there_[node] || seen_[node] == kernel) return;
    seen_[node] = kernel;
    nodes.push_back(node);
    if (matters_[node]) reached.push_back(static_cast<int>(node));
  };
  add(static_cast<size_t>(kernel));
  for (size_t next = 0; next < nodes.size(); ++next) ForEachCallee(nodes[next], add);
  return reached;
}

}  // namespace twinmmu::ptx
