// Graphs as text.

#include <string>

#include "absl/strings/str_cat.h"
#include "sim/host/write_file.h"
#include "sim/libcuda/graphs/graph_nodes.h"

namespace twinmmu::libcuda {
namespace {

constexpr const char* kTypes[] = {
    "KERNEL",       "MEMCPY",       "MEMSET",           "HOST",           "GRAPH",     "EMPTY",
    "WAIT_EVENT",   "EVENT_RECORD", "EXT_SEMAS_SIGNAL", "EXT_SEMAS_WAIT", "MEM_ALLOC", "MEM_FREE",
    "BATCH_MEM_OP", "CONDITIONAL"};

void AppendGraph(const Graph& graph, std::string* text) {
  absl::StrAppend(text, "subgraph cluster_", graph.id(), " {\n");
  for (const auto& [id, node] : graph.nodes()) {
    absl::StrAppend(text, "\"", id, "\" [shape=\"record\" label=\"", kTypes[TypeOf(node.work)],
                    "\"];\n");
    ForEachInside(node.work,
                  [&](const std::shared_ptr<Graph>& inside) { AppendGraph(*inside, text); });
  }
  for (const GraphEdge& edge : graph.Edges()) {
    absl::StrAppend(text, "\"", edge.from, "\" -> \"", edge.to, "\";\n");
  }
  absl::StrAppend(text, "}\n");
}

}  // namespace

// The flags ask for more than is written here: nodes by their types, and edges.
extern "C" CUresult cuGraphDebugDotPrint(CUgraph graph, const char* path, unsigned int) {
  return EnterGraph(TWINMMU_HERE, graph, {path}, [&](DriverState&, Graphs&, Graph& found) {
    std::string text = "digraph dot {\n";
    AppendGraph(found, &text);
    text += "}\n";
    return WriteFile(path, text) ? CUDA_SUCCESS : ToResult(DriverCode::kOperatingSystem);
  });
}

}  // namespace twinmmu::libcuda
