// Nodes of any type, as one structure describes them.

#include <cstring>
#include <utility>

#include "sim/libcuda/graphs/batch_nodes.h"
#include "sim/libcuda/graphs/changes/exec_changes.h"
#include "sim/libcuda/graphs/changes/node_changes.h"
#include "sim/libcuda/graphs/conditional_nodes.h"
#include "sim/libcuda/graphs/graphs.h"
#include "sim/libcuda/graphs/memory_nodes.h"
#include "sim/libcuda/graphs/new_nodes.h"
#include "sim/libcuda/graphs/semaphore_nodes.h"

namespace twinmmu::libcuda {
namespace {

// How many bytes of the union a type has.
size_t SizeOf(CUgraphNodeType type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return sizeof(CUDA_KERNEL_NODE_PARAMS);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return sizeof(CUDA_MEMCPY_NODE_PARAMS);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return sizeof(CUDA_MEMSET_NODE_PARAMS_v2);
    case CU_GRAPH_NODE_TYPE_HOST:
      return sizeof(CUDA_HOST_NODE_PARAMS);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return sizeof(CUDA_CHILD_GRAPH_NODE_PARAMS);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return sizeof(CUevent);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      return sizeof(CUDA_EXT_SEM_NODE_PARAMS);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return sizeof(CUDA_MEM_ALLOC_NODE_PARAMS);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return sizeof(CUDA_MEM_FREE_NODE_PARAMS);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return sizeof(CUDA_BATCH_MEM_OP_NODE_PARAMS);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return sizeof(CUDA_CONDITIONAL_NODE_PARAMS);
    default:
      return 0;
  }
}

// What must be zero is.
bool IsClean(const CUgraphNodeParams& params) {
  for (const int reserved : params.reserved0) {
    if (reserved != 0) return false;
  }
  const auto* const bytes = reinterpret_cast<const char*>(params.reserved1);
  for (size_t i = SizeOf(params.type); i < sizeof(params.reserved1); ++i) {
    if (bytes[i] != 0) return false;
  }
  return params.reserved2 == 0;
}

CUresult Refuse(const CallSite& site) {
  return ToResult(Misused(site, DiagnosticKind::kFunctionNotSimulated, DriverCode::kNotSupported));
}

// `node`: a new one; null for one that has its child graph already.
CUresult MakeWork(const CallSite& site, DriverState& driver, const CUgraphNodeParams& params,
                  const NewNode* node, GraphWork* work) {
  CUgraph const parent = node == nullptr ? nullptr : node->graph;
  if (!IsClean(params)) return kInvalidValue;
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return MakeKernel(site, driver, params.kernel, &work->emplace<KernelWork>());
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      if (params.memcpy.flags != 0 || params.memcpy.reserved != 0) return kInvalidValue;
      return MakeCopy(site, driver, params.memcpy.copyParams, params.memcpy.copyCtx,
                      &work->emplace<CopyWork>());
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      CUDA_MEMSET_NODE_PARAMS fill;
      std::memcpy(&fill, &params.memset, sizeof(fill));
      return MakeFill(site, driver, fill, params.memset.ctx, &work->emplace<FillWork>());
    }
    case CU_GRAPH_NODE_TYPE_HOST:
      return MakeHost(params.host, &work->emplace<HostWork>());
    case CU_GRAPH_NODE_TYPE_GRAPH:
      if (params.graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) {
        return MoveChild(driver, params.graph.graph, parent, &work->emplace<ChildWork>());
      }
      // An H100 takes every other number for a clone.
      return MakeChild(driver, params.graph.graph, parent, &work->emplace<ChildWork>());
    case CU_GRAPH_NODE_TYPE_EMPTY:
      work->emplace<EmptyWork>();
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      *work = WaitWork{params.eventWait.event};
      return CheckEvent(site, driver, params.eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      *work = RecordWork{params.eventRecord.event};
      return CheckEvent(site, driver, params.eventRecord.event);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
      return MakeSemaphores(params.extSem, &work->emplace<SignalWork>().list);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      return MakeSemaphores(params.extSem, &work->emplace<AwaitWork>().list);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return MakeAlloc(site, driver, *driver.graphs->Find(parent), *node, params.alloc,
                       &work->emplace<AllocWork>());
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return MakeFree(driver, *driver.graphs->Find(parent), *node, params.free.dptr,
                      &work->emplace<FreeWork>());
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return MakeBatch(site, driver, params.memOp, &work->emplace<BatchWork>());
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return MakeConditional(driver, params.conditional, parent, &work->emplace<ConditionalWork>());
    default:
      return kInvalidValue;
  }
}

CUresult AddGeneric(const CallSite& site, const NewNode& node, CUgraphNodeParams* params) {
  const bool is_kernel = params != nullptr && params->type == CU_GRAPH_NODE_TYPE_KERNEL;
  if (is_kernel && !NamesKernel(params->kernel)) return RefuseNoKernel(site);
  CUdeviceptr address = 0;
  CUgraph* bodies = nullptr;
  const CUresult added = AddNode(site, node, params, [&](DriverState& driver, GraphWork* work) {
    const CUresult made = MakeWork(site, driver, *params, &node, work);
    if (const auto* const alloc = std::get_if<AllocWork>(work)) address = alloc->params.dptr;
    const auto* const decides = std::get_if<ConditionalWork>(work);
    if (made == CUDA_SUCCESS && decides != nullptr) bodies = decides->told->data();
    return made;
  });
  if (added == CUDA_SUCCESS && address != 0) params->alloc.dptr = address;
  if (added == CUDA_SUCCESS && bodies != nullptr) params->conditional.phGraph_out = bodies;
  return added;
}

// The work of a node that stays of its type, and has no child graph and no memory.
CUresult MakeOther(const CallSite& site, DriverState& driver, const CUgraphNodeParams& params,
                   const GraphWork& before, GraphWork* work) {
  if (params.type != TypeOf(before)) return kInvalidValue;
  if (params.type == CU_GRAPH_NODE_TYPE_GRAPH) return Refuse(site);
  if (std::holds_alternative<AllocWork>(before) || std::holds_alternative<FreeWork>(before) ||
      std::holds_alternative<ConditionalWork>(before)) {
    return kNotSupported;
  }
  if (const auto* const kernel = std::get_if<KernelWork>(&before)) {
    if (!IsClean(params)) return kInvalidValue;
    return RemakeKernel(site, driver, params.kernel, &work->emplace<KernelWork>(*kernel));
  }
  return MakeWork(site, driver, params, nullptr, work);
}

}  // namespace

extern "C" CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph,
                                   const CUgraphNode* dependencies, size_t count,
                                   CUgraphNodeParams* params) {
  return AddGeneric(TWINMMU_HERE, {node, graph, dependencies, nullptr, count}, params);
}

extern "C" CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph,
                                      const CUgraphNode* dependencies, const CUgraphEdgeData* data,
                                      size_t count, CUgraphNodeParams* params) {
  return AddGeneric(TWINMMU_HERE, {node, graph, dependencies, data, count}, params);
}

extern "C" CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
  const CallSite site = TWINMMU_HERE;
  return EnterNode(site, node, {params},
                   [&](DriverState& driver, Graphs&, Graph&, GraphNode& found) {
                     GraphWork work = EmptyWork();
                     const CUresult made = MakeOther(site, driver, *params, found.work, &work);
                     if (made != CUDA_SUCCESS) return made;
                     SetWork(site, driver, std::move(work), &found);
                     return CUDA_SUCCESS;
                   });
}

extern "C" CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                             CUgraphNodeParams* params) {
  const CallSite site = TWINMMU_HERE;
  return ChangeExec(site, exec, node, params, [&](DriverState& driver, GraphNode* found) {
    GraphWork work = EmptyWork();
    const CUresult made = MakeOther(site, driver, *params, found->work, &work);
    if (made != CUDA_SUCCESS) return made;
    if (!CanBecome(found->work, work)) return kInvalidValue;
    found->memory = MemoryOf(site, driver, work);
    found->work = std::move(work);
    NoteStack(driver, found);
    return CUDA_SUCCESS;
  });
}

}  // namespace twinmmu::libcuda
