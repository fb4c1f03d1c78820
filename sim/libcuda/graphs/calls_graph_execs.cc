// Executable graphs: made, launched, destroyed.

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "sim/calls/executor/host_functions.h"
#include "sim/libcuda/calls/capturing.h"
#include "sim/libcuda/calls/of_thread.h"
#include "sim/libcuda/graphs/changes/exec_changes.h"
#include "sim/libcuda/graphs/conditional_nodes.h"
#include "sim/libcuda/graphs/graph_launch.h"
#include "sim/libcuda/graphs/graph_nodes.h"
#include "sim/libcuda/graphs/graphs.h"
#include "sim/libcuda/graphs/memory_nodes.h"
#include "sim/streams/stream_scheduler.h"

namespace twinmmu::libcuda {
namespace {

// What the driver tells of the flags that it was given.
constexpr uint64_t kToldFlags =
    CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;

// Of one executable graph: the other nodes would have the same to say.
constexpr size_t kMostNodesTold = 4;

struct Instantiated {
  CUgraphInstantiateResult result = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  GraphId error_node = 0;
};

bool AreValidFlags(uint64_t flags, bool may_upload) {
  uint64_t known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                   CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
                   CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  if (may_upload) known |= CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
  constexpr uint64_t kNotBoth =
      CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
  return (flags & ~known) == 0 && (flags & kNotBoth) != kNotBoth;
}

// Whether there is nothing that a device could launch.
bool IsEmpty(const Graph& graph) {
  return std::all_of(graph.nodes().begin(), graph.nodes().end(), [](const auto& entry) {
    const auto* const child = std::get_if<ChildWork>(&entry.second.work);
    return child != nullptr && IsEmpty(*child->graph);
  });
}

// A node that cannot be launched by a device; 0: there is none.
GraphId FindHostWork(const Graph& graph) {
  for (const auto& [id, node] : graph.nodes()) {
    const CUgraphNodeType type = TypeOf(node.work);
    if (type >= CU_GRAPH_NODE_TYPE_HOST && type != CU_GRAPH_NODE_TYPE_GRAPH) return id;
  }
  return 0;
}

// Whether all can be done now: no cycle, and the memory of copies and fills is there.
CUresult Check(const CallSite& site, DriverState& driver, const Graph& graph, Instantiated* done) {
  const std::vector<GraphId> order = graph.Order();
  if (order.size() != graph.nodes().size()) {
    done->result = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
    for (const auto& [id, node] : graph.nodes()) {
      if (std::find(order.begin(), order.end(), id) == order.end()) done->error_node = id;
    }
    return kInvalidValue;
  }
  for (const auto& [id, node] : graph.nodes()) {
    CUresult possible = CUDA_SUCCESS;
    if (const auto* const copy = std::get_if<CopyWork>(&node.work)) {
      possible = CheckCopy(site, driver, *copy);
    } else if (const auto* const fill = std::get_if<FillWork>(&node.work)) {
      possible = CheckFill(site, driver, *fill);
    }
    ForEachInside(node.work, [&](const std::shared_ptr<Graph>& inside) {
      if (possible == CUDA_SUCCESS) possible = Check(site, driver, *inside, done);
    });
    if (possible == CUDA_SUCCESS) continue;
    if (done->result == CUDA_GRAPH_INSTANTIATE_SUCCESS) {
      *done = {CUDA_GRAPH_INSTANTIATE_ERROR, id};
    }
    return possible;
  }
  return CUDA_SUCCESS;
}

// The context says so. Source: an H100 and an H200 with driver 580.159.
void NoteLocalMemory(DriverState& driver, const Graph& graph) {
  for (const auto& [id, node] : graph.nodes()) {
    Context* const context = ContextOfKernels(driver, node.work);
    if (context != nullptr) context->flags |= CU_CTX_LMEM_RESIZE_TO_MAX;
    ForEachInside(node.work,
                  [&](const std::shared_ptr<Graph>& inside) { NoteLocalMemory(driver, *inside); });
  }
}

void NoteAllocations(Graph& graph) {
  for (const auto& [id, node] : graph.nodes()) {
    auto* const alloc = std::get_if<AllocWork>(&graph.Find(id)->work);
    if (alloc != nullptr) alloc->was_instantiated = true;
  }
}

CUresult Instantiate(const CallSite& site, CUgraphExec* exec, CUgraph graph, uint64_t flags,
                     bool may_upload, Instantiated* done) {
  return EnterGraphInContext(
      site, graph, {exec}, [&](DriverState& driver, Graphs& graphs, Graph& found) {
        if (graphs.IsChild(graph)) return kNotSupported;
        if (!AreValidFlags(flags, may_upload)) {
          done->result = CUDA_GRAPH_INSTANTIATE_ERROR;
          return kInvalidValue;
        }
        const CUresult fault = FaultOf(site, driver);
        if (fault != CUDA_SUCCESS) return fault;
        if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) {
          done->error_node = FindHostWork(found);
          if (done->error_node != 0 || IsEmpty(found)) {
            done->result = done->error_node != 0
                               ? CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED
                               : CUDA_GRAPH_INSTANTIATE_ERROR;
            return kInvalidValue;
          }
        }
        CUresult possible = Check(site, driver, found, done);
        if (possible == CUDA_SUCCESS) {
          possible = CheckConditions(found, &done->result, &done->error_node);
        }
        if (possible != CUDA_SUCCESS) return possible;
        const bool of_memory = HasMemoryNodes(found);
        if (of_memory && graphs.HasExecOf(found.id(), HasMemoryNodes)) return kNotSupported;
        if (HasConditions(found) && graphs.HasCopyOf(found.id())) return kNotSupported;
        std::shared_ptr<Graph> executable = found.Copy([](GraphId same) { return same; });
        executable->ForEachGraph([&](Graph& each) {
          for (const auto& [node, made] : each.nodes()) NoteStack(driver, each.Find(node));
        });
        const GraphId id =
            graphs.Add(GraphExec{flags & kToldFlags, std::move(executable), 0, {}, {}, {}});
        absl::Cleanup undo = [&] { graphs.Remove(HandleOf<CUgraphExec>(id)); };
        graphs.ShareHeld(found, id);
        std::move(undo).Cancel();
        NoteLocalMemory(driver, found);
        if (of_memory) NoteAllocations(found);
        *exec = HandleOf<CUgraphExec>(id);
        return CUDA_SUCCESS;
      });
}

// The form of CUDA 10 to 11.
CUresult InstantiateWithLog(const CallSite& site, CUgraphExec* exec, CUgraph graph,
                            CUgraphNode* error_node, char* log, size_t size) {
  Instantiated done;
  const CUresult result = Instantiate(site, exec, graph, 0, false, &done);
  if (error_node != nullptr) *error_node = HandleOf<CUgraphNode>(done.error_node);
  if (log != nullptr && size != 0) *log = '\0';
  return result;
}

// What is stale in a graph, unless nothing was taken away since that was last asked, or it was told
// before. With the graphs locked.
void WarnOfStaleMemory(const CallSite& site, DriverState& driver, const Graph& graph,
                       GraphExec* exec) {
  const GraphMemory& machine = driver.simulator->graph_memory();
  for (const auto& [id, node] : graph.nodes()) {
    ForEachInside(node.work, [&](const std::shared_ptr<Graph>& inside) {
      WarnOfStaleMemory(site, driver, *inside, exec);
    });
    if (exec->told.size() >= kMostNodesTold) return;
    if (node.memory.empty() || !node.enabled || exec->told.count(id) != 0) continue;
    const DeviceOrdinal device = DeviceOf(driver, node.work).value_or(DeviceOrdinal(0));
    if (machine.IsFresh(node.memory)) continue;
    machine.Warn(device, NameOf(site, driver, node.work), node.memory);
    exec->told.insert(id);
  }
}

// The graph as it is to be launched, and what its launches share; of no graph: there is none.
// `holder` keeps its user objects.
GraphExec FindForLaunch(const CallSite& site, DriverState& driver, CUgraphExec exec,
                        DeviceOrdinal device, GraphId* holder) {
  const std::lock_guard lock(driver.graphs->mutex);
  GraphExec* const found = driver.graphs->Find(exec);
  if (found == nullptr) return {};
  const uint64_t generation = driver.simulator->graph_memory().generation();
  if (std::exchange(found->generation, generation) != generation) {
    WarnOfStaleMemory(site, driver, *found->graph, found);
  }
  if (!found->launched.has_value()) {
    const absl::StatusOr<Event> made = driver.executor.CreateEvent(device);
    if (made.ok()) found->launched = *made;
  }
  GraphExec launch;
  launch.flags = found->flags;
  launch.graph = found->graph;
  launch.launched = found->launched;
  launch.lanes = std::exchange(found->lanes, {});
  *holder = driver.graphs->HoldAsWell(exec);
  return launch;
}

void DestroyLanes(DriverState& driver, const std::vector<Stream>& lanes) {
  for (const Stream lane : lanes) driver.executor.DestroyStream(lane).IgnoreError();
}

// For the next launch; what the executable graph no longer needs goes when its work is done.
void GiveBackLanes(DriverState& driver, CUgraphExec exec, std::vector<Stream> lanes) {
  if (lanes.empty()) return;
  const std::lock_guard lock(driver.graphs->mutex);
  GraphExec* const found = driver.graphs->Find(exec);
  if (found == nullptr || !found->lanes.empty()) return DestroyLanes(driver, lanes);
  found->lanes = std::move(lanes);
}

void GiveUp(const CallSite& site, DriverState& driver, GraphId holder) {
  Destructions due;
  {
    const std::lock_guard lock(driver.graphs->mutex);
    driver.graphs->GiveUp(holder);
    due = driver.graphs->TakeDestructions();
  }
  Destroy(site, due, CUDA_SUCCESS);
}

// When what the stream has got is done: what a launch uses outlives the executable graph, and is
// destroyed by another thread. Source: an H100 with driver 580.159.
void GiveUpBehind(const CallSite& site, DriverState& driver, Stream stream, GraphId holder) {
  if (holder == 0) return;
  const auto give_up = [site, &driver, stream, holder](DriverCode) {
    const HostFunctionScope scope(&driver.contexts.Primary(stream.device()));
    GiveUp(site, driver, holder);
  };
  const absl::Status later =
      driver.simulator->host_functions().Submit(site.name(), stream, give_up, /*always=*/true);
  if (!later.ok()) GiveUp(site, driver, holder);
}

// Whether a launch waits for work, which may wait for the function that launches.
bool MayWait(DriverState& driver, CUgraphExec exec) {
  const std::lock_guard lock(driver.graphs->mutex);
  const GraphExec* const found = driver.graphs->Find(exec);
  return found != nullptr && (HasConditions(*found->graph) || HasMemoryNodes(*found->graph));
}

CUresult Launch(const CallSite& site, DriverState& driver, CUgraphExec exec, Stream stream) {
  GraphId holder = 0;
  GraphExec launch = FindForLaunch(site, driver, exec, stream.device(), &holder);
  if (launch.graph == nullptr) return NoSuchGraph();
  const absl::Cleanup give_back = [&] { GiveBackLanes(driver, exec, std::move(launch.lanes)); };
  if (launch.launched.has_value()) {
    const absl::Status behind = driver.executor.WaitEvent(stream, *launch.launched);
    if (!behind.ok()) {
      GiveUpBehind(site, driver, stream, holder);
      return ToResult(behind);
    }
  }
  const bool frees = (launch.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
  const StreamScheduler::OneOperation one;
  CUresult given = PrepareMemory(site, driver, *launch.graph, frees, stream);
  if (given == CUDA_SUCCESS) given = AssignDefaults(driver, *launch.graph, stream);
  if (given == CUDA_SUCCESS) {
    absl::Cleanup undo = [&] { FreeAllocated(driver, *launch.graph, stream); };
    given = LaunchGraph(site, driver, *launch.graph, stream, &launch.lanes);
    if (given == CUDA_SUCCESS) std::move(undo).Cancel();
  }
  GiveUpBehind(site, driver, stream, holder);
  if (launch.launched.has_value()) {
    driver.executor.RecordEvent(*launch.launched, stream).IgnoreError();
  }
  return given;
}

}  // namespace

extern "C" CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node,
                                       char* log, size_t size) {
  return InstantiateWithLog(TWINMMU_HERE, exec, graph, error_node, log, size);
}

extern "C" CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error_node,
                                          char* log, size_t size) {
  return InstantiateWithLog(TWINMMU_HERE, exec, graph, error_node, log, size);
}

extern "C" CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph,
                                                unsigned long long flags) {
  Instantiated done;
  return Instantiate(TWINMMU_HERE, exec, graph, flags, false, &done);
}

extern "C" CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                                 CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  const CallSite site = TWINMMU_HERE;
  if (params == nullptr) {
    // Before all else, captures and cuInit among them.
    return EnterAlways(site, [&] { return NullPointer(site); });
  }
  Instantiated done;
  const CUresult result = Instantiate(site, exec, graph, params->flags, true, &done);
  params->result_out = result == CUDA_SUCCESS || done.result != CUDA_GRAPH_INSTANTIATE_SUCCESS
                           ? done.result
                           : CUDA_GRAPH_INSTANTIATE_ERROR;
  params->hErrNode_out = HandleOf<CUgraphNode>(done.error_node);
  return result;
}
TWINMMU_ALIAS(cuGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams);

extern "C" CUresult cuGraphExecGetFlags(CUgraphExec exec, uint64_t* flags) {
  return EnterGraphs(TWINMMU_HERE, {flags}, [&](DriverState&, Graphs& graphs) {
    const GraphExec* const found = graphs.Find(exec);
    if (found == nullptr) return NoSuchGraph();
    *flags = found->flags;
    return CUDA_SUCCESS;
  });
}

extern "C" CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  const CallSite site = TWINMMU_HERE;
  return EnterOnStream(site, stream, [&](DriverState& driver, Context& context) {
    CheckUncaptured(driver, context, stream);
    if (host_function_context != nullptr && MayWait(driver, exec)) {
      return ToResult(Misused(site, DiagnosticKind::kCallInHostFunction, DriverCode::kNotPermitted,
                              "a launch of a graph that decides something, or allocates, waits"));
    }
    return Launch(site, driver, exec, WorkOf(driver, context, stream));
  });
}
TWINMMU_OF_THREAD(cuGraphLaunch_ptsz, cuGraphLaunch, (CUgraphExec exec, CUstream stream), exec,
                  OfThread(stream))

// Here a graph has nothing that could be brought to the device before it is launched, but memory.
extern "C" CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  const CallSite site = TWINMMU_HERE;
  return EnterInContext(site, stream, {}, [&](DriverState& driver, Context& context) {
    CheckUncaptured(driver, context, OfCurrent(stream));
    const std::lock_guard lock(driver.graphs->mutex);
    const GraphExec* const found = driver.graphs->Find(exec);
    return found == nullptr ? NoSuchGraph() : CommitMemory(site, driver, *found->graph);
  });
}
TWINMMU_OF_THREAD(cuGraphUpload_ptsz, cuGraphUpload, (CUgraphExec exec, CUstream stream), exec,
                  OfThread(stream))

// Launches go on.
extern "C" CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return EnterGraphs(TWINMMU_HERE, {}, [&](DriverState& driver, Graphs& graphs) {
    const GraphExec* const found = graphs.Find(exec);
    if (found == nullptr) return NoSuchGraph();
    DestroyLanes(driver, found->lanes);
    if (found->launched.has_value()) driver.executor.DestroyEvent(*found->launched).IgnoreError();
    graphs.Remove(exec);
    return CUDA_SUCCESS;
  });
}

}  // namespace twinmmu::libcuda
