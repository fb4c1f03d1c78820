#include "sim/ptx/decode/call_graph.h"

#include <algorithm>

namespace twinmmu::ptx {
namespace {

constexpr size_t kNone = ~size_t{0};

bool UsesHeap(const FunctionCode& function) {
  return std::any_of(function.calls.begin(), function.calls.end(), [](const CallSite& call) {
    return call.builtin == Builtin::kAllocate || call.builtin == Builtin::kFree;
  });
}

bool UsesReferences(const FunctionCode& function) {
  return std::any_of(function.textures.begin(), function.textures.end(),
                     [](const TextureCode& access) { return access.of_variable; });
}

}  // namespace

CallGraph::CallGraph(const std::vector<FunctionCode>& functions)
    : by_address_(functions.size()),
      matters_(functions.size() + 1),
      callees_(functions.size() + 1),
      seen_(functions.size() + 1, kNone) {
  std::vector<size_t> found;
  std::vector<std::vector<size_t>> callers(functions.size() + 1);
  for (size_t i = 0; i < functions.size(); ++i) {
    const FunctionCode& function = functions[i];
    matters_[i] = !function.shared.empty() || !function.refusals.empty() || UsesHeap(function) ||
                  UsesReferences(function);
    if (matters_[i]) found.push_back(i);
    for (const int callee : function.callees) callers[static_cast<size_t>(callee)].push_back(i);
    if (function.calls_by_address) callers[by_address_].push_back(i);
    if (function.address_taken && !function.entry) callers[i].push_back(by_address_);
  }
  // From those that matter to their callers: what leads to none of them is left out.
  std::vector<bool> leads_there = matters_;
  for (size_t next = 0; next < found.size(); ++next) {
    for (const size_t caller : callers[found[next]]) {
      if (callees_[caller].empty() || callees_[caller].back() != found[next]) {
        callees_[caller].push_back(found[next]);
      }
      if (leads_there[caller]) continue;
      leads_there[caller] = true;
      found.push_back(caller);
    }
  }
  // Once: each of many kernels may call any of many functions.
  reached_by_address_ = From(by_address_, /*through_addresses=*/true);
}

std::vector<int> CallGraph::From(size_t start, bool through_addresses) {
  std::vector<int> reached;
  std::vector<size_t> nodes;
  const auto add = [&](size_t node) {
    if (seen_[node] == start) return;
    seen_[node] = start;
    nodes.push_back(node);
    if (matters_[node]) reached.push_back(static_cast<int>(node));
  };
  add(start);
  for (size_t next = 0; next < nodes.size(); ++next) {
    if (nodes[next] == by_address_ && !through_addresses) continue;
    for (const size_t callee : callees_[nodes[next]]) add(callee);
  }
  return reached;
}

std::vector<int> CallGraph::Reached(int kernel) {
  const size_t start = static_cast<size_t>(kernel);
  std::vector<int> reached = From(start, /*through_addresses=*/false);
  if (seen_[by_address_] != start) return reached;
  for (const int function : reached_by_address_) {
    if (seen_[static_cast<size_t>(function)] != start) reached.push_back(function);
  }
  return reached;
}

}  // namespace twinmmu::ptx
