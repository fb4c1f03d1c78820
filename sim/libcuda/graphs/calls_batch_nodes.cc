// Nodes that wait for words of memory, and write them.

#include <utility>

#include "sim/libcuda/graphs/batch_nodes.h"
#include "sim/libcuda/graphs/changes/exec_changes.h"
#include "sim/libcuda/graphs/changes/node_changes.h"
#include "sim/libcuda/graphs/new_nodes.h"

namespace twinmmu::libcuda {

extern "C" CUresult cuGraphAddBatchMemOpNode(CUgraphNode* node, CUgraph graph,
                                             const CUgraphNode* dependencies, size_t count,
                                             const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  const CallSite site = TWINMMU_HERE;
  return AddNode(site, {node, graph, dependencies, nullptr, count}, params,
                 [&](DriverState& driver, GraphWork* work) {
                   return MakeBatch(site, driver, *params, &work->emplace<BatchWork>());
                 });
}

extern "C" CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode node,
                                                   CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return TellParams<BatchWork>(TWINMMU_HERE, node, params);
}

extern "C" CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode node,
                                                   const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  const CallSite site = TWINMMU_HERE;
  return ChangeWork<BatchWork>(site, node, params, [&](DriverState& driver, BatchWork* work) {
    return MakeBatch(site, driver, *params, work);
  });
}

extern "C" CUresult cuGraphExecBatchMemOpNodeSetParams(
    CUgraphExec exec, CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  const CallSite site = TWINMMU_HERE;
  return ChangeInExec<BatchWork>(
      site, exec, node, params, [&](DriverState& driver, BatchWork* work) {
        BatchWork made;
        const CUresult possible = MakeBatch(site, driver, *params, &made);
        if (possible != CUDA_SUCCESS) return possible;
        if (!CanBecome(*work, made)) return kInvalidValue;
        *work = std::move(made);
        return CUDA_SUCCESS;
      });
}

}  // namespace twinmmu::libcuda
