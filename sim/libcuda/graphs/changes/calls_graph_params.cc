// What nodes do, asked and changed.

#include "sim/libcuda/graphs/changes/node_changes.h"
#include "sim/libcuda/graphs/graph_nodes.h"
#include "sim/libcuda/graphs/new_nodes.h"

namespace twinmmu::libcuda {
namespace {

CUresult ChangeKernel(const CallSite& site, CUgraphNode node, const void* params,
                      const CUDA_KERNEL_NODE_PARAMS& given) {
  return ChangeWork<KernelWork>(site, node, params, [&](DriverState& driver, KernelWork* work) {
    return RemakeKernel(site, driver, given, work);
  });
}

}  // namespace

extern "C" CUresult cuGraphKernelNodeGetParams(CUgraphNode node,
                                               CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return TellParams<KernelWork>(TWINMMU_HERE, node, params);
}

extern "C" CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node,
                                                  CUDA_KERNEL_NODE_PARAMS* params) {
  return TellParams<KernelWork>(TWINMMU_HERE, node, params);
}

extern "C" CUresult cuGraphKernelNodeSetParams(CUgraphNode node,
                                               const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return ChangeKernel(TWINMMU_HERE, node, params,
                      params == nullptr ? CUDA_KERNEL_NODE_PARAMS{} : LaterForm(*params));
}

extern "C" CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node,
                                                  const CUDA_KERNEL_NODE_PARAMS* params) {
  return ChangeKernel(TWINMMU_HERE, node, params,
                      params == nullptr ? CUDA_KERNEL_NODE_PARAMS{} : *params);
}

extern "C" CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* params) {
  return EnterWork<CopyWork>(TWINMMU_HERE, node, {params}, [&](DriverState&, const CopyWork& work) {
    *params = work.copy;
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* params) {
  const CallSite site = TWINMMU_HERE;
  return ChangeWork<CopyWork>(site, node, params, [&](DriverState& driver, CopyWork* work) {
    return MakeCopy(site, driver, *params, work->context->handle(), work);
  });
}

extern "C" CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params) {
  return EnterWork<FillWork>(TWINMMU_HERE, node, {params}, [&](DriverState&, const FillWork& work) {
    *params = work.fill;
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuGraphMemsetNodeSetParams(CUgraphNode node,
                                               const CUDA_MEMSET_NODE_PARAMS* params) {
  const CallSite site = TWINMMU_HERE;
  return ChangeWork<FillWork>(site, node, params, [&](DriverState& driver, FillWork* work) {
    return MakeFill(site, driver, *params, work->context->handle(), work);
  });
}

extern "C" CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* params) {
  return EnterWork<HostWork>(TWINMMU_HERE, node, {params}, [&](DriverState&, const HostWork& work) {
    *params = work.call;
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuGraphHostNodeSetParams(CUgraphNode node,
                                             const CUDA_HOST_NODE_PARAMS* params) {
  return ChangeWork<HostWork>(TWINMMU_HERE, node, params, [&](DriverState&, HostWork* work) {
    return MakeHost(*params, work);
  });
}

extern "C" CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  return EnterWork<ChildWork>(TWINMMU_HERE, node, {graph},
                              [&](DriverState&, const ChildWork& work) {
                                *graph = HandleOf<CUgraph>(work.graph->id());
                                return CUDA_SUCCESS;
                              });
}

extern "C" CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
  return EnterWork<RecordWork>(TWINMMU_HERE, node, {event},
                               [&](DriverState&, const RecordWork& work) {
                                 *event = work.event;
                                 return CUDA_SUCCESS;
                               });
}

extern "C" CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  const CallSite site = TWINMMU_HERE;
  return ChangeWork<RecordWork>(site, node, node, [&](DriverState& driver, RecordWork* work) {
    work->event = event;
    return CheckEvent(site, driver, event);
  });
}

extern "C" CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  return EnterWork<WaitWork>(TWINMMU_HERE, node, {event}, [&](DriverState&, const WaitWork& work) {
    *event = work.event;
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  const CallSite site = TWINMMU_HERE;
  return ChangeWork<WaitWork>(site, node, node, [&](DriverState& driver, WaitWork* work) {
    work->event = event;
    return CheckEvent(site, driver, event);
  });
}

}  // namespace twinmmu::libcuda
