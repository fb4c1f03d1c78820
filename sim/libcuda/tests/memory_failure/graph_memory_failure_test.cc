// The host runs out of memory in calls for graphs and captures: see memory_failure_steps.h. The
// simulated driver is linked in.

#include <atomic>
#include <cstdint>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "sim/libcuda/calls/entry_points.h"
#include "sim/libcuda/tests/memory_failure/memory_failure_steps.h"
#include "third_party/cuda_abi/graph_abi.h"

namespace twinmmu::libcuda {

// What the backend does not call.
extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, size_t);
CUresult cuModuleLoadData(CUmodule*, const void*);
CUresult cuGraphCreate(CUgraph*, unsigned int);
CUresult cuGraphDestroy(CUgraph);
CUresult cuGraphClone(CUgraph*, CUgraph);
CUresult cuGraphDestroyNode(CUgraphNode);
CUresult cuGraphAddEmptyNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t);
CUresult cuGraphAddKernelNode_v2(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                                 const CUDA_KERNEL_NODE_PARAMS*);
CUresult cuGraphAddMemcpyNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                              const CUDA_MEMCPY3D*, CUcontext);
CUresult cuGraphAddMemsetNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                              const CUDA_MEMSET_NODE_PARAMS*, CUcontext);
CUresult cuGraphAddHostNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                            const CUDA_HOST_NODE_PARAMS*);
CUresult cuGraphAddChildGraphNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUgraph);
CUresult cuGraphAddEventRecordNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUevent);
CUresult cuGraphAddEventWaitNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUevent);
CUresult cuGraphAddMemAllocNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                                CUDA_MEM_ALLOC_NODE_PARAMS*);
CUresult cuGraphAddMemFreeNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUdeviceptr);
CUresult cuGraphAddNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUgraphNodeParams*);
CUresult cuGraphAddDependencies(CUgraph, const CUgraphNode*, const CUgraphNode*, size_t);
CUresult cuGraphRemoveDependencies(CUgraph, const CUgraphNode*, const CUgraphNode*, size_t);
CUresult cuGraphGetNodes(CUgraph, CUgraphNode*, size_t*);
CUresult cuGraphGetEdges(CUgraph, CUgraphNode*, CUgraphNode*, size_t*);
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*);
CUresult cuGraphMemsetNodeSetParams(CUgraphNode, const CUDA_MEMSET_NODE_PARAMS*);
CUresult cuGraphMemsetNodeGetParams(CUgraphNode, CUDA_MEMSET_NODE_PARAMS*);
CUresult cuGraphInstantiateWithFlags(CUgraphExec*, CUgraph, unsigned long long);
CUresult cuGraphExecGetFlags(CUgraphExec, uint64_t*);
CUresult cuGraphExecUpdate_v2(CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo*);
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec, CUgraphNode, const CUDA_MEMSET_NODE_PARAMS*,
                                        CUcontext);
CUresult cuGraphNodeSetEnabled(CUgraphExec, CUgraphNode, unsigned int);
CUresult cuGraphUpload(CUgraphExec, CUstream);
CUresult cuGraphLaunch(CUgraphExec, CUstream);
CUresult cuGraphExecDestroy(CUgraphExec);
CUresult cuUserObjectCreate(CUuserObject*, void*, CUhostFn, unsigned int, unsigned int);
CUresult cuUserObjectRetain(CUuserObject, unsigned int);
CUresult cuUserObjectRelease(CUuserObject, unsigned int);
CUresult cuGraphRetainUserObject(CUgraph, CUuserObject, unsigned int, unsigned int);
CUresult cuGraphReleaseUserObject(CUgraph, CUuserObject, unsigned int);
CUresult cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode);
CUresult cuStreamEndCapture(CUstream, CUgraph*);
CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus*);
CUresult cuDeviceGraphMemTrim(CUdevice);
CUresult cuDeviceGetGraphMemAttribute(CUdevice, CUgraphMem_attribute, void*);
CUresult cuLaunchHostFunc(CUstream, CUhostFn, void*);
}

namespace {

// What the steps hand on to each other.
struct World {
  CUcontext context = nullptr;
  CUstream stream = nullptr, other = nullptr;
  CUevent event = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr memory = 0, of_node = 0;
  CUgraph graph = nullptr, child = nullptr, clone = nullptr, captured = nullptr,
          reserving = nullptr;
  CUgraphNode fill = nullptr, copy = nullptr, kernel = nullptr, call = nullptr, inner = nullptr;
  CUgraphNode record = nullptr, wait = nullptr, empty = nullptr, generic = nullptr;
  CUgraphNode allocation = nullptr, release = nullptr;
  CUgraphExec exec = nullptr, of_capture = nullptr, of_reserving = nullptr;
  CUuserObject object = nullptr;
};
using Steps = std::vector<Step<World>>;

void DoNothing(void*) {}

// What is behind a function that has returned needs less memory than what has to wait for it. So
// that of the graph ends when the graph is launched, each time.
std::atomic<bool> may_return{true};
void WaitForLaunch(void*) {
  while (!may_return) std::this_thread::yield();
}

CUresult LaunchAndSynchronize(World& w) {
  may_return = false;
  const CUresult launched = cuGraphLaunch(w.exec, w.stream);
  may_return = true;
  const CUresult done = cuStreamSynchronize(w.stream);
  return launched == CUDA_SUCCESS ? done : launched;
}

CUDA_MEMSET_NODE_PARAMS Fill(const World& w, unsigned int value) {
  CUDA_MEMSET_NODE_PARAMS fill = {};
  fill.dst = w.memory;
  fill.value = value;
  fill.elementSize = 1;
  fill.width = 64;
  fill.height = 1;
  return fill;
}
CUresult AddFill(World& w) {
  const CUDA_MEMSET_NODE_PARAMS fill = Fill(w, 1);
  return cuGraphAddMemsetNode(&w.fill, w.graph, nullptr, 0, &fill, w.context);
}
CUresult AddCopy(World& w) {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = static_cast<CUmemorytype>(2);
  copy.srcDevice = w.memory;
  copy.dstDevice = w.memory + 128;
  copy.WidthInBytes = 64;
  copy.Height = copy.Depth = 1;
  return cuGraphAddMemcpyNode(&w.copy, w.graph, &w.fill, 1, &copy, w.context);
}
CUDA_KERNEL_NODE_PARAMS Kernel(const World& w, unsigned int blocks) {
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  kernel.func = w.function;
  kernel.gridDimX = blocks;
  kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
  return kernel;
}
CUresult AddKernel(World& w) {
  const CUDA_KERNEL_NODE_PARAMS kernel = Kernel(w, 1);
  return cuGraphAddKernelNode_v2(&w.kernel, w.graph, &w.copy, 1, &kernel);
}
CUresult AddCall(World& w) {
  const CUDA_HOST_NODE_PARAMS call = {WaitForLaunch, nullptr};
  return cuGraphAddHostNode(&w.call, w.graph, &w.kernel, 1, &call);
}
CUresult AddGeneric(World& w) {
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_HOST;
  params.host = {DoNothing, nullptr};
  return cuGraphAddNode(&w.generic, w.graph, &w.call, 1, &params);
}

Steps Preparing() {
  return {
      {"retain", [](World& w) { return cuDevicePrimaryCtxRetain(&w.context, 0); }},
      {"push", [](World& w) { return cuCtxPushCurrent_v2(w.context); }},
      {"allocate", [](World& w) { return cuMemAlloc_v2(&w.memory, 4096); }},
      {"create stream", [](World& w) { return cuStreamCreate(&w.stream, 1); }},
      {"create another", [](World& w) { return cuStreamCreate(&w.other, 1); }},
      {"create event", [](World& w) { return cuEventCreate(&w.event, 0); }},
      {"load", [](World& w) { return cuModuleLoadData(&w.module, libcuda::kEmptyKernel); }},
      {"function", [](World& w) { return cuModuleGetFunction(&w.function, w.module, "nothing"); }},
  };
}

Steps Nodes() {
  return {
      {"create", [](World& w) { return cuGraphCreate(&w.graph, 0); }},
      {"create a child", [](World& w) { return cuGraphCreate(&w.child, 0); }},
      {"add a fill", AddFill},
      {"add a copy", AddCopy},
      {"add a kernel", AddKernel},
      {"add a call", AddCall},
      {"add by the generic function", AddGeneric},
      {"add a node to the child",
       [](World& w) { return cuGraphAddEmptyNode(&w.empty, w.child, nullptr, 0); }},
      {"add the child",
       [](World& w) { return cuGraphAddChildGraphNode(&w.inner, w.graph, &w.call, 1, w.child); }},
      {"add a record",
       [](World& w) { return cuGraphAddEventRecordNode(&w.record, w.graph, nullptr, 0, w.event); }},
      {"add a wait",
       [](World& w) { return cuGraphAddEventWaitNode(&w.wait, w.graph, nullptr, 0, w.event); }},
      {"add an edge",
       [](World& w) { return cuGraphAddDependencies(w.graph, &w.inner, &w.record, 1); }},
      {"add another",
       [](World& w) { return cuGraphAddDependencies(w.graph, &w.fill, &w.wait, 1); }},
      {"remove it",
       [](World& w) { return cuGraphRemoveDependencies(w.graph, &w.fill, &w.wait, 1); }},
      {"destroy a node", [](World& w) { return cuGraphDestroyNode(w.wait); }},
      {"change the fill",
       [](World& w) {
         const CUDA_MEMSET_NODE_PARAMS fill = Fill(w, 2);
         return cuGraphMemsetNodeSetParams(w.fill, &fill);
       }},
      {"change the kernel",
       [](World& w) {
         const CUDA_KERNEL_NODE_PARAMS kernel = Kernel(w, 2);
         return cuGraphKernelNodeSetParams_v2(w.kernel, &kernel);
       }},
      {"clone", [](World& w) { return cuGraphClone(&w.clone, w.graph); }},
      {"create an object",
       [](World& w) { return cuUserObjectCreate(&w.object, nullptr, DoNothing, 1, 1); }},
      {"retain it", [](World& w) { return cuUserObjectRetain(w.object, 1); }},
      {"give it to the graph",
       [](World& w) { return cuGraphRetainUserObject(w.graph, w.object, 1, 1); }},
  };
}

Steps Runs() {
  return {
      {"instantiate", [](World& w) { return cuGraphInstantiateWithFlags(&w.exec, w.graph, 0); }},
      // A kernel that finds no memory when it runs has failed for good.
      {"leave the kernel out", [](World& w) { return cuGraphNodeSetEnabled(w.exec, w.kernel, 0); }},
      {"upload", [](World& w) { return cuGraphUpload(w.exec, w.stream); }},
      {"launch and synchronise", LaunchAndSynchronize},
      {"change the fill there",
       [](World& w) {
         const CUDA_MEMSET_NODE_PARAMS fill = Fill(w, 3);
         return cuGraphExecMemsetNodeSetParams(w.exec, w.fill, &fill, w.context);
       }},
      {"disable it", [](World& w) { return cuGraphNodeSetEnabled(w.exec, w.fill, 0); }},
      {"update",
       [](World& w) {
         CUgraphExecUpdateResultInfo info = {};
         return cuGraphExecUpdate_v2(w.exec, w.clone, &info);
       }},
  };
}

CUresult AddAllocation(World& w) {
  CUDA_MEM_ALLOC_NODE_PARAMS params = {};
  params.poolProps.allocType = 1;
  params.poolProps.location = {1, 0};
  params.bytesize = 4096;
  const CUresult added = cuGraphAddMemAllocNode(&w.allocation, w.reserving, nullptr, 0, &params);
  if (added == CUDA_SUCCESS) w.of_node = params.dptr;
  return added;
}

Steps Reserving() {
  return {
      {"create one that allocates", [](World& w) { return cuGraphCreate(&w.reserving, 0); }},
      {"add an allocation", AddAllocation},
      {"add a free",
       [](World& w) {
         return cuGraphAddMemFreeNode(&w.release, w.reserving, &w.allocation, 1, w.of_node);
       }},
      {"instantiate that",
       [](World& w) { return cuGraphInstantiateWithFlags(&w.of_reserving, w.reserving, 0); }},
      {"destroy what allocates", [](World& w) { return cuGraphExecDestroy(w.of_reserving); }},
      {"destroy its graph", [](World& w) { return cuGraphDestroy(w.reserving); }},
      {"trim", [](World&) { return cuDeviceGraphMemTrim(0); }},
  };
}

Steps Capturing() {
  return {
      {"begin", [](World& w) { return cuStreamBeginCapture_v2(w.stream, 1); }},
      {"capture a fill", [](World& w) { return cuMemsetD8Async(w.memory, 4, 64, w.stream); }},
      {"capture a copy",
       [](World& w) { return cuMemcpyDtoDAsync_v2(w.memory + 128, w.memory, 64, w.stream); }},
      {"fork", [](World& w) { return cuEventRecord(w.event, w.stream); }},
      {"wait", [](World& w) { return cuStreamWaitEvent(w.other, w.event, 0); }},
      {"capture a call", [](World& w) { return cuLaunchHostFunc(w.other, DoNothing, nullptr); }},
      {"record", [](World& w) { return cuEventRecord(w.event, w.other); }},
      {"join", [](World& w) { return cuStreamWaitEvent(w.stream, w.event, 0); }},
      {"capture a kernel",
       [](World& w) {
         return cuLaunchKernel(w.function, 1, 1, 1, 1, 1, 1, 0, w.stream, nullptr, nullptr);
       }},
      {"end", [](World& w) { return cuStreamEndCapture(w.stream, &w.captured); }},
      {"instantiate it",
       [](World& w) { return cuGraphInstantiateWithFlags(&w.of_capture, w.captured, 0); }},
  };
}

Steps Ending() {
  return {
      {"release the object", [](World& w) { return cuUserObjectRelease(w.object, 1); }},
      {"take it from the graph",
       [](World& w) { return cuGraphReleaseUserObject(w.graph, w.object, 1); }},
      {"destroy exec", [](World& w) { return cuGraphExecDestroy(w.exec); }},
      {"destroy that of the capture", [](World& w) { return cuGraphExecDestroy(w.of_capture); }},
      {"destroy the clone", [](World& w) { return cuGraphDestroy(w.clone); }},
      {"destroy the child", [](World& w) { return cuGraphDestroy(w.child); }},
      {"destroy the graph", [](World& w) { return cuGraphDestroy(w.graph); }},
      {"destroy what was captured", [](World& w) { return cuGraphDestroy(w.captured); }},
  };
}

Steps Script() {
  return Joined<World>({Preparing(), Nodes(), Runs(), Reserving(), Capturing(), Ending()});
}

// All that a program can see.
std::string VisibleState(World& w) {
  std::ostringstream out;
  for (const CUgraph graph : {w.graph, w.child, w.clone, w.captured, w.reserving}) {
    size_t nodes = 0, edges = 0;
    out << cuGraphGetNodes(graph, nullptr, &nodes) << " nodes " << nodes << "\n";
    out << cuGraphGetEdges(graph, nullptr, nullptr, &edges) << " edges " << edges << "\n";
  }
  CUDA_MEMSET_NODE_PARAMS fill = {};
  out << cuGraphMemsetNodeGetParams(w.fill, &fill) << " fill " << fill.value << "\n";
  for (const CUgraphExec exec : {w.exec, w.of_capture, w.of_reserving}) {
    uint64_t flags = 0;
    out << cuGraphExecGetFlags(exec, &flags) << " exec\n";
  }
  for (const CUstream stream : {w.stream, w.other}) {
    CUstreamCaptureStatus status = 0;
    out << (stream == nullptr ? 0 : cuStreamIsCapturing(stream, &status)) << " stream " << status
        << "\n";
  }
  for (const CUgraphMem_attribute attribute :
       {CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT}) {
    uint64_t value = 0;
    cuDeviceGetGraphMemAttribute(0, attribute, &value);
    out << "of graphs " << value << "\n";
  }
  out << FreeOn(1);
  return out.str();
}

class GraphMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(GraphMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/150);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, GraphMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda
