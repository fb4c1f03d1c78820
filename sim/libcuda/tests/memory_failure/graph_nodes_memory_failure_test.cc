// The host runs out of memory in calls that read and change the nodes of graphs, and that add those
// of words and of semaphores: see memory_failure_steps.h. The simulated driver is linked in.

#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
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
CUresult cuGraphAddKernelNode_v2(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                                 const CUDA_KERNEL_NODE_PARAMS*);
CUresult cuGraphAddMemcpyNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                              const CUDA_MEMCPY3D*, CUcontext);
CUresult cuGraphAddHostNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                            const CUDA_HOST_NODE_PARAMS*);
CUresult cuGraphAddBatchMemOpNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                                  const CUDA_BATCH_MEM_OP_NODE_PARAMS*);
CUresult cuGraphAddExternalSemaphoresSignalNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                                                const CUDA_EXT_SEM_NODE_PARAMS*);
CUresult cuGraphAddExternalSemaphoresWaitNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                                              const CUDA_EXT_SEM_NODE_PARAMS*);
CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode, CUDA_BATCH_MEM_OP_NODE_PARAMS*);
CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode, const CUDA_BATCH_MEM_OP_NODE_PARAMS*);
CUresult cuGraphExternalSemaphoresSignalNodeGetParams(CUgraphNode, CUDA_EXT_SEM_NODE_PARAMS*);
CUresult cuGraphExternalSemaphoresSignalNodeSetParams(CUgraphNode, const CUDA_EXT_SEM_NODE_PARAMS*);
CUresult cuGraphExternalSemaphoresWaitNodeGetParams(CUgraphNode, CUDA_EXT_SEM_NODE_PARAMS*);
CUresult cuGraphExternalSemaphoresWaitNodeSetParams(CUgraphNode, const CUDA_EXT_SEM_NODE_PARAMS*);
CUresult cuGraphHostNodeGetParams(CUgraphNode, CUDA_HOST_NODE_PARAMS*);
CUresult cuGraphHostNodeSetParams(CUgraphNode, const CUDA_HOST_NODE_PARAMS*);
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode, CUDA_MEMCPY3D*);
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode, const CUDA_MEMCPY3D*);
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*);
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode, CUlaunchAttributeID, CUlaunchAttributeValue*);
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode, CUlaunchAttributeID,
                                       const CUlaunchAttributeValue*);
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode, CUgraphNode);
CUresult cuGraphNodeSetParams(CUgraphNode, CUgraphNodeParams*);
CUresult cuGraphGetEdges(CUgraph, CUgraphNode*, CUgraphNode*, size_t*);
CUresult cuGraphGetNodes(CUgraph, CUgraphNode*, size_t*);
}

namespace {

constexpr size_t kMost = 16;  // nodes of a graph here

void DoNothing(void*) {}
void DoAsLittle(void*) {}

void Expect(CUresult result) { EXPECT_EQ(result, CUDA_SUCCESS); }

// What the steps hand on to each other. It begins with graphs whose nodes other tests add.
struct World {
  World() {
    Expect(cuDevicePrimaryCtxRetain(&context, 0));
    Expect(cuCtxPushCurrent_v2(context));
    Expect(cuMemAlloc_v2(&memory, 4096));
    CUmodule module = nullptr;
    Expect(cuModuleLoadData(&module, kEmptyKernel));
    Expect(cuModuleGetFunction(&function, module, "nothing"));
    Expect(cuGraphCreate(&graph, 0));
    AddNodes();
  }
  void AddNodes();

  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  CUfunction function = nullptr;
  CUgraph graph = nullptr;
  CUgraphNode kernel = nullptr, twin = nullptr, copy = nullptr, call = nullptr;
  CUgraphNode words = nullptr, signal = nullptr, await = nullptr;
};
using Steps = std::vector<Step<World>>;

CUDA_KERNEL_NODE_PARAMS Kernel(const World& w, unsigned int blocks) {
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  kernel.func = w.function;
  kernel.gridDimX = blocks;
  kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
  return kernel;
}
CUDA_MEMCPY3D Copy(const World& w, size_t bytes) {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = static_cast<CUmemorytype>(2);
  copy.srcDevice = w.memory;
  copy.dstDevice = w.memory + 1024;
  copy.WidthInBytes = bytes;
  copy.Height = copy.Depth = 1;
  return copy;
}

void World::AddNodes() {
  const CUDA_KERNEL_NODE_PARAMS of_kernel = Kernel(*this, 1);
  const CUDA_MEMCPY3D of_copy = Copy(*this, 64);
  const CUDA_HOST_NODE_PARAMS of_call = {DoNothing, nullptr};
  Expect(cuGraphAddKernelNode_v2(&kernel, graph, nullptr, 0, &of_kernel));
  Expect(cuGraphAddKernelNode_v2(&twin, graph, &kernel, 1, &of_kernel));
  Expect(cuGraphAddMemcpyNode(&copy, graph, &kernel, 1, &of_copy, context));
  Expect(cuGraphAddHostNode(&call, graph, &copy, 1, &of_call));
}

// --- Words and semaphores ------------------------------------------------------------------------

// Calls call(params) for `count` words that get `value`.
template <typename Call>
CUresult WithWords(const World& w, unsigned int count, uint32_t value, const Call& call) {
  CUstreamBatchMemOpParams operations[4] = {};
  for (auto& operation : operations) {
    operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operation.writeValue.address = w.memory;
    operation.writeValue.value = value;
  }
  const CUDA_BATCH_MEM_OP_NODE_PARAMS params = {w.context, count, operations, 0};
  return call(params);
}
CUresult AddWords(World& w) {
  return WithWords(w, 2, 1, [&](const CUDA_BATCH_MEM_OP_NODE_PARAMS& params) {
    return cuGraphAddBatchMemOpNode(&w.words, w.graph, &w.kernel, 1, &params);
  });
}
CUresult ChangeWords(World& w) {
  return WithWords(w, 3, 2, [&](const CUDA_BATCH_MEM_OP_NODE_PARAMS& params) {
    return cuGraphBatchMemOpNodeSetParams(w.words, &params);
  });
}
CUresult ChangeWordsAsANode(World& w) {
  return WithWords(w, 4, 3, [&](const CUDA_BATCH_MEM_OP_NODE_PARAMS& words) {
    CUgraphNodeParams params = {};
    params.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    params.memOp = words;
    return cuGraphNodeSetParams(w.words, &params);
  });
}

// The same for `count` semaphores.
template <typename Call>
CUresult WithSemaphores(unsigned int count, const Call& call) {
  CUexternalSemaphore semaphores[2] = {};
  const CUDA_EXTERNAL_SEMAPHORE_PARAMS each[2] = {{{count}}, {{count}}};
  const CUDA_EXT_SEM_NODE_PARAMS params = {semaphores, each, count};
  return call(params);
}
CUresult AddSignal(World& w) {
  return WithSemaphores(1, [&](const CUDA_EXT_SEM_NODE_PARAMS& params) {
    return cuGraphAddExternalSemaphoresSignalNode(&w.signal, w.graph, &w.kernel, 1, &params);
  });
}
CUresult ChangeSignal(World& w) {
  return WithSemaphores(2, [&](const CUDA_EXT_SEM_NODE_PARAMS& params) {
    return cuGraphExternalSemaphoresSignalNodeSetParams(w.signal, &params);
  });
}
CUresult AddAwait(World& w) {
  return WithSemaphores(1, [&](const CUDA_EXT_SEM_NODE_PARAMS& params) {
    return cuGraphAddExternalSemaphoresWaitNode(&w.await, w.graph, &w.signal, 1, &params);
  });
}
CUresult ChangeAwait(World& w) {
  return WithSemaphores(2, [&](const CUDA_EXT_SEM_NODE_PARAMS& params) {
    return cuGraphExternalSemaphoresWaitNodeSetParams(w.await, &params);
  });
}

// For calls that only read: `get` is told a node and where its parameters go.
template <typename Params>
CUresult Read(CUgraphNode node, CUresult (*get)(CUgraphNode, Params*)) {
  Params params = {};
  return get(node, &params);
}

Steps Adding() {
  return {
      {"add words", AddWords},
      {"read the words", [](World& w) { return Read(w.words, cuGraphBatchMemOpNodeGetParams); }},
      {"change the words", ChangeWords},
      {"change them as a node", ChangeWordsAsANode},
      {"add a signal", AddSignal},
      {"read the signal",
       [](World& w) { return Read(w.signal, cuGraphExternalSemaphoresSignalNodeGetParams); }},
      {"change the signal", ChangeSignal},
      {"add an await", AddAwait},
      {"read the await",
       [](World& w) { return Read(w.await, cuGraphExternalSemaphoresWaitNodeGetParams); }},
      {"change the await", ChangeAwait},
  };
}

// --- Nodes of other types ------------------------------------------------------------------------

CUresult ChangeCall(World& w) {
  const CUDA_HOST_NODE_PARAMS call = {DoAsLittle, &w};
  return cuGraphHostNodeSetParams(w.call, &call);
}
CUresult ChangeCopy(World& w) {
  const CUDA_MEMCPY3D copy = Copy(w, 128);
  return cuGraphMemcpyNodeSetParams(w.copy, &copy);
}
CUresult SetAttribute(CUgraphNode node, CUlaunchAttributeID id, int given) {
  CUlaunchAttributeValue value = {};
  std::memcpy(value.pad, &given, sizeof(given));
  return cuGraphKernelNodeSetAttribute(node, id, &value);
}
CUresult ReadAttribute(World& w) {
  CUlaunchAttributeValue value = {};
  return cuGraphKernelNodeGetAttribute(w.kernel, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &value);
}
CUresult ChangeKernelAsANode(World& w) {
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel = Kernel(w, 3);
  return cuGraphNodeSetParams(w.kernel, &params);
}

Steps Changing() {
  return {
      {"read the call", [](World& w) { return Read(w.call, cuGraphHostNodeGetParams); }},
      {"change the call", ChangeCall},
      {"read the copy", [](World& w) { return Read(w.copy, cuGraphMemcpyNodeGetParams); }},
      {"change the copy", ChangeCopy},
      {"read the kernel", [](World& w) { return Read(w.kernel, cuGraphKernelNodeGetParams_v2); }},
      {"set its priority",
       [](World& w) { return SetAttribute(w.kernel, CU_LAUNCH_ATTRIBUTE_PRIORITY, -1); }},
      {"make its twin cooperative",
       [](World& w) { return SetAttribute(w.twin, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1); }},
      {"set the domain of that",
       [](World& w) { return SetAttribute(w.twin, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, 1); }},
      {"copy attributes",
       [](World& w) { return cuGraphKernelNodeCopyAttributes(w.kernel, w.twin); }},
      {"read an attribute", ReadAttribute},
      {"change the kernel as a node", ChangeKernelAsANode},
  };
}

Steps Script() {
  Steps script = Adding();
  for (const Step<World>& step : Changing()) script.push_back(step);
  return script;
}

// --- All that a program can see ------------------------------------------------------------------

void AppendLists(World& w, std::ostream& out) {
  CUDA_BATCH_MEM_OP_NODE_PARAMS words = {};
  out << cuGraphBatchMemOpNodeGetParams(w.words, &words) << " words";
  for (unsigned int i = 0; i < words.count; ++i) out << " " << words.paramArray[i].writeValue.value;
  const auto append_semaphores = [&](CUresult result, const CUDA_EXT_SEM_NODE_PARAMS& params) {
    out << "\n" << result << " semaphores";
    for (unsigned int i = 0; i < params.numExtSems; ++i) {
      out << " " << params.extSemArray[i] << "," << params.paramsArray[i].words[0];
    }
  };
  CUDA_EXT_SEM_NODE_PARAMS list = {};
  CUresult result = cuGraphExternalSemaphoresSignalNodeGetParams(w.signal, &list);
  append_semaphores(result, list);
  list = {};
  result = cuGraphExternalSemaphoresWaitNodeGetParams(w.await, &list);
  append_semaphores(result, list);
  out << "\n";
}

void AppendKernel(CUgraphNode node, std::ostream& out) {
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  out << cuGraphKernelNodeGetParams_v2(node, &kernel) << " kernel " << kernel.func << " "
      << kernel.gridDimX;
  for (const CUlaunchAttributeID id :
       {CU_LAUNCH_ATTRIBUTE_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_PRIORITY,
        CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN}) {
    CUlaunchAttributeValue value = {};
    out << ", " << cuGraphKernelNodeGetAttribute(node, id, &value) << " attribute "
        << value.cooperative;
  }
  out << "\n";
}

void AppendOthers(World& w, std::ostream& out) {
  CUDA_HOST_NODE_PARAMS call = {};
  out << cuGraphHostNodeGetParams(w.call, &call) << " call " << (call.fn == DoNothing)
      << call.userData << "\n";
  CUDA_MEMCPY3D copy = {};
  out << cuGraphMemcpyNodeGetParams(w.copy, &copy) << " copy " << copy.WidthInBytes << "\n";
}

std::string VisibleState(World& w) {
  std::ostringstream out;
  CUgraphNode nodes[kMost] = {};
  size_t count = kMost;
  out << cuGraphGetNodes(w.graph, nodes, &count) << " nodes";
  for (size_t i = 0; i < count; ++i) out << " " << nodes[i];
  size_t edges = 0;
  out << "\n" << cuGraphGetEdges(w.graph, nullptr, nullptr, &edges) << " edges " << edges << "\n";
  AppendLists(w, out);
  AppendKernel(w.kernel, out);
  AppendKernel(w.twin, out);
  AppendOthers(w, out);
  out << FreeOn(1);
  return out.str();
}

class GraphNodesMemoryFailureTest : public testing::TestWithParam<bool> {};

TEST_P(GraphNodesMemoryFailureTest, NothingIsLost) {
  ExpectNothingIsLost(Script(), &VisibleState, GetParam(), /*least=*/45);
}

INSTANTIATE_TEST_SUITE_P(OnceOrFromThenOn, GraphNodesMemoryFailureTest, testing::Bool());

}  // namespace
}  // namespace twinmmu::libcuda
