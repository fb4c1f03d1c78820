// Nodes of external semaphores. There are none without an API for graphics: see
// calls_external_semaphores.cc. A node is made all the same, as by an H100 with driver 580.159.

#include "sim/libcuda/graphs/changes/exec_changes.h"
#include "sim/libcuda/graphs/changes/node_changes.h"
#include "sim/libcuda/graphs/new_nodes.h"
#include "sim/libcuda/graphs/semaphore_nodes.h"

namespace twinmmu::libcuda {
namespace {

template <typename Work>
CUresult Add(const CallSite& site, const NewNode& node, const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return AddNode(site, node, params, [&](DriverState&, GraphWork* work) {
    return MakeSemaphores(*params, &work->emplace<Work>().list);
  });
}

template <typename Work>
CUresult Set(const CallSite& site, CUgraphNode node, const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return ChangeWork<Work>(site, node, params, [&](DriverState&, Work* work) {
    return MakeSemaphores(*params, &work->list);
  });
}

template <typename Work>
CUresult SetInExec(const CallSite& site, CUgraphExec exec, CUgraphNode node,
                   const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return ChangeInExec<Work>(site, exec, node, params, [&](DriverState&, Work* work) {
    return MakeSemaphores(*params, &work->list);
  });
}

}  // namespace

extern "C" CUresult cuGraphAddExternalSemaphoresSignalNode(CUgraphNode* node, CUgraph graph,
                                                           const CUgraphNode* dependencies,
                                                           size_t count,
                                                           const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return Add<SignalWork>(TWINMMU_HERE, {node, graph, dependencies, nullptr, count}, params);
}

extern "C" CUresult cuGraphAddExternalSemaphoresWaitNode(CUgraphNode* node, CUgraph graph,
                                                         const CUgraphNode* dependencies,
                                                         size_t count,
                                                         const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return Add<AwaitWork>(TWINMMU_HERE, {node, graph, dependencies, nullptr, count}, params);
}

extern "C" CUresult cuGraphExternalSemaphoresSignalNodeGetParams(CUgraphNode node,
                                                                 CUDA_EXT_SEM_NODE_PARAMS* params) {
  return TellParams<SignalWork>(TWINMMU_HERE, node, params);
}

extern "C" CUresult cuGraphExternalSemaphoresWaitNodeGetParams(CUgraphNode node,
                                                               CUDA_EXT_SEM_NODE_PARAMS* params) {
  return TellParams<AwaitWork>(TWINMMU_HERE, node, params);
}

extern "C" CUresult cuGraphExternalSemaphoresSignalNodeSetParams(
    CUgraphNode node, const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return Set<SignalWork>(TWINMMU_HERE, node, params);
}

extern "C" CUresult cuGraphExternalSemaphoresWaitNodeSetParams(
    CUgraphNode node, const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return Set<AwaitWork>(TWINMMU_HERE, node, params);
}

extern "C" CUresult cuGraphExecExternalSemaphoresSignalNodeSetParams(
    CUgraphExec exec, CUgraphNode node, const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return SetInExec<SignalWork>(TWINMMU_HERE, exec, node, params);
}

extern "C" CUresult cuGraphExecExternalSemaphoresWaitNodeSetParams(
    CUgraphExec exec, CUgraphNode node, const CUDA_EXT_SEM_NODE_PARAMS* params) {
  return SetInExec<AwaitWork>(TWINMMU_HERE, exec, node, params);
}

}  // namespace twinmmu::libcuda
