// Nodes that are added to graphs.

#ifndef TWINMMU_SIM_LIBCUDA_GRAPHS_NEW_NODES_H_
#define TWINMMU_SIM_LIBCUDA_GRAPHS_NEW_NODES_H_

#include <cstring>

#include "absl/functional/function_ref.h"
#include "sim/libcuda/graphs/graph_calls.h"

namespace twinmmu::libcuda {

// Where a node goes, as the calls have it.
struct NewNode {
  CUgraphNode* node;  // the result
  CUgraph graph;
  const CUgraphNode* dependencies;
  const CUgraphEdgeData* data;
  size_t count;
  CUcontext context = nullptr;  // of a copy or a fill: then a fault counts before what is null
};

// Whether all nodes are in the graph that the new one is to wait for.
bool HasDependencies(const Graph& graph, const NewNode& node);

// Whether a kernel or a function is named, which counts before what is null; INVALID_HANDLE, if
// not.
bool NamesKernel(const CUDA_KERNEL_NODE_PARAMS& params);
CUresult RefuseNoKernel(const CallSite& site);

// make(driver, &work) says what the node does. `params`: what it reads; may not be null.
CUresult AddNode(const CallSite& site, const NewNode& node, const void* params,
                 absl::FunctionRef<CUresult(DriverState&, GraphWork*)> make);

// The work of a node of `parent` that runs a copy of a graph.
CUresult MakeChild(DriverState& driver, CUgraph graph, CUgraph parent, ChildWork* made);

// The same for one that becomes the node's own.
CUresult MoveChild(DriverState& driver, CUgraph graph, CUgraph parent, ChildWork* made);

// What the driver has of a kernel since CUDA 12, out of what it had before.
inline CUDA_KERNEL_NODE_PARAMS LaterForm(const CUDA_KERNEL_NODE_PARAMS_v1& params) {
  CUDA_KERNEL_NODE_PARAMS later = {};
  std::memcpy(static_cast<void*>(&later), &params, sizeof(params));
  return later;
}

}  // namespace twinmmu::libcuda

#endif  // TWINMMU_SIM_LIBCUDA_GRAPHS_NEW_NODES_H_
